"""Text to :class:`~xgl.language.syntax.Program`; the problems of all lines are reported at once.

Each line is read with Python's own parser and then translated node by node through a whitelist;
nothing is ever evaluated, so a program can only express what ``xgl.language.syntax`` defines.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from dataclasses import replace

from xgl.errors import MAX_PROBLEMS, ConfigError, Problem, ProgramError, check_kind, excerpt
from xgl.escaping import first_invisible, is_visible
from xgl.language import syntax as syn
from xgl.language.control_flow import unrolled
from xgl.language.dialects import DIALECTS, Dialect
from xgl.language.expressions import Reader, Refusal, nearest, register, whole_number
from xgl.language.syntax import Program
from xgl.language.unparse import instruction_text
from xgl.language.visitors import parts, reads, writes

_TAB = "\t"


def parse(text: str, dialect: str = "paper", origin: str = "program") -> Program:
    """Parse a whole program.

    Raises :class:`ProgramError` with the first problem of each line (the hundredth is the last that
    is read) when any line, or the program as a whole (more than 64 lines, more than 1024 unrolled
    steps), is not valid, and :class:`ConfigError` for a dialect that does not exist.
    """
    check_kind("text", text, str, "the text of a program")
    sources = [source.removesuffix("\r") for source in text.split("\n")]
    if len(text) > syn.MAX_CHARACTERS:
        too_long = Refusal(1, f"a text of {len(text)} characters", f"at most {syn.MAX_CHARACTERS}")
        raise ProgramError((_problem(too_long, 1, sources),), origin)
    if str(dialect) not in DIALECTS:
        raise ConfigError(f"no dialect {excerpt(str(dialect))!r}; there are {', '.join(DIALECTS)}")
    instructions, problems = _read(sources, DIALECTS[dialect])
    program = Program(tuple(instructions), dialect)
    if not problems:
        try:
            _check_size(program)
        except Refusal as refusal:
            line = instructions[-1].span.line if instructions else 1
            problems = [_problem(refusal, line, sources)]
    if problems:
        raise ProgramError(tuple(problems), origin)
    return program


def _read(sources: list[str], dialect: Dialect) -> tuple[list[syn.Instruction], list[Problem]]:
    instructions: list[syn.Instruction] = []
    problems: list[Problem] = []
    lines = [number for number, source in enumerate(sources, start=1) if not _is_note(source)]
    with warnings.catch_warnings(action="ignore"):  # about unknown escapes
        for number in lines[:MAX_PROBLEMS]:
            try:
                instructions.append(_line(sources[number - 1], number, dialect))
            except Refusal as refusal:
                problems.append(_problem(refusal, number, sources))
    if len(lines) > syn.MAX_LINES:
        too_many = Refusal(1, f"{len(lines)} instructions", f"at most {syn.MAX_LINES}")
        last = _problem(too_many, lines[syn.MAX_LINES], sources)
        problems = [*problems[: MAX_PROBLEMS - 1], last]
    return instructions, problems


def _problem(refusal: Refusal, line: int, sources: list[str]) -> Problem:
    """What is wrong with a line, which is cut if long, with every character one column wide."""
    short = excerpt(sources[line - 1], 2 * syn.MAX_LINE_CHARACTERS)
    source = "".join(c if c == _TAB or is_visible(c) else "\ufffd" for c in short)
    return Problem(
        line, refusal.column, refusal.found, refusal.expected, source, refusal.suggestion
    )


def _is_note(source: str) -> bool:
    return source.strip(" \t")[:1] in ("", "#") and not first_invisible(source, _TAB)


def _line(source: str, number: int, dialect: Dialect) -> syn.Instruction:
    if len(source) > 2 * syn.MAX_LINE_CHARACTERS:
        limit = f"at most {2 * syn.MAX_LINE_CHARACTERS} characters in a line"
        raise Refusal(1, f"{len(source)} characters", limit)
    invisible = first_invisible(source, _TAB)
    if invisible is not None:
        raise Refusal(source.index(invisible) + 1, f"the character {invisible!a}", "printable text")
    call = _python_call(source)
    span = syn.Span(number, (call.end_col_offset or 0) + 1)
    return _check_length(replace(_instruction(call, dialect), span=span), call)


def _python_call(source: str) -> ast.Call:
    indent = len(source) - len(source.lstrip())
    try:
        tree = ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        column = indent + (error.offset or 1)
        column = max(1, min(column, len(source) + 1))
        raise Refusal(column, error.msg, "one instruction") from None
    except (ValueError, RecursionError, MemoryError):
        raise Refusal(1, "a line too deep to read", "one instruction") from None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise Refusal(indent + 1, "no call", "a call such as elicit(s, 10)")
    if not indent and source.isascii():
        return tree  # its columns count characters already, and no letter looks like another
    # Python counts columns in UTF-8 bytes and folds names to NFKC; people count characters and read
    # letters as they are spelled.
    data = source.strip().encode()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.keyword):
            start, end = node.col_offset, node.end_col_offset or 0
            node.col_offset = indent + len(data[:start].decode())
            node.end_col_offset = indent + len(data[:end].decode())
            _refuse_look_alike(node, data[start:end].decode())
    return tree


def _refuse_look_alike(node: ast.expr | ast.keyword, spelling: str) -> None:
    """Python reads look-alike letters of a name as the plain ones; here they are an error."""
    method = isinstance(node, ast.Attribute)
    name = getattr(node, "attr" if method else "id" if isinstance(node, ast.Name) else "arg", None)
    as_is = spelling.endswith if method else spelling.startswith
    if isinstance(name, str) and not as_is(name):
        found = f"the letters of {spelling.split('=')[0].strip()!r}"
        raise Refusal(node, found, f"plain letters: {name}")


def _check_length(instruction: syn.Instruction, call: ast.Call) -> syn.Instruction:
    if instruction.span.end_column < syn.MAX_LINE_CHARACTERS // 8:
        return instruction  # at most six times as long, where 1e5<1e5<… becomes comparisons
    digits = sum(len(name) - 1 for name in (*reads(instruction), *writes(instruction)))
    size = len(instruction_text(instruction)) - digits
    if size > syn.MAX_LINE_CHARACTERS:
        limit = f"at most {syn.MAX_LINE_CHARACTERS} characters"
        raise Refusal(call, f"an instruction of {size} characters", limit)
    return instruction


def _instruction(call: ast.Call, dialect: Dialect) -> syn.Instruction:
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    if name not in _INSTRUCTIONS:
        expected, near = f"one of {', '.join(_INSTRUCTIONS)}", nearest(name, _INSTRUCTIONS)
        raise Refusal(call, f"unknown instruction {name!r}", expected, near)
    if call.keywords and name != "assign":
        raise Refusal(call.keywords[0].value, "a keyword argument", f"plain arguments of {name}")
    return _INSTRUCTIONS[name](call, Reader(dialect, name))


def _assign(call: ast.Call, reader: Reader) -> syn.Assign:
    if call.args:
        raise Refusal(call.args[0], "a positional argument", "register=expression")
    if not call.keywords:
        raise Refusal(call, "nothing to assign", "register=expression")
    return syn.Assign(tuple(_target(keyword, reader) for keyword in call.keywords))


def _target(keyword: ast.keyword, reader: Reader) -> tuple[str, syn.StringExpr | syn.ListExpr]:
    name = keyword.arg or "**"
    if name in syn.LIST_REGISTERS:
        return name, reader.value(keyword.value, "list")
    name = _variable(register(keyword, name), keyword.value)
    return name, reader.value(keyword.value, "string")


def _variable(name: str, node: ast.expr) -> str:
    if name[0] in syn.CONSTANT_TYPES:
        raise Refusal(node, f"the constant {name!r}", "a register of s t x y p")
    return name


_NAMES = (*syn.PLAYERS, *syn.REGISTERS, *syn.LIST_REGISTERS)
_KNOWN = f"a player ({' '.join(syn.PLAYERS)}) or register (s t x y p a b c s0 … c3)"


def _split_player(call: ast.Call) -> tuple[str, list[ast.expr]]:
    if call.args and isinstance(first := call.args[0], ast.Name):
        if first.id in syn.PLAYERS:
            return first.id, call.args[1:]
        if call.args[1:] and first.id not in _NAMES:
            raise Refusal(first, f"unknown name {first.id!r}", _KNOWN, nearest(first.id, _NAMES))
    return syn.MAIN_PLAYER, list(call.args)


def _elicit(call: ast.Call, reader: Reader) -> syn.Elicit:
    player, rest = _split_player(call)
    max_len = None
    if rest and isinstance(rest[-1], ast.Constant):
        max_len = whole_number(rest.pop(), 1, "a limit of at least 1 token")
    if not rest:
        raise Refusal(call, "no register to fill", "elicit([player,] register, max_len)")
    return syn.Elicit(player, tuple(map(_move_register, rest)), max_len)


def _move_register(node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise Refusal(node, "an expression", "a register to store the move in")
    return _variable(register(node, node.id), node)


def _ensure(call: ast.Call, reader: Reader) -> syn.Ensure:
    if not call.args:
        raise Refusal(call, "no condition", "ensure(condition, …)")
    return syn.Ensure(tuple(map(reader.condition, call.args)))


def _reward(call: ast.Call, reader: Reader) -> syn.Reward:
    player, rest = _split_player(call)
    if len(rest) != 1:
        raise Refusal(call, f"{len(rest)} amounts", "reward([player,] xent sum)")
    return syn.Reward(player, reader.value(rest[0], "number"))


def _reveal(call: ast.Call, reader: Reader) -> syn.Reveal:
    player, rest = _split_player(call)
    second = rest[1] if len(rest) == len(call.args) == 2 else None
    if isinstance(second, ast.Name) and second.id in syn.PLAYERS:
        player, rest = second.id, rest[:1]
    if not rest:
        raise Refusal(call, "nothing to show", "reveal([player,] expression, …)")
    return syn.Reveal(player, tuple(reader.value(node, "string", "list") for node in rest))


def _flag(call: ast.Call, arguments: int) -> str:
    if len(call.args) != arguments:
        form = "beacon(flag_1)" if arguments == 1 else "replay(flag_1, n)"
        raise Refusal(call, f"{len(call.args)} argument{'s' * (len(call.args) != 1)}", form)
    node = call.args[0]
    if not isinstance(node, ast.Name) or node.id not in syn.FLAGS:
        raise Refusal(node, "no flag", "flag_1 or flag_2")
    return node.id


_INSTRUCTIONS: dict[str, Callable[[ast.Call, Reader], syn.Instruction]] = {
    "assign": _assign,
    "elicit": _elicit,
    "ensure": _ensure,
    "reward": _reward,
    "reveal": _reveal,
    "beacon": lambda call, _: syn.Beacon(_flag(call, 1)),
    "replay": lambda call, _: syn.Replay(
        _flag(call, 2), whole_number(call.args[1], 0, "a number of jumps")
    ),
}


def _check_size(program: Program) -> None:
    """Raises :class:`Refusal` if a program is too large when its loops are unrolled, or empty."""
    lines, when = program.instructions, "when its loops are unrolled"
    if not lines:
        raise Refusal(1, "no instruction", "at least one instruction")
    order, _ = unrolled(program)
    if len(order) > syn.MAX_STEPS:
        raise Refusal(1, f"more than {syn.MAX_STEPS} steps", f"at most {syn.MAX_STEPS} {when}")
    # No line has more parts than three times its characters: 0<0<… has 2.5 times.
    if sum(3 * lines[place].span.end_column for place in order) <= syn.MAX_PARTS:
        return
    sizes = [parts(line) for line in lines]
    size = sum(sizes[place] for place in order)
    if size > syn.MAX_PARTS:
        raise Refusal(1, f"{size} parts in all steps", f"at most {syn.MAX_PARTS} {when}")
