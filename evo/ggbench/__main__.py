"""``python -m evo.ggbench``: the filters of games, kinds of games."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from archive import Archive, ArchiveError
from archive.views.tables import add, table
from evo.config.measure import ChatConfig
from evo.ggbench.game import find_all, packaged
from xgl.chat.settings import Budget
from xgl.console import Console
from xgl.errors import ConfigError
from xgl.files import user_path
from xgl.streams import exit_code, prepare_streams

GAME = "a game that ships, a folder with rules.md, env.py and moves.md, or the released games"


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, 1 for a game that is refused, 2 for a user's error, 130 after
    Ctrl-C."""
    prepare_streams()
    return exit_code(lambda: _run(arguments), ArchiveError)


def _run(arguments: Sequence[str]) -> int:
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:  # after --help, or a word that it does not know
        return int(end.code or 0)
    commands = {"check": check, "clusters": clusters}
    return commands[options.command](options, Console())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m evo.ggbench", description="Games as programs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    add_check = commands.add_parser("check", help="the filters of a game, one line each")
    add_check.add_argument("game", metavar="GAME", help=GAME)
    clusters = commands.add_parser("clusters", help="kinds of games, by a chat model")
    add_option = clusters.add_argument
    add_option("games", metavar="GAME", nargs="*", help=f"{GAME}; none: all of this package")
    add_option("--run", type=user_path, help="the games of a run of +experiment=gg_bench")
    add_option("--model", required=True, help="chat:MODEL or chat:MODEL@URL")
    free = "number of kinds; without it, a kind costs half a game left out"
    add_option("--count", type=int, help=free)
    add_option("--answers", type=user_path, default=Path("answers"), help="folder of paid answers")
    add_option("--tokens", type=int, help="send no request after this number of tokens")
    return parser


def check(options: argparse.Namespace, console: Console) -> int:
    """Show the verdicts on each game; 1 where one refuses it."""
    from evo.ggbench.filters import run_filters  # loads torch

    refused = False
    for game in find_all(options.game):
        view = table("Filters", "filter", "verdict", "reason", "seconds")
        for each in run_filters(game):
            verdict = "passed" if each.passed else "refused"
            add(view, each.stage, verdict, each.reason, f"{each.seconds:.1f}")
            refused |= not each.passed
        console.print(view)
    return int(refused)


def clusters(options: argparse.Namespace, console: Console) -> int:
    """Print each cluster with its games, and the games in none.

    Raises :class:`ConfigError`, :class:`~archive.ArchiveError`,
    :class:`~xgl.errors.PlayerError` and :class:`~xgl.errors.BudgetError`.
    """
    from evo.ggbench.chat import Clusterer, find_chat_model
    from evo.ggbench.experiment import games_of

    games = [game for name in options.games for game in find_all(name)]
    if options.run:
        with Archive.open(options.run) as archive:
            games += games_of(archive.rows("gg_games"))
    games = games or [*packaged().values()]
    settings = find_chat_model(options.model, "--model", ChatConfig())
    settings = replace(settings, budget=Budget(tokens=options.tokens))
    clusterer = Clusterer(settings, options.answers)
    try:
        found = clusterer.sort(games, options.count)
    except ValueError as error:
        raise ConfigError(f"count: {error}") from None
    view = table("Kinds of games", "kind", "games", "share", "titles")
    members = [(found.explanations[place], found.belongs[:, place]) for place in found.chosen]
    members.append(("none of these", found.belongs[:, list(found.chosen)].sum(axis=1) == 0))
    for kind, belongs in members:
        titles = [game.title for game, own in zip(games, belongs, strict=True) if own]
        add(view, kind, len(titles), f"{len(titles) / len(games):.1%}", ", ".join(titles))
    console.print(view)
    kinds = f"{len(found.explanations)} kinds that differ"
    console.print(f"{kinds}; {found.usage.tokens:,} tokens", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
