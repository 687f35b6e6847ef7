"""Rewrites of texts, sums and conditions for the authors' engine, and the account of what they did.

There ``+`` joins with nothing between, a list holds registers, ``story`` uses no argument,
constants are empty, reveals take their names from the source and keep them live, and the
unconditional xent of an empty text fails. It adds xents token by token, so only those of one
string; it decides rules as set expressions and asks a model about the other statements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.language.unparse import expression_text
from xgl.language.visitors import descendants, find, reads, rebuild, transform, writes
from xgl.runtime.predicates import predicate
from xgl.runtime.requests import Predicate


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


def add_spaces(line: Any, account: Account) -> Any:
    """``+`` with the paper's space made explicit, inside a literal where there is one."""

    def change(node: Any) -> Any:
        if not isinstance(node, syn.Cat):
            return node
        account.change("the spaces of + became explicit")
        if isinstance(node.right, syn.Literal):
            return replace(node, right=syn.Literal(" " + node.right.value))
        if isinstance(node.left, syn.Literal):
            return replace(node, left=syn.Literal(node.left.value + " "))
        if isinstance(node.left, syn.Cat) and isinstance(node.left.right, syn.Literal):
            literal = syn.Literal(node.left.right.value + " ")
            return replace(node, left=replace(node.left, right=literal))
        return replace(node, left=syn.Cat(node.left, SPACE))

    return transform(line, change)


def copy_list_items(line: Any, account: Account) -> Any:
    """The line with copies in its lists: there, a list holds the register itself."""

    def change(node: Any) -> Any:
        if not isinstance(node, syn.ListOf):
            return node
        if any(isinstance(item, syn.Register) for item in node.items):
            account.change("a list's registers became copies")
        copies = [syn.Cat(i, NOTHING) if isinstance(i, syn.Register) else i for i in node.items]
        return replace(node, items=tuple(copies))

    return transform(line, change) if isinstance(line, syn.Assign) else line


def remove_story_arguments(line: Any, account: Account) -> Any:
    """``story`` without its argument, which that engine ignores."""

    def change(node: Any) -> Any:
        if isinstance(node, syn.Story) and (node.tokens or node.prompt):
            account.change("story lost its argument; the maps' texts are as it asked")
            return syn.Story()
        return node

    return transform(line, change)


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


def has_cut_or_join(program: syn.Program) -> bool:
    """Whether some string is cut, or some list joined."""
    joins = any(call.name == "join" for call in find(program, syn.Function))
    return joins or bool(find(program, syn.Cut))


# -- reveals -------------------------------------------------------------------------------------

NAMES = tuple(kind + suffix for suffix in ("", "1", "2", "3") for kind in "stxy")
"""Private registers that both engines have."""
LISTS = tuple("l" + suffix for suffix in ("", "1", "2", "3"))


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
    kinds = {_kind(term) for _, term in side.terms}
    return len(kinds) == 1 and syn.Literal("") not in kinds


def _kind(term: syn.Term) -> object:
    return term.target if isinstance(term, syn.Xent) else syn.Number


def conditions(line: syn.Ensure, dialect: str, account: Account) -> syn.Ensure:
    """The line with every condition lowered."""
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
