"""``python -m evo.run +experiment=toy_growth``: Fig. 6.1 over many seeds, and where it fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from shlex import quote

from rich.console import Console
from rich.table import Table

from archive import ArchiveError, RunEvent
from archive.store.disk import write_whole, writing
from evo.config.compose import from_archive
from evo.record.run_folder import RESUME, check_new, open_archive, resumed_folders, stored_config
from evo.toy.config import ToyRunConfig, load
from evo.toy.figure import figure
from evo.toy.growths import Growth, measured, middle, of, places, scopes
from evo.toy.ledger import ToyLedger, growth_id
from evo.toy.records import GROWTHS, MEMBERS, growth_rows, member_rows, parquet
from xgl.diagram.svg import to_svg
from xgl.errors import ConfigError


def run(arguments: Sequence[str], console: Console) -> int:
    """Grow, or go on growing; returns the exit code: 0, or 130 when interrupted.

    Each growth is a commit, and one that is in the archive is not grown again. Raises
    :class:`ConfigError`, and :class:`archive.ArchiveError` when the disk refuses.
    """
    resumed = bool(resumed_folders(arguments))
    config = _resumed(arguments) if resumed else load(arguments)
    if not resumed:
        check_new(config.folder)
    with open_archive(config.folder, resumed) as archive:
        ledger = ToyLedger(archive, config)
        ledger.event(RunEvent.RESUMED if resumed else RunEvent.CREATED)
        try:
            found = grown(config, ledger)
            write(config, found)
        except KeyboardInterrupt:
            _interrupted(config, ledger, console)
            return 130
        ledger.event(RunEvent.FINISHED)
    console.print(seed_table(found))
    console.print(setting_table(found))
    console.print(f"tables and figure  {config.folder}", highlight=False, soft_wrap=True)
    return 0


def grown(config: ToyRunConfig, ledger: ToyLedger) -> list[Growth]:
    """Every growth, from the archive where it is there, and committed to it where it is not."""
    wanted, settings = places(config.toy, config.seed), config.toy.settings()
    for title, seed in wanted:
        if growth_id(title, seed) not in ledger.last:
            ledger.commit(title, seed, scopes(settings[title], seed))
    return measured(config.toy, {place: ledger.last[growth_id(*place)] for place in wanted})


def write(config: ToyRunConfig, found: Sequence[Growth]) -> None:
    """The two tables, the figure of each setting's middle growth, and the configuration."""
    shown = [middle(of(title, found)) for title in config.toy.settings()]
    content = {
        "growths.parquet": parquet(GROWTHS, growth_rows(found)),
        "members.parquet": parquet(MEMBERS, member_rows(found)),
        "figure.svg": to_svg(figure(shown)).encode(),
        "config.json": json.dumps(asdict(config), indent=1).encode(),
    }
    with writing(config.folder):
        for name, each in content.items():
            write_whole(config.folder / name, each)


def _resumed(arguments: Sequence[str]) -> ToyRunConfig:
    foreign = [each for each in arguments if not each.startswith(RESUME)]
    if foreign:
        raise ConfigError(f"{foreign[0]}: a resumed toy growth keeps its settings")
    _, stored = stored_config(resumed_folders(arguments)[0])
    return from_archive(ToyRunConfig, stored)


def _interrupted(config: ToyRunConfig, ledger: ToyLedger, console: Console) -> None:
    with suppress(ArchiveError):  # a commit that was cut short has spent the writer
        ledger.event(RunEvent.INTERRUPTED)
    console.print("interrupted; what was committed stays")
    command = f"python -m evo.run resume={quote(str(config.folder))}"
    console.print(f"resume   {command}", highlight=False, soft_wrap=True)


def seed_table(found: Sequence[Growth]) -> Table:
    """One row a seed; of the settings beside the claim's, what they covered."""
    titles = list(dict.fromkeys(growth.title for growth in found))
    table = Table(title=f"{titles[0]}, seed by seed", title_justify="left")
    for column in ("seed", "games", "generations", "covered", *titles[1:]):
        table.add_column(column, justify="right")
    for growth in of(titles[0], found):
        covered = [other.covered for other in found if other.seed == growth.seed]
        counts = (growth.seed, len(growth.members), growth.generations)
        table.add_row(*map(str, counts), *(f"{share:.2%}" for share in covered))
    return table


def setting_table(found: Sequence[Growth]) -> Table:
    """One row a setting: the least, the mean and the greatest share covered."""
    table = Table(title="Share of the grid covered at 1 − α2", title_justify="left")
    for column in ("setting", "growths", "least", "mean", "most", "at least 99 %"):
        table.add_column(column, justify="left" if column == "setting" else "right")
    for title in dict.fromkeys(growth.title for growth in found):
        shares = [growth.covered for growth in of(title, found)]
        summary = (min(shares), sum(shares) / len(shares), max(shares))
        reached = sum(share >= 0.99 for share in shares)
        table.add_row(title, str(len(shares)), *(f"{s:.2%}" for s in summary), str(reached))
    return table
