"""A run at a glance, as notebooks show it."""

from __future__ import annotations

from archive.charts.plot import plain
from archive.report.contents import GameFacts
from archive.report.from_archive import RunReport
from archive.report.summary import summary
from xgl.diagram.svg import el
from xgl.notebook import heading, panel, table

MOST = 20
"""Games of a scope that are shown."""


def run_html(report: RunReport) -> str:
    """What was found in two sentences, the scope, and the verdicts."""
    run, games = report.run, report.games
    state = run.events[-1][0] if run.events else "empty"
    facts = f"seed {run.seed}; {state}; {len(games)} games in the scope"
    verdicts = [(each.kind, each.name, f"{each.count:,}") for each in report.verdicts]
    more = len(games) - MOST
    return panel(
        heading(f"Run {run.run_id}", facts),
        *(el("div", sentence) for sentence in summary(report)),
        table(("game", "pays", "own gain, bits", "γ"), [*map(_row, games[:MOST])], 2),
        el("div", f"… and {more} more games", class_="xgl-soft") if more > 0 else None,
        table(("verdict", "reason", "candidates"), verdicts, 1) if verdicts else None,
    )


def bare_html(run_id: str, experiment: str, reason: str) -> str:
    """A run of which no more can be shown, and why."""
    return panel(heading(f"Run {run_id}", experiment), el("div", reason))


def _row(game: GameFacts) -> tuple[str, str, str, str]:
    gain, gamma = game.gain.value, game.gamma
    numbers = ("–" if number is None else plain(number) for number in (gain, gamma))
    return (game.name, game.pay, *numbers)  # type: ignore[return-value]
