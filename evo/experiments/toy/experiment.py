"""``python -m evo.run +experiment=toy_growth``: Fig. 6.1 over many seeds, and where it fails.

The figure shows the space, what a scope covers of it, and its games by generation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
from rich.console import Console
from rich.table import Table

from archive import Archive, RunEvent
from archive.charts.document import document
from archive.charts.plot import Plot, canvas, circle, line, polyline, rect, text
from archive.store.disk import write_whole, writing
from evo.config.toy import ToyRunConfig
from evo.experiments.toy.growths import ToyGrowth, growths_of, middle, places, scopes, with_coverage
from evo.experiments.toy.ledger import (
    GROWTHS,
    MEMBERS,
    ToyLedger,
    growth_id,
    growth_rows,
    member_rows,
    parquet,
)
from evo.experiments.toy.world import frontier, reach
from evo.runner import RunOutcome, Services
from xgl.diagram.svg import Element, el, points


def plan_toy_growth(config: ToyRunConfig, services: Services, resumed: bool) -> ToyPlan:
    """The plan of a run, which needs nothing but its settings."""
    return ToyPlan(config, services.console)


@dataclass(frozen=True)
class ToyPlan:
    """A validated run."""

    config: ToyRunConfig
    console: Console

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.config.folder

    def announce(self) -> bool:
        """Nothing is announced; the run always begins."""
        return True

    def session(self, archive: Archive) -> ToySession:
        """A session with the growths that the archive holds."""
        return ToySession(self, archive)


class ToySession:
    """Grows what is not in the archive yet; each growth is a commit."""

    def __init__(self, plan: ToyPlan, archive: Archive) -> None:
        self.plan, self.ledger = plan, ToyLedger(archive, plan.config)
        self.identity = self.ledger.identity
        self.growths: list[ToyGrowth] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def work(self) -> RunOutcome:
        """Raises :class:`archive.ArchiveError` when the disk refuses."""
        config = self.plan.config
        self.growths = grow_all(config, self.ledger)
        write(config, self.growths)
        message = f"{len(self.growths)} growths came to their end"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def higher_budget(self) -> tuple[str, ...]:
        """There is no budget."""
        return ()

    def show(self, outcome: RunOutcome) -> None:
        """Print tables by seed and by setting, once all growths are archived."""
        if outcome.event is RunEvent.FINISHED:
            console = self.plan.console
            console.print(seed_table(self.growths))
            console.print(setting_table(self.growths))
            message = f"tables and figure  {self.plan.folder}"
            console.print(message, highlight=False, soft_wrap=True)

    def commands(self) -> Sequence[tuple[str, str]]:
        """No commands: tables and figure are the result."""
        return ()


def grow_all(config: ToyRunConfig, ledger: ToyLedger) -> list[ToyGrowth]:
    """Every growth: from the archive, or computed and committed."""
    each_place, settings = places(config.toy, config.seed), config.toy.settings()
    for title, seed in each_place:
        if growth_id(title, seed) not in ledger.last:
            ledger.commit(title, seed, scopes(settings[title], seed))
    return with_coverage(
        config.toy, {place: ledger.last[growth_id(*place)] for place in each_place}
    )


def write(config: ToyRunConfig, growths: Sequence[ToyGrowth]) -> None:
    """The two tables, the figure of each setting's middle growth, and the configuration."""
    middle_growths = [middle(growths_of(title, growths)) for title in config.toy.settings()]
    content = {
        "growths.parquet": parquet(GROWTHS, growth_rows(growths)),
        "members.parquet": parquet(MEMBERS, member_rows(growths)),
        "figure.svg": document(figure(middle_growths)).encode(),
        "config.json": json.dumps(asdict(config), indent=1).encode(),
    }
    with writing(config.folder):
        for name, each in content.items():
            write_whole(config.folder / name, each)


def seed_table(growths: Sequence[ToyGrowth]) -> Table:
    """One row for each seed, with the shares covered under all settings."""
    titles = list(dict.fromkeys(growth.title for growth in growths))
    table = Table(title=f"{titles[0]}, seed by seed", title_justify="left")
    for column in ("seed", "games", "generations", "covered", *titles[1:]):
        table.add_column(column, justify="right")
    for growth in growths_of(titles[0], growths):
        shares = [other.covered_share for other in growths if other.seed == growth.seed]
        counts = (growth.seed, len(growth.members), growth.generations)
        table.add_row(*map(str, counts), *(f"{share:.2%}" for share in shares))
    return table


def setting_table(growths: Sequence[ToyGrowth]) -> Table:
    """One row for each setting: the least, the mean and the greatest share covered."""
    table = Table(title="Share of the grid covered at 1 − α2", title_justify="left")
    for column in ("setting", "growths", "least", "mean", "most", "at least 99 %"):
        table.add_column(column, justify="left" if column == "setting" else "right")
    for title in dict.fromkeys(growth.title for growth in growths):
        shares = [growth.covered_share for growth in growths_of(title, growths)]
        summary = (min(shares), sum(shares) / len(shares), max(shares))
        full_count = sum(share >= 0.99 for share in shares)
        table.add_row(title, str(len(shares)), *(f"{s:.2%}" for s in summary), str(full_count))
    return table


SIDE = 330.0
"""Side of one unit square in the figure."""
LEFT, TOP = 44.0, 16.0
WIDE, HIGH = 390.0, 394.0
"""Distances from one panel to the next."""
ACROSS = 2
"""Panels in a row."""
RAMP = ((255, 222, 120), (245, 140, 60), (190, 45, 90), (60, 15, 95))
"""Colours from the first generation to the last."""


def figure(growths: Sequence[ToyGrowth]) -> Element:
    """One panel for each growth, in rows, and a legend beneath. ``growths`` must not be empty."""
    last = max(growth.generations for growth in growths)
    across, down = min(ACROSS, len(growths)), -(-len(growths) // ACROSS)
    shapes: list[Element] = []
    for index, growth in enumerate(growths):
        row, column = divmod(index, ACROSS)
        corner = column * WIDE + LEFT, row * HIGH + TOP
        shapes += _panel(growth, Plot.box(corner, (SIDE, SIDE), (0, 1), (0, 1)), last)
    shapes += _legend(LEFT, down * HIGH + 20, last)
    title = "Scope growth on the toy model: what the last scope covers, games by generation"
    return canvas((max(across * WIDE, 720.0), down * HIGH + 44), title, *shapes, class_="toy")


def _panel(growth: ToyGrowth, plot: Plot, last: int) -> Iterator[Element]:
    """One unit square whose corner (0, 0) is drawn at the lower left."""
    yield from _regions(growth, plot)
    yield from plot.grid("skill 1", "", 2, 2)
    yield text(plot.x.start + 8, plot.y.end + 8, "skill 2", "axis")
    for member in growth.members:
        if member.parent is not None:
            (x1, y1), (x2, y2) = (plot.place(*g.skills) for g in (member.parent, member.game))
            yield line(x1, y1, x2, y2, "descent")
    for member in growth.members:
        x, y = plot.place(*member.game.skills)
        fill = colour(member.generation, last)
        yield el("circle", cx=x, cy=y, r=3.4, fill=fill, class_="game")
    for member in growth.members:
        if member.parent is None:
            yield circle(*plot.place(*member.game.skills), 7, "start")
    yield from _words(growth, *plot.place(0.34, 0.93))


def _regions(growth: ToyGrowth, plot: Plot) -> Iterator[Element]:
    """The covered and the uncovered part of the space, and its rim."""
    steps = np.linspace(0, 1, 161)
    angles = np.arctan2((1 - steps) ** 2, steps**2)  # as dense at the tips as between them
    edge = frontier(angles)
    scope_reach = np.minimum(edge, reach(growth.skills, angles, 1 - growth.setting.alpha2))
    for distance, class_ in ((edge, "uncovered"), (scope_reach, "covered")):
        rim = plot.places(distance * np.cos(angles), distance * np.sin(angles))
        yield el("polygon", points=points([plot.place(0, 0), *rim]), class_=class_)
    yield polyline(plot.places(edge * np.cos(angles), edge * np.sin(angles)), "rim")


def _words(growth: ToyGrowth, x: float, y: float) -> Iterator[Element]:
    yield text(x, y, growth.title, "heading")
    lines = (
        f"{growth.covered_share:.2%} covered (seed {growth.seed})",
        f"{len(growth.members)} games, {growth.generations} generations",
    )
    for index, words in enumerate(lines, start=1):
        yield text(x, y + 19 * index, words)


def _legend(x: float, y: float, last: int) -> Iterator[Element]:
    for offset, width, class_, words in (
        (0, 14, "covered", "covered at 1 − α2"),
        (172, 14, "uncovered", "not covered"),
    ):
        yield rect(x + offset, y - 7, width, 14, class_)
        yield text(x + offset + 22, y + 4, words)
    yield circle(x + 306, y, 7, "start sample")
    yield text(x + 320, y + 4, "start")
    yield text(x + 390, y + 4, "generation 0")
    edges = np.linspace(x + 486, x + 606, last + 2)
    for generation, (left, right) in enumerate(pairwise(edges.tolist())):
        fill = colour(generation, last)
        yield el("rect", x=left, y=y - 7, width=right - left, height=14, fill=fill)
    yield text(x + 614, y + 4, str(last))


def colour(generation: int, last: int) -> str:
    """The ramp's colour for a generation from 0 to ``last``."""
    place = generation / max(last, 1) * (len(RAMP) - 1)
    stops = np.arange(len(RAMP))
    channels = [
        round(float(np.interp(place, stops, channel))) for channel in zip(*RAMP, strict=True)
    ]
    return "#" + "".join(f"{channel:02x}" for channel in channels)
