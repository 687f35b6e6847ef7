"""Games rewritten for the authors' released engine (wheel 0.5.0). What it lacks is expressed in
other ways; a game for which this is impossible is refused with the reason
(docs/how-to/measure.md).

There ``+`` joins with nothing between, a list holds registers, ``story`` uses no argument,
constants are empty, reveals take their names from the source and keep them live, and the
unconditional xent of an empty text fails. It adds xents token by token, so only those of one
string; it decides rules as set expressions and asks a model about the other statements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

from xgl.analysis.static_facts import analyse
from xgl.errors import ProgramError, XGLError
from xgl.language import syntax as syn
from xgl.language.canonical import LIST_POOL, POOL, Game, Metadata, canonicalise, names_of
from xgl.language.dialects import DIALECTS, PAPER
from xgl.language.parser import parse
from xgl.language.unparse import expression_text, instruction_text
from xgl.language.visitors import draws, find, reads, rebuild, stores, transform, writes
from xgl.runtime.predicates import predicate
from xgl.runtime.requests import Predicate

FAILURES = 10
"""Failed ensures that the authors' engine allows for each line."""
Lines = list[syn.Instruction]
Signed = tuple[int, syn.Term]
OF_WORDS = ("remove_common_words", "common_word_set", "word_set", "num_words")
SPACE, NOTHING, MARK = syn.Literal(" "), syn.Literal(""), syn.Literal(".")


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
    """``game``, measured in ``role``, for the authors' engine. Raises :class:`LoweringError` with
    every reason. ``allow_inexact`` accepts changes that leave the game nearly the same."""
    lowering = _Lowering(game, allow_inexact)
    program = lowering.program()
    if lowering.refusals:
        raise LoweringError(lowering.refusals)
    text = _checked_text(program, role)
    changes, inexact = tuple(lowering.changes), tuple(lowering.inexact)
    tokens = usual = game.metadata.story_tokens
    if game.dialect == PAPER.name:
        stories = find(game.program, syn.Story)
        tokens = max((story.tokens or usual for story in stories), default=usual)
    metadata = replace(game.metadata, story_tokens=tokens, constants={}, npc="", story_count=0)
    return LoweredProgram(program, text, metadata, changes, inexact, tuple(_notes(game, program)))


def _notes(game: Game, lowered: syn.Program) -> Iterable[str]:
    """The differences of the engines that remain."""
    is_paper = game.dialect == PAPER.name
    if is_paper and any(call.name in OF_WORDS for call in find(lowered, syn.Function)):
        yield "words are compared as they are spelled there"
    if is_paper:
        yield "no BOS stands before a scored string, and its first token does not count"
        yield "a move beyond its limit keeps its first tokens"
    if find(game.program, syn.Ensure):
        yield (
            f"an ensure line may fail {FAILURES} times in a row, the next failure is an error; "
            f"here a player may fail {game.metadata.max_failures} times"
            + (" in a game" if is_paper else " a line")
        )
    if name := game.metadata.npc:
        yield f"who plays the other roles, here the model {name!r}, is named elsewhere there"
    if draws(game.program):
        yield "sample and shuffle draw otherwise there, whatever the seed"


def _checked_text(program: syn.Program, role: str) -> str:
    """The text, after a check that it is a valid program. Raises :class:`LoweringError`."""
    text = "\n".join(_line(line, role) for line in program.instructions)
    try:
        parse(text, "xent")
    except ProgramError as error:
        raise LoweringError(
            f"lowered, line {p.line}: {p.found}; expected {p.expected}" for p in error.problems
        ) from error
    if faults := analyse(program).faults:
        raise LoweringError(faults)
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


class _Lowering:
    """The passes over the lines of a game, and the account of what they changed. With ``lenient`` a
    change after which the game is only nearly the same is recorded, else it is a refusal."""

    def __init__(self, game: Game, lenient: bool) -> None:
        self.game, self.dialect, self.lenient = game, DIALECTS[game.dialect], lenient
        self.changes, self.inexact, self.refusals = (dict[str, None]() for _ in range(3))
        self.used_names, self.steady_names = set[str](), set[str]()
        """Registers of the lines, and those whose value never changes."""

    def change(self, what: str) -> None:
        """Record a change that keeps the meaning."""
        self.changes[what] = None

    def loss(self, at: syn.Instruction, what: str) -> None:
        """Record a change after which the program is only nearly the same."""
        (self.inexact if self.lenient else self.refusals)[f"line {at.span.line}: {what}"] = None

    def refuse(self, at: syn.Instruction | None, what: str) -> None:
        self.refusals[f"line {at.span.line}: {what}" if at else what] = None

    def program(self) -> syn.Program:
        """The program after all passes, its registers renamed."""
        self._refuse_worlds()
        own = self.game.program.instructions  # conditions before constants, which make no rule
        ruled = [rebuild(line, partial(self._condition, line)) for line in own]
        lines = [self._constants(line) for line in ruled]
        if self.game.dialect == PAPER.name:
            lines = self._place_early_flags(_each(lines, self._paper_line))
        lines = _each(lines, self._without_overwritten)
        for line in lines:
            calls = find(line, syn.Function)
            if any(call.name == "split" and call.arguments[1:] == (NOTHING,) for call in calls):
                self.refuse(line, "a text cannot be split by an empty one there")
        self.used_names = {name for line in lines for name in (*reads(line), *writes(line))}
        write_counts = Counter(name for line in lines for name in writes(line))
        if not any(isinstance(line, syn.Ensure | syn.Replay) for line in lines):
            self.steady_names = {name for name in self.used_names if write_counts[name] < 2}
            for at, line in enumerate(lines):  # what is written after it was shown is hidden here
                if isinstance(line, syn.Reveal):
                    later = {name for each in lines[at:] for name in writes(each)}
                    self.steady_names -= {*reads(line)} & later
        lines = _each(lines, self._with_all_said)
        whole = syn.Program(tuple(lines))
        if find(whole, syn.Cut) or any(call.name == "join" for call in find(whole, syn.Function)):
            lines = _each(lines, self._stored_again)
        renamed = canonicalise(syn.Program(tuple(map(_Guard(lines, self.change), lines)), "xent"))
        names = {n for line in renamed.instructions for n in (*reads(line), *writes(line))}
        if over := sorted(name for name in names if name.endswith("0")):
            self.refuse(None, f"more registers than there are there: {', '.join(over)}")
        return renamed

    def _refuse_worlds(self) -> None:
        """Refuse what that engine lacks: models under one judge, constants by prompts, david."""
        for line in self.game.program.instructions:
            if names := names_of(line):
                self.refuse(line, f"that engine has one judge, and no model {names[0]!r} under it")
            if getattr(line, "player", "") == "david":
                self.refuse(line, "there is no player david there")
        if name := self.game.metadata.judge:
            self.refuse(None, f"that engine has one judge, and no model {name!r} under it")
        if self.game.metadata.prompts:
            self.refuse(None, "its constants are written for each map by prompts")

    # -- strings, lists and stories ----------------------------------------------------------------

    def _constants(self, line: syn.Instruction) -> syn.Instruction:
        """The line with the metadata's constants as literals: there constants are always empty."""
        values = {n: v for n, v in self.game.metadata.constants.items() if v}
        hidden = {name for name in reads(line) if name[0] == "c"} & values.keys()
        if hidden and not set(analyse(self.game.program).players) <= set(syn.OMNISCIENT):
            self.refuse(line, "a private constant would be read in the program")

        def change(node: Any) -> Any:
            if isinstance(node, syn.Register) and node.name in values:
                self.change("constants became literals")
                return syn.Literal(values[node.name])
            return node

        new = transform(line, change)
        for name in set(names_of(new)) - set(names_of(line)):
            self.refuse(line, f"a constant would name the model {name!r}")
        return new

    def _paper_line(self, line: syn.Instruction) -> Lines:
        """A line of the paper's dialect in the other one, with strings as they are there."""
        if any(xent.outer is not None for xent in find(line, syn.Xent)):
            self.loss(line, "a pre-instruction is joined to the prefix as text there")
        line = transform(line, lambda node: self._paper_string(node, isinstance(line, syn.Assign)))
        if isinstance(line, syn.Reward) and line.player == "env":
            self.change("rewards to env, which count for nothing, were left out")
            return []
        if not isinstance(line, syn.Assign):
            return [line]
        names = [name for name, _ in line.targets]
        in_any_order = len(set(names)) == len(names) and set(names).isdisjoint(reads(line))
        if len(names) == 1 or in_any_order:
            return [line]
        self.change("an assign from left to right became several")
        return [replace(line, targets=(target,)) for target in line.targets]

    def _paper_string(self, node: Any, copies: bool) -> Any:
        """A string with the space of ``+`` made explicit, inside a literal where there is one; a
        list that is assigned (``copies``) with copies, since there it holds the register itself;
        a ``story`` without its argument, which is ignored."""
        match node:
            case syn.Story() if node.tokens or node.prompt:
                self.change("story lost its argument; the maps' texts are as it asked")
                return syn.Story()
            case syn.Cat():
                self.change("the spaces of + became explicit")
                return _spaced(node)
            case syn.ListOf(items) if copies:
                if any(isinstance(item, syn.Register) for item in items):
                    self.change("a list's registers became copies")
                return _copied(node)  # the copies are not walked again, so they get no space
        return node

    def _without_overwritten(self, line: syn.Instruction) -> Lines:
        """An assign that names each register once: no call of Python has a keyword twice."""
        if not isinstance(line, syn.Assign) or len(kept := dict(line.targets)) == len(line.targets):
            return [line]
        for name, value in line.targets:
            if value is not kept[name] and (find(value, syn.Story) or draws(value)):
                self.refuse(line, "a text that is drawn and overwritten in one line stays drawn")
        self.change("a register that a line sets twice is set once, to its last value")
        return [replace(line, targets=tuple(kept.items()))]

    def _stored_again(self, line: syn.Instruction) -> Lines:
        """An elicit, then its moves stored again: there, // % and join fail on a shortened move."""
        if not isinstance(line, syn.Elicit):
            return [line]
        self.change("moves are stored again, so that // % and join work on shortened ones")
        again = {name: syn.Cat(syn.Register(name), NOTHING) for name in line.registers}
        return [line, syn.Assign(tuple(again.items()), span=line.span)]

    # -- reveals, rewards and conditions -----------------------------------------------------------

    def _with_all_said(self, line: syn.Instruction) -> Lines:
        """A reveal after the assigns that it needs, an elicit with its limit, one reward for each
        string that is scored."""
        match line:
            case syn.Reveal():
                return self._reveals(line)
            case syn.Elicit(max_len=None):
                self.change("elicits name their limit")
                return [replace(line, max_len=self.game.metadata.max_len)]
            case syn.Reward(_, amount):
                groups = self._groups(amount.terms)
                if len(groups) > 1:
                    self.change("a sum of xents of different strings became rewards of their own")
                return [replace(line, amount=syn.Sum(tuple(group))) for group in groups]
        return [line]

    def _reveals(self, line: syn.Reveal) -> Lines:
        before: Lines = []
        values: list[syn.StringExpr | syn.ListExpr] = []
        for value in line.values:
            name = self._free_name(line, value) if self._needs_name(line.player, value) else ""
            if name:
                self.change("what is revealed has a register of its own")
                copy = _copied(transform(value, _copied))
                before.append(syn.Assign(((name, copy),), span=line.span))
            values.append(syn.Register(name) if name else value)
        return [*before, replace(line, values=tuple(values))]

    def _needs_name(self, player: str, value: syn.StringExpr | syn.ListExpr) -> bool:
        live = self.dialect.live_reveal
        if not isinstance(value, syn.Register):
            return not live or any(mark in expression_text(value) for mark in ",()")
        return not (live or player in syn.viewers(value.name) or value.name in self.steady_names)

    def _free_name(self, line: syn.Reveal, value: syn.StringExpr | syn.ListExpr) -> str:
        """A register that both engines have and no line uses; empty, and a refusal, without one."""
        pool = LIST_POOL[:4] if syn.kind_of(value) == "list" else POOL[:16]
        name = next((name for name in pool if name not in self.used_names), "")
        if not name:
            self.refuse(line, "no register is left for what is revealed")
        self.used_names.add(name)
        return name

    def _groups(self, terms: Iterable[Signed]) -> list[list[Signed]]:
        """Xents by the scored string; the xent of an empty literal is 0 here, an error there."""
        groups: defaultdict[object, list[Signed]] = defaultdict(list)
        for sign, term in terms:
            assert isinstance(term, syn.Xent)
            if term.target == NOTHING:
                self.change("the xent of an empty literal, which is 0, was left out")
            else:
                groups[term.target].append((sign, term))
        return list(groups.values())

    def _condition(self, line: syn.Instruction, node: Any) -> Any:
        """A condition lowered; other parts of a line stay."""
        match node:
            case syn.Comparison():
                return self._comparison(line, node)
            case syn.Logic():
                return rebuild(node, partial(self._condition, line))
            case syn.Truth():
                return self._statement(line, node)
        return node

    def _comparison(self, line: syn.Instruction, node: syn.Comparison) -> syn.Comparison:
        """A comparison whose sides each hold numbers, or xents of one string."""
        equates = node.comparator in ("==", "!=")
        if equates and bool(find(node.left, syn.Xent)) != bool(find(node.right, syn.Xent)):
            self.refuse(line, "there no xent equals a number")
        if _is_plain(node.left) and _is_plain(node.right):
            return node
        both = [*node.left.terms, *_negated(node.right.terms)]
        zero = syn.Number(0)
        numbers = [term for term in both if term[1] != zero and not isinstance(term[1], syn.Xent)]
        groups = self._groups(term for term in both if isinstance(term[1], syn.Xent))
        if len(groups) > 2 or (len(groups) == 2 and numbers) or (groups and numbers and equates):
            self.refuse(line, "it compares more than the xents of two strings")
            return node
        self.change("terms of a comparison changed sides")
        left, right, *_ = *groups, numbers, []
        return replace(node, left=_sum(left), right=_sum(_negated(right)))

    def _statement(self, line: syn.Instruction, truth: syn.Truth) -> syn.Condition:
        parts: list[syn.StringExpr] = []

        def store_part(part: syn.StringExpr) -> str:
            parts.append(part)
            return str(len(parts) - 1)

        def join(left: syn.StringExpr, right: syn.StringExpr) -> syn.StringExpr:
            """Two texts joined with a space, in the program's own dialect."""
            return syn.Cat(left if self.dialect.cat_space else syn.Cat(left, SPACE), right)

        rule = predicate(truth, store_part)
        if rule is None:
            self.loss(line, "a model judges the statement, and that engine asks it otherwise")
            return replace(truth, statement=reduce(join, truth.params, truth.statement), params=())
        operands = [reduce(join, [parts[int(n)] for n in each.split()]) for each in rule.operands]
        holds = self._rule(line, rule, operands)
        if truth.expected:
            return holds
        if isinstance(holds, syn.Comparison) and holds.comparator == "==":
            return replace(holds, comparator="!=")
        return syn.Logic("not", (holds,))

    def _rule(
        self, line: syn.Instruction, rule: Predicate, operands: Sequence[syn.StringExpr]
    ) -> syn.Condition:
        match rule.kind:
            case "no_common_words":
                self.change("'no common words' became a set expression")
                return _compare(_call("len", _call("common_word_set", *operands)), "==", 0)
            case "only_uses_words":
                self.change("'only uses the words of' became a set expression")
                allowed, text = (_call("word_set", operand) for operand in operands)
                return syn.Test(text, "<=", allowed)
            case "num_tokens":
                self.change("a count of tokens became a comparison with the first of them")
                return self._tokens(line, operands[0], rule.comparator, rule.bound)
        self.loss(line, "num_words counts words with repetitions, there distinct ones")
        return _compare(_call("num_words", operands[0]), rule.comparator, rule.bound)

    def _place_early_flags(self, lines: Lines) -> Lines:
        """The lines with a flag that is replayed before it is placed at line 1."""
        placed_flags: set[str] = set()
        early: dict[str, syn.Instruction] = {}
        for line in lines:
            if isinstance(line, syn.Beacon):
                placed_flags.add(line.flag)
            elif isinstance(line, syn.Replay) and line.flag not in placed_flags:
                early.setdefault(line.flag, line)
        if len(early) > 1:  # to go back to the first would place the second there again
            self.refuse([*early.values()][1], "two flags that are replayed before they are placed")
        elif early:
            self.change("a flag that was never placed is placed at line 1")
        return [*(syn.Beacon(flag) for flag in early), *lines]

    def _tokens(
        self, line: syn.Instruction, text: syn.StringExpr, comparator: str, bound: int
    ) -> syn.Condition:
        """A condition on a text's tokens: at most n where its first n are the whole text."""

        def at_most(tokens: int, holds: bool) -> syn.Condition:
            first = _call("first_n_tokens", text, syn.Number(tokens))
            return syn.Test(first, "==" if holds else "!=", text)

        is_strict = comparator in ("<", ">=", "==")
        if bound == 0 and is_strict:
            self.refuse(line, f"num_tokens{comparator}0 cannot be asked there")
        if comparator == "==":
            return syn.Logic("and", (at_most(bound, True), at_most(bound - 1, False)))
        return at_most(bound - is_strict, comparator in ("<", "<="))


def _each(lines: Lines, change: Callable[[syn.Instruction], Lines]) -> Lines:
    return [new for line in lines for new in change(line)]


def _copied(node: Any) -> Any:
    """A list with copies of its registers; anything else stays."""
    if not isinstance(node, syn.ListOf):
        return node
    items = (syn.Cat(i, NOTHING) if isinstance(i, syn.Register) else i for i in node.items)
    return syn.ListOf(tuple(items))


def _spaced(node: syn.Cat) -> syn.Cat:
    if isinstance(node.right, syn.Literal):
        return replace(node, right=syn.Literal(" " + node.right.value))
    if isinstance(node.left, syn.Literal):
        return replace(node, left=syn.Literal(node.left.value + " "))
    if isinstance(node.left, syn.Cat) and isinstance(node.left.right, syn.Literal):
        literal = syn.Literal(node.left.right.value + " ")
        return replace(node, left=replace(node.left, right=literal))
    return replace(node, left=syn.Cat(node.left, SPACE))


def _sum(terms: Sequence[Signed]) -> syn.Sum:
    return syn.Sum(tuple(terms) or ((1, syn.Number(0)),))


def _negated(terms: Iterable[Signed]) -> list[Signed]:
    return [(-sign, term) for sign, term in terms]


def _is_plain(side: syn.Sum) -> bool:
    kinds = {term.target if isinstance(term, syn.Xent) else syn.Number for _, term in side.terms}
    return len(kinds) == 1 and NOTHING not in kinds


def _call(name: str, *arguments: Any) -> syn.Function:
    return syn.Function(name, arguments)


def _compare(term: syn.Function, comparator: Any, bound: int) -> syn.Comparison:
    return syn.Comparison(_sum([(1, term)]), comparator, _sum([(1, syn.Number(bound))]))


class _Guard:
    """Adds a pre-instruction to xents of texts that may be empty. It is empty unless the text is:
    then there is a token to read, and still none to score."""

    def __init__(self, lines: Lines, note: Callable[[str], None]) -> None:
        self.note = note
        self.values: defaultdict[str, list[Any]] = defaultdict(list)
        """The values that each register is assigned, the line itself if it is an elicit."""

        def read(node: Any) -> Any:
            for name in reads(node):
                self.values[name] = self.values[name] or [NOTHING]  # before it is set
            return node

        for line in lines:
            for name, values in stores(line, "xent", read):
                self.values[name] += values

    def __call__(self, node: Any) -> Any:
        """An instruction or expression with its xents guarded."""
        if not isinstance(node, syn.Xent):
            return rebuild(node, self)
        outer = node.outer or NOTHING
        if not all(self._may_be_empty(text, frozenset()) for text in (node.target, outer)):
            return node
        self.note("texts that may be empty are scored behind a guard")
        text = node.target.text if isinstance(node.target, syn.Given) else node.target
        rest = syn.Cut(syn.Cat(text, MARK), text, "after")
        guard = syn.Cut(MARK, rest, "before")
        return replace(node, outer=syn.Cat(node.outer, guard) if node.outer else guard)

    def _may_be_empty(self, node: Any, visited_names: frozenset[str]) -> bool:
        match node:
            case syn.Story() | syn.Elicit():
                return False
            case syn.Literal(value):
                return not value
            case syn.Cat(left, right):
                return all(self._may_be_empty(part, visited_names) for part in (left, right))
            case syn.Given(text, _):
                return self._may_be_empty(text, visited_names)
            case syn.Register(name):
                if name in visited_names:
                    return False
                values = self.values.get(name, [NOTHING])
                return any(self._may_be_empty(value, visited_names | {name}) for value in values)
        return True
