"""Text to :class:`~xgl.syntax.Program`; every problem of the text is reported at once.

Each line is read with Python's own parser and then translated node by node through a
whitelist; nothing is ever evaluated, so a program can say no more than ``xgl.syntax`` can hold.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from difflib import get_close_matches

from xgl import syntax as syn
from xgl.errors import Problem, ProgramError
from xgl.expressions import Refusal, condition, register, string, whole, xent_sum
from xgl.syntax import Program, Span
from xgl.text import instruction_text
from xgl.walk import rename

_ALLOWED_CONTROL = "\t"
_ONE_LETTER = dict.fromkeys(syn.REGISTERS, "s")


def parse(text: str, dialect: str = "paper", origin: str = "program") -> Program:
    """Parse a whole program.

    Raises :class:`ProgramError` with all problems when any line, or the program as a whole
    (more than 64 lines, more than 1024 unrolled steps), is not valid.
    """
    problems: list[Problem] = []
    instructions: list[syn.Instruction] = []
    written: list[int] = []
    for number, source in enumerate(text.split("\n"), start=1):
        try:
            instruction = parse_line(source.removesuffix("\r"), number)
        except ProgramError as error:
            problems.extend(error.problems)
            written.append(number)
            continue
        if instruction is not None:
            instructions.append(instruction)
            written.append(number)
    if len(written) > syn.MAX_LINES:
        found, limit = f"{len(written)} instructions", f"at most {syn.MAX_LINES}"
        problems.append(Problem(written[syn.MAX_LINES], 1, found, limit))
    program = Program(tuple(instructions), dialect)
    if not problems:
        problems.extend(_whole_program_problems(program))
    if problems:
        raise ProgramError(tuple(problems), origin)
    return program


def parse_line(source: str, number: int = 1) -> syn.Instruction | None:
    """One line: an instruction, or None for a blank line or a comment."""
    call = _call(source, number)
    if call is None:
        return None
    try:
        return _sized(_instruction(call, number), call)
    except Refusal as refusal:
        column = getattr(refusal.node, "col_offset", 0) + 1
        problem = Problem(
            number, column, refusal.found, refusal.expected, source, refusal.suggestion
        )
        raise ProgramError((problem,)) from None


def _call(source: str, number: int) -> ast.Call | None:
    unprintable = next(
        (c for c in source if not c.isprintable() and c not in _ALLOWED_CONTROL), None
    )
    if unprintable is not None:
        column = source.index(unprintable) + 1
        raise _refused(number, column, f"the character {unprintable!r}", "printable text", "")
    if len(source) > 2 * syn.MAX_LINE_CHARACTERS:
        limit = f"at most {2 * syn.MAX_LINE_CHARACTERS} characters in a line"
        raise _refused(number, 1, f"{len(source)} characters", limit, "")
    stripped = source.strip()
    if not stripped or stripped.startswith("#"):
        return None
    return _python_call(source, number)


def _python_call(source: str, number: int) -> ast.Call:
    indent = len(source) - len(source.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        column = indent + (error.offset or 1)
        column = max(1, min(column, len(source) + 1))
        raise _refused(number, column, error.msg, "one instruction", source) from None
    except (ValueError, RecursionError, MemoryError):
        raise _refused(number, 1, "a line too deep to read", "one instruction", "") from None
    if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name):
        raise _refused(number, indent + 1, "no call", "a call such as elicit(s, 10)", source)
    encoded = source.strip().encode()
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.keyword):
            start, end = node.col_offset, node.end_col_offset or 0
            node.col_offset = indent + len(encoded[:start].decode())
            node.end_col_offset = indent + len(encoded[:end].decode())
            _refuse_look_alike(node, encoded[start:end].decode(), number, source)
    return tree


def _refuse_look_alike(node: ast.expr | ast.keyword, written: str, line: int, source: str) -> None:
    """Python reads look-alike letters of a name as the plain ones; here they are an error."""
    name = node.id if isinstance(node, ast.Name) else getattr(node, "arg", None)
    if isinstance(name, str) and not written.startswith(name):
        found = f"the letters of {written.split('=')[0].strip()!r}"
        raise _refused(line, node.col_offset + 1, found, f"plain letters: {name}", source)


def _refused(line: int, column: int, found: str, expected: str, source: str) -> ProgramError:
    return ProgramError((Problem(line, column, found, expected, source),))


def _sized(instruction: syn.Instruction, call: ast.Call) -> syn.Instruction:
    if instruction.span.end_column < syn.MAX_LINE_CHARACTERS // 4:
        return instruction  # respelling never makes a line that much longer
    size = len(instruction_text(rename(instruction, _ONE_LETTER)))
    if size > syn.MAX_LINE_CHARACTERS:
        limit = f"at most {syn.MAX_LINE_CHARACTERS} characters"
        raise Refusal(call, f"an instruction of {size} characters", limit)
    return instruction


def _instruction(call: ast.Call, line: int) -> syn.Instruction:
    assert isinstance(call.func, ast.Name)
    name = call.func.id
    if name not in _INSTRUCTIONS:
        raise Refusal(
            call,
            f"unknown instruction {name!r}",
            "one of " + ", ".join(_INSTRUCTIONS),
            next(iter(get_close_matches(name, _INSTRUCTIONS, 1)), ""),
        )
    if call.keywords and name != "assign":
        raise Refusal(call.keywords[0].value, "a keyword argument", f"plain arguments of {name}")
    span = Span(line, call.col_offset + 1, (call.end_col_offset or 0) + 1)
    return _INSTRUCTIONS[name](call, span)


def _assign(call: ast.Call, span: Span) -> syn.Assign:
    if call.args:
        raise Refusal(call.args[0], "a positional argument", "register=expression")
    if not call.keywords:
        raise Refusal(call, "nothing to assign", "register=expression")
    targets = []
    for keyword in call.keywords:
        name = register(keyword, keyword.arg or "**")
        if name[0] in syn.CONSTANT_TYPES:
            raise Refusal(keyword.value, f"the constant {name!r}", "a register of s t x y p")
        targets.append((name, string(keyword.value, span.line, story=True)))
    return syn.Assign(tuple(targets), span)


def _split_player(call: ast.Call) -> tuple[str, list[ast.expr]]:
    if call.args and isinstance(call.args[0], ast.Name) and call.args[0].id in syn.PLAYERS:
        return call.args[0].id, call.args[1:]
    return syn.MAIN_PLAYER, list(call.args)


def _elicit(call: ast.Call, span: Span) -> syn.Elicit:
    player, rest = _split_player(call)
    max_len = None
    if rest and isinstance(rest[-1], ast.Constant):
        max_len = whole(rest.pop(), 1, "a limit of at least 1 token")
    if not rest:
        raise Refusal(call, "no register to fill", "elicit([player,] register, max_len)")
    names = []
    for node in rest:
        if not isinstance(node, ast.Name):
            raise Refusal(node, "an expression", "a register to store the move in")
        name = register(node, node.id)
        if name[0] in syn.CONSTANT_TYPES:
            raise Refusal(node, f"the constant {name!r}", "a register of s t x y p")
        names.append(name)
    return syn.Elicit(player, tuple(names), max_len, span)


def _ensure(call: ast.Call, span: Span) -> syn.Ensure:
    if not call.args:
        raise Refusal(call, "no condition", "ensure(condition, …)")
    return syn.Ensure(tuple(condition(node, span.line) for node in call.args), span)


def _reward(call: ast.Call, span: Span) -> syn.Reward:
    player, rest = _split_player(call)
    if len(rest) != 1:
        raise Refusal(call, f"{len(rest)} amounts", "reward([player,] xent sum)")
    return syn.Reward(player, xent_sum(rest[0], span.line), span)


def _reveal(call: ast.Call, span: Span) -> syn.Reveal:
    player, rest = _split_player(call)
    second = rest[1] if len(rest) == len(call.args) == 2 else None
    if isinstance(second, ast.Name) and second.id in syn.PLAYERS:
        player, rest = second.id, rest[:1]
    if not rest:
        raise Refusal(call, "nothing to show", "reveal([player,] expression, …)")
    return syn.Reveal(player, tuple(string(node, span.line) for node in rest), span)


def _flag(call: ast.Call, arguments: int) -> str:
    if len(call.args) != arguments:
        form = "beacon(flag_1)" if arguments == 1 else "replay(flag_1, n)"
        raise Refusal(call, f"{len(call.args)} arguments", form)
    node = call.args[0]
    if not isinstance(node, ast.Name) or node.id not in syn.FLAGS:
        raise Refusal(node, "no flag", "flag_1 or flag_2")
    return node.id


def _beacon(call: ast.Call, span: Span) -> syn.Beacon:
    return syn.Beacon(_flag(call, 1), span)


def _replay(call: ast.Call, span: Span) -> syn.Replay:
    return syn.Replay(_flag(call, 2), whole(call.args[1], 0, "a number of jumps"), span)


_INSTRUCTIONS: dict[str, Callable[[ast.Call, Span], syn.Instruction]] = {
    "assign": _assign,
    "elicit": _elicit,
    "ensure": _ensure,
    "reward": _reward,
    "reveal": _reveal,
    "beacon": _beacon,
    "replay": _replay,
}


def _whole_program_problems(program: Program) -> list[Problem]:
    from xgl.flow import unrolled_steps

    if not program.instructions:
        return [Problem(1, 1, "no instruction", "at least one instruction")]
    if unrolled_steps(program) > syn.MAX_STEPS:
        line = program.instructions[-1].span.line
        limit = f"at most {syn.MAX_STEPS} when its loops are unrolled"
        return [Problem(line, 1, f"more than {syn.MAX_STEPS} steps", limit)]
    return []
