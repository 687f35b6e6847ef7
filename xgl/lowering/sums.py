"""Sums of xents: the authors' engine adds token by token, so only xents of one string."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xgl.language import syntax as syn
from xgl.lowering.account import Account

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
    """Xents by the string that is scored; of an empty literal a xent is 0, and there an error."""
    found: dict[object, list[Signed]] = {}
    for sign, term in terms:
        assert isinstance(term, syn.Xent)
        if term.target == syn.Literal(""):
            account.change("the xent of an empty literal, which is 0, was left out")
        else:
            found.setdefault(term.target, []).append((sign, term))
    return list(found.values())


def compared(line: syn.Ensure, node: syn.Comparison, account: Account) -> syn.Comparison:
    """A comparison whose sides each hold numbers, or xents of one string."""
    if all(_plain(side) for side in (node.left, node.right)):
        return node
    both = [*node.left.terms, *_negated(node.right.terms)]
    xents = [each for each in both if isinstance(each[1], syn.Xent)]
    numbers = [each for each in both if not isinstance(each[1], syn.Xent)]
    groups = _groups(xents, account)
    if len(groups) > 2 or (len(groups) == 2 and numbers):
        account.refuse(line, "it compares more than the xents of two strings")
        return node
    account.change("terms of a comparison changed sides")
    left = groups[0] if groups else numbers
    right = groups[1] if len(groups) == 2 else numbers if groups else []
    return replace(node, left=_sum(left), right=_sum(_negated(right)))


def _sum(terms: Sequence[Signed]) -> syn.Sum:
    return syn.Sum(tuple(terms)) if terms else ZERO


def _negated(terms: Sequence[Signed]) -> list[Signed]:
    return [(-sign, term) for sign, term in terms]


def _plain(side: syn.Sum) -> bool:
    kinds = {_kind(term) for _, term in side.terms}
    return len(kinds) == 1 and syn.Literal("") not in kinds


def _kind(term: syn.Term) -> object:
    return term.target if isinstance(term, syn.Xent) else syn.Number
