"""``python -m evo.run +experiment=toy_growth``: Fig. 6.1 over many seeds, and where it fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.table import Table

from archive import Archive, RunEvent
from archive.charts.document import document
from archive.store.disk import write_whole, writing
from evo.config.toy import ToyRunConfig
from evo.runner import RunOutcome
from evo.toy.figure import figure
from evo.toy.growths import Growth, growths_of, measured, middle, places, scopes
from evo.toy.ledger import GROWTHS, MEMBERS, ToyLedger, growth_id, growth_rows, member_rows, parquet


@dataclass(frozen=True)
class ToyPlan:
    """A validated run."""

    config: ToyRunConfig
    console: Console

    @property
    def folder(self) -> Path:
        """Of the run."""
        return self.config.folder

    def announce(self) -> bool:
        """Nothing is to be said before it begins."""
        return True

    def session(self, archive: Archive) -> ToySession:
        """With the growths that the archive holds."""
        return ToySession(self, archive)


class ToySession:
    """Grows what is not in the archive yet; each growth is a commit."""

    def __init__(self, plan: ToyPlan, archive: Archive) -> None:
        self.plan, self.ledger = plan, ToyLedger(archive, plan.config)
        self.identity = self.ledger.identity
        self.growths: list[Growth] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def work(self) -> RunOutcome:
        """Raises :class:`archive.ArchiveError` when the disk refuses."""
        config = self.plan.config
        self.growths = grown(config, self.ledger)
        write(config, self.growths)
        message = f"{len(self.growths)} growths came to their end"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def higher_budget(self) -> tuple[str, ...]:
        """There is no budget."""
        return ()

    def show(self, outcome: RunOutcome) -> None:
        """Tables by seed and by setting, once all growths are there."""
        if outcome.event is RunEvent.FINISHED:
            console = self.plan.console
            console.print(seed_table(self.growths))
            console.print(setting_table(self.growths))
            message = f"tables and figure  {self.plan.folder}"
            console.print(message, highlight=False, soft_wrap=True)

    def commands(self) -> Sequence[tuple[str, str]]:
        """None: tables and figure are all there is."""
        return ()


def grown(config: ToyRunConfig, ledger: ToyLedger) -> list[Growth]:
    """Every growth, from the archive where it is there, and committed to it where it is not."""
    each_place, settings = places(config.toy, config.seed), config.toy.settings()
    for title, seed in each_place:
        if growth_id(title, seed) not in ledger.last:
            ledger.commit(title, seed, scopes(settings[title], seed))
    return measured(config.toy, {place: ledger.last[growth_id(*place)] for place in each_place})


def write(config: ToyRunConfig, growths: Sequence[Growth]) -> None:
    """The two tables, the figure of each setting's middle growth, and the configuration."""
    shown = [middle(growths_of(title, growths)) for title in config.toy.settings()]
    content = {
        "growths.parquet": parquet(GROWTHS, growth_rows(growths)),
        "members.parquet": parquet(MEMBERS, member_rows(growths)),
        "figure.svg": document(figure(shown)).encode(),
        "config.json": json.dumps(asdict(config), indent=1).encode(),
    }
    with writing(config.folder):
        for name, each in content.items():
            write_whole(config.folder / name, each)


def seed_table(growths: Sequence[Growth]) -> Table:
    """One row a seed; of the settings beside the claim's, what they covered."""
    titles = list(dict.fromkeys(growth.title for growth in growths))
    table = Table(title=f"{titles[0]}, seed by seed", title_justify="left")
    for column in ("seed", "games", "generations", "covered", *titles[1:]):
        table.add_column(column, justify="right")
    for growth in growths_of(titles[0], growths):
        covered = [other.covered for other in growths if other.seed == growth.seed]
        counts = (growth.seed, len(growth.members), growth.generations)
        table.add_row(*map(str, counts), *(f"{share:.2%}" for share in covered))
    return table


def setting_table(growths: Sequence[Growth]) -> Table:
    """One row a setting: the least, the mean and the greatest share covered."""
    table = Table(title="Share of the grid covered at 1 − α2", title_justify="left")
    for column in ("setting", "growths", "least", "mean", "most", "at least 99 %"):
        table.add_column(column, justify="left" if column == "setting" else "right")
    for title in dict.fromkeys(growth.title for growth in growths):
        shares = [growth.covered for growth in growths_of(title, growths)]
        summary = (min(shares), sum(shares) / len(shares), max(shares))
        reached = sum(share >= 0.99 for share in shares)
        table.add_row(title, str(len(shares)), *(f"{s:.2%}" for s in summary), str(reached))
    return table
