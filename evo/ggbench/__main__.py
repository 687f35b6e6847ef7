"""``python -m evo.ggbench``: inspect games that are programs, and play them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from archive import Archive, ArchiveError, Run
from archive.statistics.intervals import Scores
from archive.statistics.programs import Row, as_json, gather
from archive.statistics.rank_agreement import rank_agreement
from archive.statistics.similarity import highest, table_5
from archive.statistics.win_rates import Tally, bootstrap, over_plays, tallies_of
from archive.views.programs import terminal_tables
from archive.views.tables import add, table, to_json
from evo.ggbench.box import GameFaultError
from evo.ggbench.filters import run_filters
from evo.ggbench.game import ProgramGame, find, find_all, packaged_game, packaged_names
from evo.ggbench.terminal import agent_of, answer_of_person, play
from xgl import streams
from xgl.chat.accounting import Budget
from xgl.console import Console
from xgl.errors import ConfigError, PlayerError
from xgl.paths import user_path

GAME = "a game that ships, or a folder with rules.md, env.py and moves.md"


@streams.command
def main(arguments: Sequence[str], ask: Callable[[str], str] = answer_of_person) -> int:
    """Returns the exit code: 0, 1 for a game that is refused, 2 for a user's error, 130 after
    Ctrl-C."""
    streams.prepare_streams()
    try:
        options = _parser().parse_args(arguments)
        console = Console()
        if options.command == "play":
            game, opponent = find(options.game), agent_of(options.against)
            play(game, opponent, options.seat - 1, options.seed, console, ask)
            return 0
        commands = {"games": games, "check": check, "tables": tables, "compare": comparison}
        commands |= {"similarity": similarity, "clusters": clusters}
        return commands[options.command](options, console)
    except SystemExit as end:
        return int(end.code or 0)
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

    def command(name: str, meaning: str) -> Callable[..., argparse.Action]:
        return commands.add_parser(name, help=meaning).add_argument

    command("games", "the games of this package")
    command("check", "the filters of a game, one line each")("game", metavar="GAME", help=GAME)
    add_tables = command("tables", "every table of runs of +experiment=gg_bench")
    add_tables(
        "runs", metavar="RUN", nargs="+", type=user_path, help="several: their authors together"
    )
    add_tables("--json", action="store_true", help="for programs")
    for name, meaning in (
        ("similarity", "how alike the programs of games are"),
        ("clusters", "kinds of games, by a chat model and an ILP"),
    ):
        add_option = command(name, meaning)
        add_option("games", metavar="GAME", nargs="*", help=f"{GAME}; none: all of this package")
        add_option("--run", type=user_path, help="the games of a run of +experiment=gg_bench")
    add_option("--model", required=True, help="chat:MODEL or chat:MODEL@URL")
    free = "number of kinds; without it, a kind costs half a game left out"
    add_option("--count", type=int, help=free)
    add_option("--answers", type=user_path, default=Path("answers"), help="folder of paid answers")
    add_option("--tokens", type=int, help="send no request after this number of tokens")
    add_option("--estimate", action="store_true", help="only print the estimated cost")
    add_compare = command("compare", "models on these games beside Xent games")
    add_compare("run", type=user_path, help="of +experiment=gg_bench")
    add_compare("measured", type=user_path, help="a run of +experiment=measure")
    add_play = command("play", "play against an opponent")
    add_play("game", metavar="GAME", help=GAME)
    add_play("--against", default="mcts", help="random, mcts (default) or mcts@N simulations")
    add_play("--seat", type=int, choices=(1, 2), default=1, help="yours; 1 moves first")
    add_play("--seed", type=int, default=0, help="of cards, dice and the opponent")
    return parser


def games(options: argparse.Namespace, console: Console) -> int:
    """List the games of this package."""
    view = table("Games that ship", "game", "title", "category")
    for game in map(packaged_game, packaged_names()):
        add(view, game.name, game.title, game.category)
    console.print(view)
    return 0


def check(options: argparse.Namespace, console: Console) -> int:
    """Show a game's verdicts; 1 where one refuses it."""
    verdicts = run_filters(find(options.game))
    view = table("Filters", "filter", "verdict", "reason", "seconds")
    for each in verdicts:
        verdict = "passed" if each.passed else "refused"
        add(view, each.stage, verdict, each.reason, f"{each.seconds:.1f}")
    console.print(view)
    return 0 if verdicts[-1].passed else 1


def tables(options: argparse.Namespace, console: Console) -> int:
    """Print every table of the paper from the rows of runs. Raises
    :class:`~archive.ArchiveError`."""
    rows: dict[str, list[Row]] = {}
    for run in options.runs:
        with Archive.open(run) as archive:
            for each in Run.all(archive):
                for name, values in gather(each).items():
                    rows.setdefault(name, []).extend(values)
    if options.json:
        print(to_json(as_json(rows)))
    else:
        console.print(*terminal_tables(rows), sep="\n")
    return 0


def _chosen(options: argparse.Namespace) -> list[ProgramGame]:
    """The games that are named, those of a run, or all that ship."""
    from evo.ggbench.records import Records

    named = [game for name in options.games for game in find_all(name)]
    if options.run:
        with Archive.open(options.run) as archive:
            named += Records(archive, "").games()
    return named or [*map(packaged_game, packaged_names())]


def similarity(options: argparse.Namespace, console: Console) -> int:
    """Each program's highest similarity to another, and the row of Table 5.

    Raises :class:`ConfigError` for fewer than two games, and :class:`~archive.ArchiveError`.
    """
    named = _chosen(options)
    if len(named) < 2:
        raise ConfigError(f"games: found {len(named)}, expected at least 2")
    values = highest([game.source for game in named])
    view = table("Similarity", "game", "highest similarity to another")
    for game, value in zip(named, values, strict=True):
        add(view, game.name, f"{value:.3f}")
    summary = table("Table 5", "mean", "SD", "min", "25 %", "50 %", "75 %", "max")
    add(summary, *(f"{value:.3f}" for value in table_5(values)))
    console.print(view, summary)
    return 0


def clusters(options: argparse.Namespace, console: Console) -> int:
    """Print each cluster with its games, and the games in none.

    Raises :class:`ConfigError`, :class:`~archive.ArchiveError`,
    :class:`~xgl.errors.PlayerError` and :class:`~xgl.errors.BudgetError`.
    """
    from evo.config.measure import ChatConfig
    from evo.ggbench.chat import find_chat_model
    from evo.ggbench.clusters import Clusterer, estimate

    chosen = _chosen(options)
    settings = find_chat_model(options.model, "--model", ChatConfig())
    console.print(estimate(settings, len(chosen)), highlight=False, soft_wrap=True)
    if options.estimate:
        return 0
    try:
        found = Clusterer(settings, options.answers, Budget(tokens=options.tokens)).sort(
            chosen, options.count
        )
    except ValueError as error:
        raise ConfigError(f"count: {error}") from None
    view = table("Kinds of games", "kind", "games", "share", "titles")
    members = [(found.explanations[place], found.belongs[:, place]) for place in found.chosen]
    members.append(("none of these", found.belongs[:, list(found.chosen)].sum(axis=1) == 0))
    for kind, belongs in members:
        titles = [game.title for game, own in zip(chosen, belongs, strict=True) if own]
        add(view, kind, len(titles), f"{len(titles) / len(chosen):.1%}", ", ".join(titles))
    console.print(view)
    summary = f"{found.unclear} answers neither yes nor no; {found.usage.tokens:,} tokens"
    console.print(f"{len(found.explanations)} kinds that differ; {summary}", highlight=False)
    return 0


def comparison(options: argparse.Namespace, console: Console) -> int:
    """Models on programs beside Xent games: one table, and the rank correlation.

    Raises :class:`ConfigError` if the two runs have no player or no game in common, and
    :class:`~archive.ArchiveError`.
    """
    with Archive.open(options.run) as first, Archive.open(options.measured) as second:
        plays, measures = first.rows("gg_plays"), second.rows("measures")
    narms = {(r["policy_id"], (r["game_id"], r["role"])): r["narms"] for r in measures}
    named = {name for name, _ in narms}
    names = list(dict.fromkeys(r["player"] for r in plays if r["player"] in named))
    shared = dict.fromkeys(game for _, game in narms)
    games = [game for game in shared if all((name, game) in narms for name in names)]
    if not names or not games:
        missing = "player" if not names else "Xent game of all players"
        raise ConfigError(
            f"compare: {options.run} and {options.measured} have no {missing} in common, expected "
            "the same names in ggbench.players and players"
        )
    scores = np.array([[narms[name, game] for game in games] for name in names])
    tallies = [tallies_of(plays, name) for name in names]
    title = f"{min(map(len, tallies))} programs, {len(games)} Xent games"
    view = table(title, "player", "win rate", "95 %", "mean narms")
    rows = zip(names, tallies, scores.mean(axis=1), strict=True)
    for name, own, mean in sorted(rows, key=lambda row: -over_plays(row[1])[0]):
        low, high = bootstrap(own)
        add(view, name, f"{over_plays(own)[0]:.3f}", f"{low:.2f} to {high:.2f}", f"{mean:.2f}")
    console.print(view)
    console.print(_agreement(scores, tallies), highlight=False, soft_wrap=True)
    return 0


def _agreement(scores: Scores, tallies: Sequence[Sequence[Tally]]) -> str:
    """Spearman's rho between the two families, in words."""
    if len(scores) < 3 or len(set(map(len, tallies))) > 1:
        return "No rank correlation: that takes three players that have played the same games."
    wins, plays = (np.array([[t[of] for t in each] for each in tallies]) for of in (0, 1))
    agreement = rank_agreement(scores, wins, plays)
    if not np.isfinite(agreement.rho):
        return "No rank correlation: one family does not tell these players apart."
    return (
        f"Spearman's rho over {agreement.models} players: {agreement.rho:+.2f} "
        f"({agreement.low:+.2f} to {agreement.high:+.2f} over draws of the games of both "
        f"families); two-sided p {agreement.p_value:.3f} if the players' order were arbitrary."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
