"""What ``python -m archive cover`` shows: for people as tables, for programs as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from archive.schema import TaskId
from archive.statistics.covers import Cover, ScopeCover, SweepStep
from archive.statistics.intervals import CONFIDENCE
from archive.text import number, percent, plural
from archive.views.tables import add, finite, plain_text, table

_MOST_NAMES = 10
"""Most unknown values that are named one by one."""


def show(
    answer: ScopeCover, codes: Mapping[str, str], steps: Sequence[SweepStep], console: Console
) -> None:
    """Prints the cover, what is unknown, the simultaneous cover and the sweep."""
    console.print(_members(answer, codes))
    for line in (*_summary(answer), *_unknown(answer), *_simultaneous(answer)):
        console.print(plain_text(line), soft_wrap=True)
    if steps:
        console.print(_sweep(steps))


def _members(answer: ScopeCover, codes: Mapping[str, str]) -> Table:
    question = answer.question
    letter = question.definition.symbol
    view = table(
        f"The fewest games that teach each one at least {question.eta:g} "
        f"({letter}, {question.gain} gain)",
        "game",
        "teaches",
        "program",
    )
    for member, targets in zip(answer.cover.members, answer.covers, strict=True):
        task_id = answer.matrix.sources[member]
        names = "\n".join(_short_id(target) for target in targets)
        add(view, f"{_short_id(task_id)}\n({task_id.role})", names, codes[task_id.game_id])
    return view


def _summary(answer: ScopeCover) -> list[str]:
    cover = answer.cover
    games, targets = len(cover.members), len(answer.matrix.targets)
    lines = [
        f"{plural(games, 'game')} of {len(answer.matrix.sources)} teach all {targets}; the "
        f"least taught has "
        f"{number(cover.delta, 3)} (Δ): {_optimality(cover)}. "
        f"With all games it could be {number(answer.largest_eta, 3)}."
    ]
    if answer.skipped_targets:
        names = ", ".join(map(_short_id, answer.skipped_targets))
        lines.append(f"Left out, with no defined value: {names}. Δ of the whole scope is unknown.")
    return lines


def _optimality(cover: Cover) -> str:
    if cover.exact:
        return "optimal"
    gap = f"at least {cover.least} are needed" if cover.gap else "no fewer would do"
    delta = (
        "" if cover.delta == cover.delta_bound else f", Δ at most {number(cover.delta_bound, 3)}"
    )
    return f"{gap}{delta}"


def _unknown(answer: ScopeCover) -> list[str]:
    """Which values are unknown: they are not 0, and covered nothing."""
    pairs = answer.matrix.unmeasured_pairs()
    if not pairs:
        return ["Every value is known."]
    total = len(answer.matrix.sources) * len(answer.matrix.targets)
    named = [f"{_short_id(source)} on {_short_id(target)}" for source, target in pairs]
    more = f" and {len(named) - _MOST_NAMES} more" if len(named) > _MOST_NAMES else ""
    return [
        f"{len(pairs)} of {total} values were not measured, and count for nothing here: "
        f"{', '.join(named[:_MOST_NAMES])}{more}."
    ]


def _simultaneous(answer: ScopeCover) -> list[str]:
    lead = f"With {percent(CONFIDENCE)} confidence, all {answer.statements} bounds together: "
    if answer.simultaneous is None:
        reach = answer.simultaneous_largest_eta
        where = f"only up to η = {number(reach, 3)}" if math.isfinite(reach) else "nor at any other"
        return [f"{lead}no cover at this η, {where}."]
    members = [answer.bounds.sources[member] for member in answer.simultaneous.members]
    return [
        f"{lead}{plural(len(members), 'game')}, Δ ≥ {number(answer.simultaneous.delta, 3)}: "
        f"{', '.join(map(_short_id, members))}."
    ]


def _sweep(steps: Sequence[SweepStep]) -> Table:
    """One row for each η."""
    view = table("Covers by η", "η", "games", "Δ", f"games at {percent(CONFIDENCE)}")
    for eta, cover, simultaneous in steps:
        delta = number(cover.delta if cover else None, 3)
        add(view, number(eta), _size(cover), delta, _size(simultaneous))
    return view


def _size(cover: Cover | None) -> str:
    if cover is None:
        return "–"
    return str(len(cover.members)) if not cover.gap else f"{cover.least}–{len(cover.members)}"


def _short_id(task_id: TaskId) -> str:
    return task_id.game_id[:12]


def as_json(answer: ScopeCover, run_id: str, steps: Sequence[SweepStep]) -> dict[str, Any]:
    """The answer for programs; what is unbounded or out of reach is None."""
    question, sources = answer.question, answer.matrix.sources
    return {
        "run_id": run_id,
        "eta": question.eta,
        "definition": question.definition,
        "gain": question.gain,
        "from": "finetuned" if question.from_finetuned else "scope",
        "cover": _cover(answer.cover, sources)
        | {"covers": [[list(target) for target in targets] for targets in answer.covers]},
        "largest_eta": finite(answer.largest_eta),
        "skipped": [list(task_id) for task_id in answer.skipped_targets],
        "unknown": [
            [list(source), list(target)] for source, target in answer.matrix.unmeasured_pairs()
        ],
        "confident": {
            "confidence": CONFIDENCE,
            "statements": answer.statements,
            "largest_eta": finite(answer.simultaneous_largest_eta),
            "cover": answer.simultaneous and _cover(answer.simultaneous, sources),
        },
        "sweep": [
            {
                "eta": eta,
                "cover": cover and _cover(cover, sources),
                "confident": simultaneous and _cover(simultaneous, sources),
            }
            for eta, cover, simultaneous in steps
        ],
    }


def _cover(cover: Cover, sources: Sequence[TaskId]) -> dict[str, Any]:
    return {
        "members": [list(sources[member]) for member in cover.members],
        "delta": finite(cover.delta),
        "at_least": cover.least,
        "delta_at_most": finite(cover.delta_bound),
        "exact": cover.exact,
    }
