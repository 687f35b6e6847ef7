"""What ``python -m archive cover`` shows: gathered once, then printed for people or programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from archive.run import Run
from archive.schema import Definition, TaskId
from archive.statistics.covers import (
    Cover,
    CoverQuestion,
    best_cover,
    largest_eta,
    missing_for_fewer,
    rounded_down,
    scope_cover,
)
from archive.statistics.intervals import CONFIDENCE
from archive.statistics.matrix import simultaneous_matrix
from archive.text import number, percent, plural
from archive.views.tables import add, finite, table

_Facts = Mapping[str, Any]


def gather(run: Run, question: CoverQuestion) -> dict[str, Any]:
    """The cover of the newest scope, and that which bounds that hold together prove
    (``confident``). What is unbounded or out of reach is None. Raises CoverError, and
    LookupFailedError without a scope."""
    scope = [member.task_id for member in run.newest_scope[1]]
    answer = scope_cover(run, scope, question)
    sources, targets = answer.matrix.sources, answer.matrix.targets
    finetunes = sum(map(len, run.whole_finetunes.values()))
    bounds, statements = simultaneous_matrix(
        run.plays, run.policies, sources, targets, finetunes, question.gain
    )
    lower = bounds.lower(question.definition)
    confident = best_cover(lower, question.eta) if question.eta <= largest_eta(lower) else None
    unknown = answer.matrix.unmeasured_pairs()
    decisive = missing_for_fewer(answer.values, question.eta, len(answer.cover.members))
    covers = [[list(target) for target in each] for each in answer.covers.values()]
    return {
        "run_id": run.run_id,
        "eta": question.eta,
        "definition": question.definition,
        "gain": question.gain,
        "from": "finetuned" if question.from_finetuned else "scope",
        "sources": len(sources),
        "targets": len(targets),
        "cover": _cover(answer.cover, sources) | {"covers": covers},
        "largest_eta": finite(largest_eta(answer.values)),
        "skipped": [list(task_id) for task_id in answer.skipped_targets],
        "unknown": [[list(source), list(target)] for source, target in unknown],
        "decisive": [[list(sources[row]), list(targets[column])] for row, column in decisive],
        "confident": {
            "confidence": CONFIDENCE,
            "statements": statements,
            "largest_eta": finite(largest_eta(lower)),
            "cover": confident and _cover(confident, sources),
        },
    }


def _cover(cover: Cover, sources: Sequence[TaskId]) -> dict[str, Any]:
    return {
        "members": [list(sources[member]) for member in cover.members],
        "delta": finite(cover.delta),
        "at_least": cover.least,
        "delta_at_most": finite(cover.delta_bound),
        "exact": cover.exact,
    }


def show(answer: _Facts, programs: Mapping[str, str], console: Console) -> None:
    """Prints the cover, what is unknown and the simultaneous cover; ``programs`` by game id."""
    letter, cover = Definition(answer["definition"]).symbol, answer["cover"]
    least = f"at least {answer['eta']:g} ({letter}, {answer['gain']} gain)"
    title = f"The fewest games that teach each one {least}"
    view = table(title, "game", "teaches", "program")
    for (game_id, role), targets in zip(cover["members"], cover["covers"], strict=True):
        add(view, TaskId(game_id, role).label, "\n".join(_labels(targets)), programs[game_id])
    console.print(view)
    for line in (*_summary(answer), _simultaneous(answer["confident"])):
        console.print(line, soft_wrap=True)


def _summary(answer: _Facts) -> Iterator[str]:
    cover = answer["cover"]
    optimality = "optimal"
    if not cover["exact"]:
        most = number(cover["delta_at_most"], 3)
        optimality = f"at least {cover['at_least']} are needed, Δ at most {most}"
    teach = "teach" if cover["members"][1:] else "teaches"
    yield (
        f"{plural(len(cover['members']), 'game')} of {answer['sources']} {teach} all "
        f"{answer['targets']}; the least taught has {number(cover['delta'], 3)} (Δ): {optimality}. "
        f"With all games it could be {number(answer['largest_eta'], 3)}."
    )
    if answer["skipped"]:
        names = ", ".join(_labels(answer["skipped"]))
        yield f"Left out, with no defined value: {names}. Δ of the whole scope is unknown."
    count, total = len(answer["unknown"]), answer["sources"] * answer["targets"]
    fewer = "none were found that could show that fewer games do"
    if decisive := len(answer["decisive"]):
        fewer = f"if {decisive} of them reach η, fewer games do"
    unknown = (
        f"Not measured, counting for nothing here: {count} of {plural(total, 'value')}; {fewer}."
    )
    yield unknown if count else "Every value is known."


def _simultaneous(confident: _Facts) -> str:
    statements = f"all {confident['statements']} bounds together"
    lead = f"With {percent(confident['confidence'])} confidence, {statements}: "
    if (cover := confident["cover"]) is None:
        reach = confident["largest_eta"]
        lower = None if reach is None or reach < 0 else rounded_down(reach)
        where = "nor at any other" if lower is None else f"only up to η = {lower:g}"
        return f"{lead}no cover at this η, {where}."
    games = plural(len(cover["members"]), "game")
    names = ", ".join(_labels(cover["members"]))
    return f"{lead}{games}, Δ ≥ {number(cover['delta'], 3)}: {names}."


def _labels(tasks: Iterable[Sequence[str]]) -> Iterator[str]:
    return (TaskId(*task).label for task in tasks)
