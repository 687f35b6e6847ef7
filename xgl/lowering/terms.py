"""Rewrites of sums and conditions for the authors' engine.

It adds xents token by token, so only those of one string; it decides rules as set expressions and
asks a model about the other statements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.lowering.texts import Account
from xgl.runtime.predicates import predicate
from xgl.runtime.requests import Predicate

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
        return _join_with_space(left, right, dialect)

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


def _join_with_space(left: syn.StringExpr, right: syn.StringExpr, dialect: str) -> syn.StringExpr:
    """Two texts joined with a space, in the program's own dialect."""
    if not DIALECTS[dialect].cat_space:
        left = syn.Cat(left, syn.Literal(" "))
    return syn.Cat(left, right)


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
