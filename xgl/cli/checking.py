"""What ``check`` says of a valid program: faults, notes and facts (docs/specification.md,
"Static facts")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from xgl.analysis.request_bounds import Asked, Bound
from xgl.analysis.static_facts import Report, analyse
from xgl.language.canonical import game
from xgl.language.syntax import MAIN_PLAYER, Program


def roles(program: Program) -> list[Report]:
    """One report for each player that is asked for a move; the main player's where none is."""
    first = analyse(program)
    return [analyse(program, role=name) for name in first.players or (MAIN_PLAYER,)]


def faults(reports: list[Report]) -> list[str]:
    """Reasons for which the program is no game: it cannot run, or can teach nobody anything."""
    found = list(reports[0].faults)
    reasons = [f"{report.role}: {report.degenerate}" for report in reports if report.degenerate]
    if not found and len(reasons) == len(reports):
        found = reasons
    return found


def notes(reports: list[Report]) -> list[str]:
    """What is allowed and yet likely a slip."""
    found = [f"{name} is read before it is set" for name in reports[0].read_before_set]
    if not faults(reports):
        found += [f"{r.role} can learn nothing: {r.degenerate}" for r in reports if r.degenerate]
    return found


def facts(program: Program, report: Report) -> Iterator[str]:
    """Lines for a person; line numbers are those of the file."""
    stories = "1 story" if report.stories == 1 else f"{report.stories} stories"
    yield f"{report.steps} steps, {stories}; players: {', '.join(report.players)}"
    for asked in report.asked:
        yield _asking(program, asked)
    bounds = (*report.bounds, *report.views)
    for kind, said in _READ.items():
        largest = max((b for b in bounds if b.kind == kind), key=_size, default=None)
        if largest is not None:
            where = program.source_line(largest.line - 1)
            yield f"{said} at most {largest.tokens} tokens (line {where})"


_READ = {
    "view": "a player is shown",
    "score": "the judge scores",
    "truth": "the judge reads statements of",
}


def _size(bound: Bound) -> int:
    return bound.tokens


def _asking(program: Program, asked: Asked) -> str:
    times = "" if asked.times == 1 else f", {asked.times} times"
    seen = f"sees {' '.join(asked.sees)}" if asked.sees else "sees no text"
    hidden = f", not {' '.join(asked.hidden)}" if asked.hidden else ""
    return (
        f"line {program.source_line(asked.line - 1)}: {asked.player} writes {asked.register} "
        f"(at most {asked.max_len} tokens{times}); {seen}{hidden}"
    )


def record(program: Program, reports: list[Report]) -> dict[str, Any]:
    """All facts, for JSON."""
    rows = _rows(program, reports[0])
    return {
        "game_id": game(program).game_id,
        "dialect": program.dialect,
        "faults": faults(reports),
        "notes": notes(reports),
        "roles": {
            report.role: {**_fields(report), **rows, "degenerate": report.degenerate}
            for report in reports
        },
    }


def _fields(report: Report) -> dict[str, Any]:
    fields = asdict(replace(report, run=None))
    del fields["run"]
    return fields


def _rows(program: Program, report: Report) -> dict[str, list[dict[str, Any]]]:
    """The facts that are the same for every role, with the lines of the file."""
    rows: dict[str, tuple[Asked | Bound, ...]] = {
        "asked": report.asked,
        "bounds": report.bounds,
        "views": report.views,
    }
    return {
        name: [asdict(row) | {"line": program.source_line(row.line - 1)} for row in found]
        for name, found in rows.items()
    }
