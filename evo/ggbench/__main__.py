"""``python -m evo.ggbench``: look at games that are programs, and play them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from archive import ArchiveError
from evo.ggbench.answers import GameFaultError
from evo.ggbench.filters import filtered
from evo.ggbench.game import find, packaged, packaged_names
from evo.ggbench.terminal import agent_of, play
from xgl.errors import ConfigError


def main(arguments: Sequence[str], ask: Callable[[str], str] = input) -> int:
    """Returns the exit code: 0, 1 for a game that is refused, 2 for a user's error, 130 after
    Ctrl-C."""
    try:
        wanted = _parser().parse_args(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    console = Console()
    try:
        match wanted.command:
            case "games":
                return _list(console)
            case "check":
                return check(wanted.game, console)
            case "similarity":
                return show_similarity(wanted.games or packaged_names(), console)
            case "compare":
                return show_comparison(wanted.run, wanted.measured, wanted.figure, console)
            case _:
                game, opponent = find(wanted.game), agent_of(wanted.against)
                play(game, opponent, wanted.seat - 1, wanted.seed, console, ask)
                return 0
    except (ConfigError, GameFaultError, ArchiveError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m evo.ggbench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("games", help="the games that ship")
    of_one = "a game that ships, or a folder with rules.md, env.py and moves.md"
    checked = commands.add_parser("check", help="the filters of a game, one line each")
    checked.add_argument("game", metavar="GAME", help=of_one)
    alike = commands.add_parser("similarity", help="how alike the programs of games are")
    alike.add_argument("games", metavar="GAME", nargs="*", help=f"{of_one}; none: all that ship")
    beside = commands.add_parser("compare", help="models on these games beside Xent games")
    beside.add_argument("run", type=Path, help="of +experiment=gg_bench")
    beside.add_argument("measured", type=Path, help="a run of +experiment=measure")
    beside.add_argument("--figure", type=Path, metavar="FILE", help="also an SVG of both scores")
    played = commands.add_parser("play", help="play against an opponent")
    played.add_argument("game", metavar="GAME", help=of_one)
    played.add_argument("--against", default="mcts", help="random, mcts (default) or mcts@N")
    played.add_argument("--seat", type=int, choices=(1, 2), default=1, help="1 moves first")
    played.add_argument("--seed", type=int, default=0, help="of cards, dice and the opponent")
    return parser


def _list(console: Console) -> int:
    table = Table("game", "title", "category")
    for name in packaged_names():
        game = packaged(name)
        table.add_row(name, game.title, game.category)
    console.print(table)
    return 0


def show_similarity(names: Sequence[str], console: Console) -> int:
    """Each program's highest similarity to another, and the row of Table 5.

    Raises :class:`ConfigError` for fewer than two games.
    """
    from evo.ggbench.similarity import highest, table_5

    if len(names) < 2:
        raise ConfigError(f"games: found {len(names)}, expected at least 2")
    values = highest([find(name).source for name in names])
    table = Table("game", "highest similarity to another")
    for name, value in zip(names, values, strict=True):
        table.add_row(name, f"{value:.3f}")
    console.print(table)
    row, summary = table_5(values), Table("mean", "SD", "min", "25 %", "50 %", "75 %", "max")
    summary.add_row(*(f"{value:.3f}" for value in (row.mean, row.sd, *row.quartiles)))
    console.print(summary)
    return 0


def show_comparison(run: Path, measured: Path, figure_path: Path | None, console: Console) -> int:
    """One table of both families, and the rank correlation.

    Raises :class:`ConfigError` and :class:`~archive.ArchiveError`.
    """
    from evo.ggbench.compare import compare, show, write_figure

    comparison = compare(run, measured)
    show(comparison, console)
    if figure_path is not None:
        write_figure(comparison, figure_path)
        console.print(f"figure   {figure_path}", highlight=False, soft_wrap=True)
    return 0


def check(name: str, console: Console) -> int:
    """Show a game's verdicts; 1 where one refuses it."""
    verdicts = filtered(find(name))
    table = Table("filter", "verdict", "reason", "seconds")
    for each in verdicts:
        verdict = "passed" if each.passed else "refused"
        table.add_row(each.stage, verdict, each.reason, f"{each.seconds:.1f}")
    console.print(table)
    return 0 if all(each.passed for each in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
