"""``python -m evo.ggbench``: inspect games that are programs, and play them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.markdown import Markdown

from archive import Archive, ArchiveError, Run
from archive.statistics.programs import Row, as_json, gather, highest, table_5
from archive.views.tables import add, table, terminal_tables, to_json
from evo.ggbench.box import Box, GameFaultError, agent_named
from evo.ggbench.filters import run_filters
from evo.ggbench.game import ProgramGame, find, find_all, packaged_game, packaged_names
from xgl import streams
from xgl.chat.settings import Budget
from xgl.console import Console
from xgl.errors import ConfigError, PlayerError
from xgl.escaping import visible_lines
from xgl.paths import user_path

GAME = "a game that ships, or a folder with rules.md, env.py and moves.md"
ENDS = {1: "You win.", -1: "You lose.", 0: "Nobody wins."}


@streams.command
def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, 1 for a game that is refused, 2 for a user's error, 130 after
    Ctrl-C."""
    streams.prepare_streams()
    try:
        options = _parser().parse_args(arguments)
        console = Console()
        commands = {"games": games, "check": check, "play": play, "tables": tables}
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
        ("clusters", "kinds of games, as a chat model reads them"),
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
    add_play = command("play", "play against an opponent")
    add_play("game", metavar="GAME", help=GAME)
    add_play("--against", default="mcts", help="random, mcts (default) or mcts@N simulations")
    add_play("--seat", type=int, choices=(1, 2), default=1, help="yours; 1 moves first")
    add_play("--seed", type=int, default=0, help="of cards, dice and the opponent's luck")
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


def play(options: argparse.Namespace, console: Console) -> int:
    """A person plays against an agent. What a game says may be a stranger's: nothing of it moves
    the cursor. Raises :class:`ConfigError` and :class:`~evo.ggbench.box.GameFaultError`."""
    game, opponent = find(options.game), agent_named(options.against)
    if opponent is None:
        expected = "random, mcts or mcts@N, such as mcts@25"
        raise ConfigError(f"--against: found {options.against!r}, expected {expected}")

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False)

    with Box(game) as box:
        for text in (game.rules, f"**Moves.** {game.moves}"):
            console.print(Markdown(visible_lines(text), hyperlinks=False))
        say(f"\nYou are player {options.seat}; player 1 moves first. q leaves.")
        view, moves = box.new(options.seed), 0
        while view.result is None:
            say(f"\n{visible_lines(view.text)}")
            if view.mover != options.seat - 1:
                move = box.choose(opponent, options.seed + moves, seconds=60.0)
                say(f"the opponent plays {move}")
            elif (answer := _answer(view.legal, say)) is None:
                say("You left the game.")
                return 0
            else:
                move = answer
            view, moves = box.play(move), moves + 1
    say(f"\n{visible_lines(view.text)}\n{ENDS[view.result if options.seat == 1 else -view.result]}")
    return 0


def _answer(legal: Sequence[int], say: Callable[[str], None]) -> int | None:
    """A person's legal move; None: they leave."""
    listed = ", ".join(map(str, legal))
    say(f"legal moves: {listed}")
    while True:
        try:
            answer = input("your move: ").strip()
        except (EOFError, RuntimeError):  # the end of a file, or no input at all
            return None
        except UnicodeDecodeError:
            answer = "what is no text"
        if not sys.stdin.isatty():  # a file's line would not be seen otherwise
            print(answer)
        if answer.lower() in ("q", "quit", "exit"):
            return None
        if answer.isascii() and answer.isdecimal() and int(answer) in legal:
            return int(answer)
        say(f"{answer!r} is not a legal move, expected one of: {listed}")


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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
