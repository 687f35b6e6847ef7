"""Conditions as the authors' engine decides them: rules as set expressions, models named."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from xgl.language import syntax as syn
from xgl.language.dialects import DIALECTS
from xgl.lowering.account import Account
from xgl.lowering.sums import compared
from xgl.runtime.predicates import predicate
from xgl.runtime.requests import Predicate

_OPPOSITE: dict[str, syn.Comparator] = {"==": "!=", "!=": "=="}


def conditions(line: syn.Ensure, dialect: str, account: Account) -> syn.Ensure:
    """The line with every condition lowered."""
    made = tuple(_condition(line, each, dialect, account) for each in line.conditions)
    return replace(line, conditions=made)


def _condition(
    line: syn.Ensure, node: syn.Condition, dialect: str, account: Account
) -> syn.Condition:
    match node:
        case syn.Comparison():
            return compared(line, node, account)
        case syn.Logic(_, parts):
            inner = tuple(_condition(line, part, dialect, account) for part in parts)
            return replace(node, conditions=inner)
        case syn.Truth():
            return _statement(line, node, dialect, account)
    return node


def _statement(line: syn.Ensure, truth: syn.Truth, dialect: str, account: Account) -> Any:
    parts: list[syn.StringExpr] = []

    def placed(part: syn.StringExpr) -> str:
        parts.append(part)
        return str(len(parts) - 1)

    rule = predicate(truth, placed)
    if rule is None:
        account.loss(line, "a model judges the statement, and that engine asks it otherwise")
        statement = reduce(lambda a, b: _spaced(a, b, dialect), (truth.statement, *truth.params))
        return replace(truth, statement=statement, params=())
    operands = [
        reduce(lambda a, b: _spaced(a, b, dialect), [parts[int(place)] for place in each.split()])
        for each in rule.operands
    ]
    return _rule(line, rule, operands, truth.expected, account)


def _spaced(left: syn.StringExpr, right: syn.StringExpr, dialect: str) -> syn.StringExpr:
    """Two texts with a space between, in the words of the program's own dialect."""
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
            allowed, text = (_call("word_set", each) for each in operands)
            found: syn.Condition = syn.Test(text, "<=", allowed)
        case "num_tokens":
            account.change("a count of tokens became a comparison with the first of them")
            found = _tokens(line, operands[0], rule.comparator, rule.bound, account)
        case _:
            account.loss(line, "num_words counts words with repetitions, there distinct ones")
            found = _compare(_call("num_words", operands[0]), rule.comparator, rule.bound)
    return found if expected else syn.Logic("not", (found,))


def _call(name: str, *arguments: Any) -> syn.Function:
    return syn.Function(name, arguments)


def _compare(term: syn.Function, comparator: Any, bound: int) -> syn.Comparison:
    number = syn.Sum(((1, syn.Number(bound)),))
    return syn.Comparison(syn.Sum(((1, term),)), comparator, number)


def _tokens(
    line: syn.Ensure, text: syn.StringExpr, comparator: str, bound: int, account: Account
) -> syn.Condition:
    """A text has at most n tokens where its first n tokens are the text."""

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
