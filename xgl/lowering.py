"""Games rewritten for the authors' released engine (wheel 0.5.0). What it lacks is expressed in
other ways; a game for which this is impossible is refused with the reason
(docs/how-to/measure.md).

There ``+`` joins with nothing between, a list holds registers, ``story`` uses no argument,
constants are empty, reveals take their names from the source and keep them live, and the
unconditional xent of an empty text fails. It adds xents token by token, so only those of one
string; it decides rules as set expressions and asks a model about the other statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

from xgl.analysis.static_facts import analyse
from xgl.errors import ProgramError, XGLError
from xgl.language import syntax as syn
from xgl.language.canonical import LIST_POOL, POOL, Game, Metadata, canonicalise, names_of
from xgl.language.dialects import DIALECTS, PAPER
from xgl.language.parser import parse
from xgl.language.unparse import expression_text, instruction_text
from xgl.language.visitors import descendants, find, reads, rebuild, transform, writes
from xgl.runtime.predicates import predicate
from xgl.runtime.requests import Predicate

FAILURES = 10
"""Failed ensures that the authors' engine allows for each line."""
Lines = list[syn.Instruction]


class LoweringError(XGLError):
    """A game that the authors' engine cannot play; ``reasons`` name each line at fault."""

    def __init__(self, reasons: Iterable[str]) -> None:
        self.reasons = tuple(reasons)
        super().__init__("; ".join(self.reasons))


class LoweredProgram(NamedTuple):
    """A program in the xent dialect, and its text as the authors' engine reads it.

    ``changes`` keep the meaning, ``inexact`` changes do not, ``notes`` are differences of the
    engines that no program can express. ``metadata``: the metadata to play it with here.
    """

    program: syn.Program
    text: str
    metadata: Metadata
    changes: tuple[str, ...]
    inexact: tuple[str, ...]
    notes: tuple[str, ...]


def lower(game: Game, role: str = syn.MAIN_PLAYER, allow_inexact: bool = False) -> LoweredProgram:
    """``game``, measured in ``role``, for the authors' engine.

    Raises :class:`LoweringError` with every reason. ``allow_inexact`` accepts changes that leave
    the game nearly the same.
    """
    account = Account(lenient=allow_inexact)
    program = _lower_program(game, account)
    _note(game, account)
    if account.refusals:
        raise LoweringError(account.refusals)
    text = _text_read_back(program, role)
    return LoweredProgram(
        program=program,
        text=text,
        metadata=_metadata(game),
        changes=tuple(account.changes),
        inexact=tuple(account.inexact),
        notes=tuple(account.notes),
    )


def _lower_program(game: Game, account: Account) -> syn.Program:
    program = game.program
    _refuse_worlds(game, account)
    lines: Lines = [_constants(line, game, account) for line in program.instructions]
    lines = [conditions(line, program.dialect, account) for line in lines]
    if program.dialect == PAPER.name:
        lines = _lower_paper_dialect(lines, account)
    lines = _map_lines(lines, lambda line: drop_overwritten(line, account))
    reveal_rewriter = RevealRewriter(syn.Program(tuple(lines), program.dialect), account)
    lines = _map_lines(lines, lambda line: _rewrite_line(line, game, reveal_rewriter, account))
    whole = syn.Program(tuple(lines))
    if find(whole, syn.Cut) or any(call.name == "join" for call in find(whole, syn.Function)):
        lines = _map_lines(lines, lambda line: store_moves_again(line, account))
    lines = [Guard(lines, account)(line) for line in lines]
    lines = _replace_david(lines, account)
    renamed = canonicalise(syn.Program(tuple(lines), "xent"))
    names = {n for line in renamed.instructions for n in (*reads(line), *writes(line))}
    if over := sorted(name for name in names if name.endswith("0")):
        account.refuse(None, f"more registers than there are there: {', '.join(over)}")
    return renamed


def _refuse_worlds(game: Game, account: Account) -> None:
    """Refuse what that engine has no place for: models under one judge, constants by prompts."""
    for line in game.program.instructions:
        if names := names_of(line):
            account.refuse(line, f"that engine has one judge, and no model {names[0]!r} under it")
    if name := game.metadata.judge:
        account.refuse(None, f"that engine has one judge, and no model {name!r} under it")
    if game.metadata.prompts:
        account.refuse(None, "its constants are written for each map by prompts")


def _map_lines(lines: Lines, change: Callable[[syn.Instruction], Lines]) -> Lines:
    return [new for line in lines for new in change(line)]


def _constants(line: syn.Instruction, game: Game, account: Account) -> syn.Instruction:
    values = {n: v for n, v in game.metadata.constants.items() if v}
    hidden = {name for name in reads(line) if name[0] == "c"} & values.keys()
    players = analyse(game.program).players
    if hidden and not set(players) <= set(syn.OMNISCIENT):
        account.refuse(line, "a private constant would be read in the program")
    new_line: syn.Instruction = replace_constants(line, values, account)
    return new_line


def _lower_paper_dialect(lines: Lines, account: Account) -> Lines:
    """Rewrite what has another meaning in the paper's dialect."""
    new_lines: Lines = []
    for line in lines:
        if any(xent.outer is not None for xent in find(line, syn.Xent)):
            account.loss(line, "a pre-instruction is joined to the prefix as text there")
        new_line = lower_strings(line, account)
        if isinstance(new_line, syn.Reward) and new_line.player == "env":
            account.change("rewards to env, which count for nothing, were left out")
        else:
            is_assign = isinstance(new_line, syn.Assign)
            new_lines += split_assign(new_line, account) if is_assign else [new_line]
    return _place_early_flags(new_lines, account)


def _place_early_flags(lines: Lines, account: Account) -> Lines:
    """Place a flag that is replayed before it is placed at line 1."""
    placed_flags: set[str] = set()
    early: dict[str, None] = {}
    for line in lines:
        if isinstance(line, syn.Beacon):
            placed_flags.add(line.flag)
        elif isinstance(line, syn.Replay) and line.flag not in placed_flags:
            early[line.flag] = None
    if early:
        account.change("a flag that was never placed is placed at line 1")
    return [*(syn.Beacon(flag) for flag in early), *lines]


def _rewrite_line(
    line: syn.Instruction, game: Game, reveal_rewriter: RevealRewriter, account: Account
) -> Lines:
    calls = [call for call in find(line, syn.Function) if call.name == "split"]
    if any(call.arguments[1:] == (NOTHING,) for call in calls):
        account.refuse(line, "a text cannot be split by an empty one there")
    match line:
        case syn.Reward():
            return rewards(line, account)
        case syn.Reveal():
            return reveal_rewriter.lower(line)
        case syn.Elicit(max_len=None):
            account.change("elicits name their limit")
            return [replace(line, max_len=game.metadata.max_len)]
    return [line]


def _replace_david(lines: Lines, account: Account) -> Lines:
    """Give david's part, whom that engine lacks, to a free private player, or refuse."""
    kinds = (syn.Elicit, syn.Reward, syn.Reveal)
    players = {line.player: line for line in reversed(lines) if isinstance(line, kinds)}
    first = players.get("david")
    if first is None:
        return lines
    free = next((name for name in ("carol", "bob", "alice") if name not in players), None)
    if free is None:
        account.refuse(first, "there is no player david there, and no other chair is free")
        return lines
    account.loss(first, f"there is no player david there; {free} would play his part")
    return [
        replace(line, player=free) if isinstance(line, kinds) and line.player == "david" else line
        for line in lines
    ]


def _note(game: Game, account: Account) -> None:
    """Note the differences of the engines that remain."""
    if game.dialect == PAPER.name:
        account.note("no BOS stands before a scored string, and its first token does not count")
        account.note("a move beyond its limit keeps its first tokens")
    if find(game.program, syn.Ensure):
        account.note(
            f"an ensure line may fail {FAILURES} times in a row, the next failure is an error; "
            f"here a player may fail {game.metadata.max_failures} times"
            + (" in a game" if game.dialect == PAPER.name else " a line")
        )
    if name := game.metadata.npc:
        account.note(
            f"who plays the other roles, here the model {name!r}, is named elsewhere there"
        )
    if any(call.name in ("sample", "shuffle") for call in find(game.program, syn.Function)):
        account.note("sample and shuffle draw otherwise there, whatever the seed")


def _metadata(game: Game) -> Metadata:
    calls = find(game.program, syn.Story)
    usual = game.metadata.story_tokens
    longest = max((story.tokens or usual for story in calls), default=usual)
    tokens = longest if game.dialect == PAPER.name else usual
    return replace(game.metadata, story_tokens=tokens, constants={}, npc="", story_count=0)


def _text_read_back(program: syn.Program, role: str) -> str:
    """The text, after a check that it parses to the program. Raises :class:`LoweringError`."""
    text = "\n".join(_line(line, role) for line in program.instructions)
    try:
        parsed_program = canonicalise(parse(text, "xent"))
    except ProgramError as error:
        raise LoweringError(
            f"lowered, line {p.line}: {p.found}; expected {p.expected}" for p in error.problems
        ) from error
    if faults := analyse(parsed_program).faults:
        raise LoweringError(faults)
    if parsed_program != program:
        raise LoweringError(["its lowered text reads otherwise"])
    return text


def _line(line: syn.Instruction, role: str) -> str:
    """A line in that engine's text, with statements as ``is_true`` and black named if another role
    is measured, since there the unnamed player is the measured one."""
    text = instruction_text(line)
    if isinstance(line, syn.Ensure):
        named = (syn.Logic("and", (c,)) if isinstance(c, syn.Truth) else c for c in line.conditions)
        text = f"ensure({', '.join(map(expression_text, named))})"
    if role != syn.MAIN_PLAYER and getattr(line, "player", "") == syn.MAIN_PLAYER:
        text = text.replace("(", f"({syn.MAIN_PLAYER}, ", 1)
    return text


@dataclass
class Account:
    """The passes add to it in turn. With ``lenient`` a loss is recorded, else it is a refusal."""

    lenient: bool = False
    changes: dict[str, None] = field(default_factory=dict)
    inexact: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    refusals: dict[str, None] = field(default_factory=dict)

    def change(self, what: str) -> None:
        """Record a change that keeps the meaning."""
        self.changes[what] = None

    def note(self, what: str) -> None:
        """Record a difference of the engines that no program can express."""
        self.notes[what] = None

    def loss(self, at: syn.Instruction, what: str) -> None:
        """Record a change after which the program is only nearly the same."""
        (self.inexact if self.lenient else self.refusals)[f"line {at.span.line}: {what}"] = None

    def refuse(self, at: syn.Instruction | None, what: str) -> None:
        """Record why the program cannot be lowered."""
        self.refusals[f"line {at.span.line}: {what}" if at else what] = None


# -- strings, lists and stories ------------------------------------------------------------------

SPACE, NOTHING = syn.Literal(" "), syn.Literal("")


def replace_constants(line: Any, values: Mapping[str, str], account: Account) -> Any:
    """The line with the metadata's constants as literals: there constants are always empty."""

    def change(node: Any) -> Any:
        if isinstance(node, syn.Register) and node.name in values:
            account.change("constants became literals")
            return syn.Literal(values[node.name])
        return node

    return transform(line, change)


def lower_strings(line: Any, account: Account) -> Any:
    """The line of a program in the paper's dialect with strings as they are there: the space of
    ``+`` made explicit, inside a literal where there is one; copies in the lists that it assigns,
    since there a list holds the register itself; and no argument of ``story``, which is ignored."""
    copies = isinstance(line, syn.Assign)

    def change(node: Any) -> Any:
        match node:
            case syn.Story() if node.tokens or node.prompt:
                account.change("story lost its argument; the maps' texts are as it asked")
                return syn.Story()
            case syn.Cat():
                account.change("the spaces of + became explicit")
                return _spaced(node)
            case syn.ListOf(items) if copies:
                if any(isinstance(item, syn.Register) for item in items):
                    account.change("a list's registers became copies")
                # The copies are not walked again, so they get no space.
                own = (syn.Cat(i, NOTHING) if isinstance(i, syn.Register) else i for i in items)
                return syn.ListOf(tuple(own))
        return node

    return transform(line, change)


def _spaced(node: syn.Cat) -> syn.Cat:
    if isinstance(node.right, syn.Literal):
        return replace(node, right=syn.Literal(" " + node.right.value))
    if isinstance(node.left, syn.Literal):
        return replace(node, left=syn.Literal(node.left.value + " "))
    if isinstance(node.left, syn.Cat) and isinstance(node.left.right, syn.Literal):
        literal = syn.Literal(node.left.right.value + " ")
        return replace(node, left=replace(node.left, right=literal))
    return replace(node, left=syn.Cat(node.left, SPACE))


def split_assign(line: syn.Assign, account: Account) -> list[syn.Instruction]:
    """An assign that reads registers which it sets, as one assign for each register."""
    names = [name for name, _ in line.targets]
    names_read = set(reads(line))
    if len(names) == 1 or not (names_read & set(names) or len(set(names)) < len(names)):
        return [line]
    account.change("an assign from left to right became several")
    return [replace(line, targets=(target,)) for target in line.targets]


def drop_overwritten(line: syn.Instruction, account: Account) -> list[syn.Instruction]:
    """An assign that names each register once: Python evaluates no call with a keyword twice."""
    if not isinstance(line, syn.Assign) or len(kept := dict(line.targets)) == len(line.targets):
        return [line]
    dropped = [value for name, value in line.targets if value is not kept[name]]
    for node in (node for value in dropped for node in descendants(value)):
        if isinstance(node, syn.Story) or getattr(node, "name", "") in ("sample", "shuffle"):
            account.refuse(line, "a text that is drawn and overwritten in one line stays drawn")
    account.change("a register that a line sets twice is set once, to its last value")
    return [replace(line, targets=tuple(kept.items()))]


def store_moves_again(line: syn.Instruction, account: Account) -> list[syn.Instruction]:
    """An elicit, then its moves stored again: there, // % and join fail on a shortened move."""
    if not isinstance(line, syn.Elicit):
        return [line]
    account.change("moves are stored again, so that // % and join work on shortened ones")
    again = tuple((name, syn.Cat(syn.Register(name), NOTHING)) for name in writes(line))
    return [line, syn.Assign(tuple(dict(again).items()), line.span)]


# -- reveals -------------------------------------------------------------------------------------

NAMES, LISTS = POOL[:16], LIST_POOL[:4]
"""Private registers that both engines have."""


class RevealRewriter:
    """Stores revealed values in registers of their own where that engine needs them."""

    def __init__(self, program: syn.Program, account: Account) -> None:
        self.account = account
        self.live = DIALECTS[program.dialect].live_reveal
        lines = program.instructions
        self.used_names = {name for line in lines for name in (*reads(line), *writes(line))}
        write_counts = Counter(name for line in lines for name in writes(line))
        again = any(isinstance(line, syn.Ensure | syn.Replay) for line in lines)
        self.steady = (
            set() if again else {name for name in self.used_names if write_counts[name] < 2}
        )

    def lower(self, line: syn.Reveal) -> list[syn.Instruction]:
        """The reveal, after the assigns that it needs."""
        before: list[syn.Instruction] = []
        values: list[syn.StringExpr | syn.ListExpr] = []
        for value in line.values:
            register = self._own(line, value) if self._needs_own(line.player, value) else None
            if register:
                before.append(syn.Assign(((register, value),), line.span))
            values.append(syn.Register(register) if register else value)
        return [*before, replace(line, values=tuple(values))]

    def _needs_own(self, player: str, value: syn.StringExpr | syn.ListExpr) -> bool:
        if not isinstance(value, syn.Register):
            return not self.live or any(mark in expression_text(value) for mark in ",()")
        is_visible = player in syn.viewers(value.name)
        return not (self.live or is_visible or value.name in self.steady)

    def _own(self, line: syn.Reveal, value: syn.StringExpr | syn.ListExpr) -> str | None:
        pool = LISTS if syn.kind_of(value) == "list" else NAMES
        free = next((name for name in pool if name not in self.used_names), None)
        if free is None:
            self.account.refuse(line, "no register is left for what is revealed")
            return None
        self.used_names.add(free)
        self.account.change("what is revealed has a register of its own")
        return free


# -- texts that may be empty ---------------------------------------------------------------------

MARK = syn.Literal(".")


class Guard:
    """Adds a pre-instruction to xents of texts that may be empty. It is empty unless the text is:
    then there is a token to read, and still none to score."""

    def __init__(self, lines: list[syn.Instruction], account: Account) -> None:
        self.account = account
        self.values: dict[str, list[Any]] = {}
        """The values that each register is assigned; None stands for a move of a player."""
        for line in lines:
            if isinstance(line, syn.Assign):
                for name, value in line.targets:
                    self.values.setdefault(name, []).append(value)
            elif isinstance(line, syn.Elicit):
                for name in line.registers:
                    self.values.setdefault(name, []).append(None)

    def __call__(self, node: Any) -> Any:
        """An instruction or expression with its xents guarded."""
        if not isinstance(node, syn.Xent):
            return rebuild(node, self)
        if node.outer is not None or not self._may_be_empty(node.target, frozenset()):
            return node
        self.account.change("texts that may be empty are scored behind a guard")
        text = node.target.text if isinstance(node.target, syn.Given) else node.target
        rest = syn.Cut(syn.Cat(text, MARK), text, "after")
        return replace(node, outer=syn.Cut(MARK, rest, "before"))

    def _may_be_empty(self, node: Any, visited_names: frozenset[str]) -> bool:
        match node:
            case None | syn.Story():
                return False
            case syn.Literal(value):
                return not value
            case syn.Cat(left, right):
                return self._may_be_empty(left, visited_names) and self._may_be_empty(
                    right, visited_names
                )
            case syn.Given(text, _):
                return self._may_be_empty(text, visited_names)
            case syn.Register(name):
                if name in visited_names:
                    return False
                values = self.values.get(name, [syn.Literal("")])
                return any(self._may_be_empty(value, visited_names | {name}) for value in values)
        return True


Signed = tuple[int, syn.Term]
ZERO = syn.Sum(((1, syn.Number(0)),))


def rewards(line: syn.Reward, account: Account) -> list[syn.Instruction]:
    """One reward for each string that is scored."""
    groups = _groups(line.amount.terms, account)
    if len(groups) == 1 and len(groups[0]) == len(line.amount.terms):
        return [line]
    if len(groups) > 1:
        account.change("a sum of xents of different strings became rewards of their own")
    return [replace(line, amount=syn.Sum(tuple(group))) for group in groups]


def _groups(terms: Sequence[Signed], account: Account) -> list[list[Signed]]:
    """Xents by the scored string; the xent of an empty literal is 0 here and an error there."""
    groups: dict[object, list[Signed]] = {}
    for sign, term in terms:
        assert isinstance(term, syn.Xent)
        if term.target == syn.Literal(""):
            account.change("the xent of an empty literal, which is 0, was left out")
        else:
            groups.setdefault(term.target, []).append((sign, term))
    return list(groups.values())


def lower_comparison(line: syn.Ensure, node: syn.Comparison, account: Account) -> syn.Comparison:
    """A comparison whose sides each hold numbers, or xents of one string."""
    if all(_plain(side) for side in (node.left, node.right)):
        return node
    both = [*node.left.terms, *_negate(node.right.terms)]
    xents = [term for term in both if isinstance(term[1], syn.Xent)]
    numbers = [term for term in both if not isinstance(term[1], syn.Xent)]
    groups = _groups(xents, account)
    if len(groups) > 2 or (len(groups) == 2 and numbers):
        account.refuse(line, "it compares more than the xents of two strings")
        return node
    account.change("terms of a comparison changed sides")
    left = groups[0] if groups else numbers
    right = groups[1] if len(groups) == 2 else numbers if groups else []
    return replace(node, left=_sum(left), right=_sum(_negate(right)))


def _sum(terms: Sequence[Signed]) -> syn.Sum:
    return syn.Sum(tuple(terms)) if terms else ZERO


def _negate(terms: Sequence[Signed]) -> list[Signed]:
    return [(-sign, term) for sign, term in terms]


def _plain(side: syn.Sum) -> bool:
    kinds = {term.target if isinstance(term, syn.Xent) else syn.Number for _, term in side.terms}
    return len(kinds) == 1 and syn.Literal("") not in kinds


def conditions(line: syn.Instruction, dialect: str, account: Account) -> syn.Instruction:
    """The line with every condition lowered."""
    if not isinstance(line, syn.Ensure):
        return line
    new_conditions = tuple(
        _condition(line, condition, dialect, account) for condition in line.conditions
    )
    return replace(line, conditions=new_conditions)


def _condition(
    line: syn.Ensure, node: syn.Condition, dialect: str, account: Account
) -> syn.Condition:
    match node:
        case syn.Comparison():
            return lower_comparison(line, node, account)
        case syn.Logic(_, parts):
            inner = tuple(_condition(line, part, dialect, account) for part in parts)
            return replace(node, conditions=inner)
        case syn.Truth():
            return _statement(line, node, dialect, account)
    return node


def _statement(line: syn.Ensure, truth: syn.Truth, dialect: str, account: Account) -> Any:
    parts: list[syn.StringExpr] = []

    def store_part(part: syn.StringExpr) -> str:
        parts.append(part)
        return str(len(parts) - 1)

    def join(left: syn.StringExpr, right: syn.StringExpr) -> syn.StringExpr:
        """Two texts joined with a space, in the program's own dialect."""
        spaced = left if DIALECTS[dialect].cat_space else syn.Cat(left, syn.Literal(" "))
        return syn.Cat(spaced, right)

    rule = predicate(truth, store_part)
    if rule is None:
        account.loss(line, "a model judges the statement, and that engine asks it otherwise")
        statement = reduce(join, (truth.statement, *truth.params))
        return replace(truth, statement=statement, params=())
    if DIALECTS[dialect].respelled_words and rule.kind != "num_tokens":
        account.change("words are compared as they are spelled there")
    operands = [
        reduce(join, [parts[int(index)] for index in operand.split()]) for operand in rule.operands
    ]
    return _rule(line, rule, operands, truth.expected, account)


def _rule(
    line: syn.Ensure,
    rule: Predicate,
    operands: list[syn.StringExpr],
    expected: bool,
    account: Account,
) -> syn.Condition:
    match rule.kind:
        case "no_common_words":
            account.change("'no common words' became a set expression")
            common = _call("len", _call("common_word_set", *operands))
            return _compare(common, "==" if expected else "!=", 0)
        case "only_uses_words":
            account.change("'only uses the words of' became a set expression")
            allowed, text = (_call("word_set", operand) for operand in operands)
            rule_holds: syn.Condition = syn.Test(text, "<=", allowed)
        case "num_tokens":
            account.change("a count of tokens became a comparison with the first of them")
            rule_holds = _tokens(line, operands[0], rule.comparator, rule.bound, account)
        case _:
            account.loss(line, "num_words counts words with repetitions, there distinct ones")
            rule_holds = _compare(_call("num_words", operands[0]), rule.comparator, rule.bound)
    return rule_holds if expected else syn.Logic("not", (rule_holds,))


def _call(name: str, *arguments: Any) -> syn.Function:
    return syn.Function(name, arguments)


def _compare(term: syn.Function, comparator: Any, bound: int) -> syn.Comparison:
    number = syn.Sum(((1, syn.Number(bound)),))
    return syn.Comparison(syn.Sum(((1, term),)), comparator, number)


def _tokens(
    line: syn.Ensure, text: syn.StringExpr, comparator: str, bound: int, account: Account
) -> syn.Condition:
    """A condition on a text's tokens: at most n where its first n tokens are the whole text."""

    def at_most(tokens: int, holds: bool) -> syn.Condition:
        first = _call("first_n_tokens", text, syn.Number(tokens))
        return syn.Test(first, "==" if holds else "!=", text)

    strict = comparator in ("<", ">=", "==")
    if bound == 0 and strict:
        account.refuse(line, f"num_tokens{comparator}0 cannot be asked there")
        return syn.Test(text, "==", text)
    if comparator in ("<=", ">"):
        return at_most(bound, comparator == "<=")
    if comparator in ("<", ">="):
        return at_most(bound - 1, comparator == "<")
    return syn.Logic("and", (at_most(bound, True), at_most(bound - 1, False)))
