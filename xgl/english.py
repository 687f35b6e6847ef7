"""The rules of a game in plain English, a sentence for each line: for players who do not read code.

Expressions stay as they are written; what a sentence says of them is fixed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xgl import syntax as syn
from xgl.canonical import Metadata
from xgl.dialects import DIALECTS
from xgl.text import expression_text
from xgl.walk import descendants

_XENTS = {
    "xent": "the bits that it takes to predict {target}{given}",
    "nex": "minus the bits that it takes to predict {target}{given}",
    "xed": "the bits that {prefix} saves in predicting {target}",
    "dex": "the bits that {prefix} costs in predicting {target}",
}
_COMPARED = {
    "<": "is less than",
    "<=": "is at most",
    ">": "is more than",
    ">=": "is at least",
    "==": "equals",
    "!=": "differs from",
    "in": "stands in",
    "not in": "does not stand in",
}


def rules(program: syn.Program, metadata: Metadata | None = None) -> tuple[str, ...]:
    """One sentence for each instruction, in order.

    >>> from xgl import parse
    >>> rules(parse('assign(s=story())\\nelicit(x, 8)\\nreward(xed(s | x))'))[1:]
    ('black writes x, at most 8 tokens.', 'black gets the bits that x saves in predicting s.')
    """
    facts = metadata or Metadata()
    by_line = DIALECTS[program.dialect].failures_per_line
    return tuple(_sentence(line, facts, by_line) for line in program.instructions)


def _sentence(line: syn.Instruction, facts: Metadata, failures_by_line: bool) -> str:
    match line:
        case syn.Assign(targets):
            return "; ".join(_assigned(name, value) for name, value in targets) + "."
        case syn.Elicit(player, registers, max_len):
            each = " each" if len(registers) > 1 else ""
            limit = facts.max_len if max_len is None else max_len
            return f"{player} writes {_listed(registers)}, at most {_counted(limit)}{each}."
        case syn.Ensure(conditions):
            times = "at this line" if failures_by_line else "in a game"
            said = " and ".join(map(_condition, conditions))
            return (
                f"It must hold that {said}; else whoever wrote last writes again, "
                f"at most {facts.max_failures} times {times}."
            )
        case syn.Reward(player, amount):
            return f"{player} gets {_sum(amount)}."
        case syn.Reveal(player, values):
            return f"{player} is shown {_listed(map(expression_text, values))}."
        case syn.Beacon(flag):
            return f"{flag} stands here."
        case syn.Replay(flag, times_over):
            return f"The game goes back to {flag}, {times_over} times in all, and then on."


def _counted(tokens: int) -> str:
    return "1 token" if tokens == 1 else f"{tokens} tokens"


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _assigned(name: str, value: Any) -> str:
    if isinstance(value, syn.Story):
        return f"{name} is a text drawn for the map"
    drawn = any(isinstance(node, syn.Story) for node in descendants(value))
    where = ", where story() is a text drawn for the map" if drawn else ""
    return f"{name} is {expression_text(value)}{where}"


def _sum(amount: syn.Sum) -> str:
    (sign, term), *rest = amount.terms
    text = ("minus " if sign < 0 else "") + _term(term)
    return text + "".join((", minus " if s < 0 else ", plus ") + _term(t) for s, t in rest)


def _term(term: syn.Term) -> str:
    if not isinstance(term, syn.Xent):
        return expression_text(term)
    return _XENTS[term.kind].format(
        target=expression_text(term.target),
        prefix=expression_text(term.prefix) if term.prefix else "its own prefix",
        given=f" after {expression_text(term.prefix)}" if term.prefix else "",
    ) + (f" (with {expression_text(term.outer)} before everything)" if term.outer else "")


def _condition(condition: syn.Condition) -> str:
    match condition:
        case syn.Comparison(
            syn.Sum(((1, syn.Function("len", (syn.Function("common_word_set", (a, b)),))),)),
            "==",
            syn.Sum(((1, syn.Number(0)),)),
        ):
            return f"{expression_text(a)} and {expression_text(b)} have no word in common"
        case syn.Comparison(left, comparator, right):
            return f"{_sum(left)} {_COMPARED[comparator]} {_sum(right)}"
        case syn.Test(left, comparator, right):
            return f"{expression_text(left)} {_COMPARED[comparator]} {expression_text(right)}"
        case syn.Truth(statement, params, expected):
            said = _listed(map(expression_text, (statement, *params)))
            return f"the judge believes that this is {'true' if expected else 'false'}: {said}"
        case syn.Logic("not", (inner,)):
            return f"it is not so that {_condition(inner)}"
        case syn.Logic(word, parts):
            return f"({f' {word} '.join(map(_condition, parts))})"
    return f"{expression_text(condition)} holds"
