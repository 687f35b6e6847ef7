"""``python -m evo.run +experiment=toy_growth``: Fig. 6.1 over many seeds, and where it fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from archive.disk import write_whole, writing
from evo.checks import ConfigError
from evo.toy.config import ToyRunConfig, load
from evo.toy.figure import figure
from evo.toy.growths import Growth, growths, middle, of
from evo.toy.records import GROWTHS, MEMBERS, growth_rows, member_rows, parquet
from xgl.diagram.svg import to_svg


def run(arguments: Sequence[str], console: Console) -> int:
    """Grow, write and show; returns the exit code: 0, or 130 when interrupted.

    Raises :class:`ConfigError`, and :class:`archive.WriteError` when the disk refuses.
    """
    config = load(arguments)
    if config.folder.exists():
        raise ConfigError(f"name: {config.folder} exists already, expected a new name")
    try:
        found = list(growths(config.toy, config.seed))
    except KeyboardInterrupt:
        console.print("interrupted; nothing was written")
        return 130
    write(config, found)
    console.print(seed_table(found))
    console.print(setting_table(found))
    console.print(f"tables and figure  {config.folder}", highlight=False, soft_wrap=True)
    return 0


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
        config.folder.mkdir(parents=True)
        for name, each in content.items():
            write_whole(config.folder / name, each)


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
