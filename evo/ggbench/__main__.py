"""``python -m evo.ggbench``: inspect games that are programs, and play them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from archive import ArchiveError
from archive.store.disk import require_ending
from archive.views.tables import add
from evo.ggbench.answers import GameFaultError
from evo.ggbench.filters import run_filters
from evo.ggbench.game import find, packaged_game, packaged_names
from evo.ggbench.terminal import agent_of, answer_of_person, play
from xgl.chat.accounting import Budget
from xgl.errors import ConfigError, PlayerError


def main(arguments: Sequence[str], ask: Callable[[str], str] = answer_of_person) -> int:
    """Returns the exit code: 0, 1 for a game that is refused, 2 for a user's error, 130 after
    Ctrl-C."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:
        return int(end.code or 0)
    console = Console()
    try:
        match options.command:
            case "games":
                return _list(console)
            case "check":
                return check(options.game, console)
            case "similarity":
                return show_similarity(options.games or packaged_names(), console)
            case "clusters":
                return show_clusters(options, console)
            case "compare":
                return show_comparison(options.run, options.measured, options.figure, console)
            case _:
                game, opponent = find(options.game), agent_of(options.against)
                play(game, opponent, options.seat - 1, options.seed, console, ask)
                return 0
    except (ConfigError, GameFaultError, ArchiveError, PlayerError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m evo.ggbench", description="Look at games that are programs, and play them."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("games", help="the games of this package")
    of_one = "a game that ships, or a folder with rules.md, env.py and moves.md"
    check_parser = commands.add_parser("check", help="the filters of a game, one line each")
    check_parser.add_argument("game", metavar="GAME", help=of_one)
    similarity_parser = commands.add_parser(
        "similarity", help="how alike the programs of games are"
    )
    similarity_parser.add_argument(
        "games", metavar="GAME", nargs="*", help=f"{of_one}; none: all of this package"
    )
    clusters_parser = commands.add_parser(
        "clusters", help="kinds of games, by a chat model and an ILP"
    )
    clusters_parser.add_argument(
        "games", metavar="GAME", nargs="*", help=f"{of_one}; none: all of this package"
    )
    clusters_parser.add_argument("--model", required=True, help="chat:MODEL or chat:MODEL@URL")
    clusters_parser.add_argument(
        "--run", type=Path, help="the games of a run of +experiment=gg_bench"
    )
    clusters_parser.add_argument(
        "--count", type=int, help="number of kinds; without it, a kind costs half a game left out"
    )
    clusters_parser.add_argument(
        "--answers", type=Path, default=Path("answers"), help="folder of paid answers"
    )
    clusters_parser.add_argument(
        "--tokens", type=int, help="send no request after this number of tokens"
    )
    clusters_parser.add_argument(
        "--estimate", action="store_true", help="only print the estimated cost"
    )
    compare_parser = commands.add_parser("compare", help="models on these games beside Xent games")
    compare_parser.add_argument("run", type=Path, help="of +experiment=gg_bench")
    compare_parser.add_argument("measured", type=Path, help="a run of +experiment=measure")
    compare_parser.add_argument(
        "--figure", type=Path, metavar="FILE.svg", help="also a drawing of both scores"
    )
    play_parser = commands.add_parser("play", help="play against an opponent")
    play_parser.add_argument("game", metavar="GAME", help=of_one)
    play_parser.add_argument(
        "--against",
        default="mcts",
        help="random, mcts (default) or mcts@N, a search of N simulations",
    )
    play_parser.add_argument(
        "--seat", type=int, choices=(1, 2), default=1, help="yours; 1 (default) moves first"
    )
    play_parser.add_argument("--seed", type=int, default=0, help="of cards, dice and the opponent")
    return parser


def _list(console: Console) -> int:
    table = Table("game", "title", "category")
    for name in packaged_names():
        game = packaged_game(name)
        add(table, name, game.title, game.category)
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
        add(table, name, f"{value:.3f}")
    console.print(table)
    row, summary = table_5(values), Table("mean", "SD", "min", "25 %", "50 %", "75 %", "max")
    summary.add_row(*(f"{value:.3f}" for value in (row.mean, row.sd, *row.quartiles)))
    console.print(summary)
    return 0


def show_clusters(options: argparse.Namespace, console: Console) -> int:
    """Print each cluster with its games, and the games in none.

    Raises :class:`ConfigError`, :class:`~archive.ArchiveError`,
    :class:`~xgl.errors.PlayerError` and :class:`~xgl.errors.BudgetError`.
    """
    from evo.config.ggbench import GGBenchConfig
    from evo.ggbench.author import find_author
    from evo.ggbench.kinds import Sorter, estimate
    from evo.ggbench.records import games_of

    games = [*map(find, options.games)] + (games_of(options.run) if options.run else [])
    games = games or [packaged_game(name) for name in packaged_names()]
    settings = find_author(GGBenchConfig(author=options.model), "--model")
    assert settings is not None
    console.print(estimate(settings, len(games)), highlight=False, soft_wrap=True)
    if options.estimate:
        return 0
    sorter = Sorter(settings, options.answers, Budget(tokens=options.tokens))
    try:
        kinds = sorter.sort(games, options.count)
    except ValueError as error:
        raise ConfigError(f"count: {error}") from None
    table, members = Table("kind", "games", "share", "titles"), kinds.clusters.members
    for place in [*kinds.clusters.columns, None]:
        titles = [game.title for game, own in zip(games, members, strict=True) if own == place]
        kind = "none of these" if place is None else kinds.kinds[place]
        add(table, kind, len(titles), f"{len(titles) / len(games):.1%}", ", ".join(titles))
    console.print(table)
    summary = f"{kinds.unclear} answers neither yes nor no; {kinds.usage.tokens:,} tokens"
    console.print(f"{len(kinds.kinds)} kinds that differ; {summary}", highlight=False)
    return 0


def show_comparison(
    run: Path, measure_run: Path, figure_path: Path | None, console: Console
) -> int:
    """One table of both families, and the rank correlation.

    Raises :class:`ConfigError` and :class:`~archive.ArchiveError`.
    """
    from evo.ggbench.comparison import compare, show, write_figure

    if figure_path is not None:
        require_ending(figure_path, ".svg")
    comparison = compare(run, measure_run)
    show(comparison, console)
    if figure_path is not None:
        write_figure(comparison, figure_path)
        console.print(f"figure   {figure_path}", highlight=False, markup=False, soft_wrap=True)
    return 0


def check(name: str, console: Console) -> int:
    """Show a game's verdicts; 1 where one refuses it."""
    verdicts = run_filters(find(name))
    table = Table("filter", "verdict", "reason", "seconds")
    for each in verdicts:
        verdict = "passed" if each.passed else "refused"
        add(table, each.stage, verdict, each.reason, f"{each.seconds:.1f}")
    console.print(table)
    return 0 if all(each.passed for each in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
