"""``python -m evo.run +experiment=gg_bench``: games that are programs, opponents, players.

A commit holds everything from one game's filters to its opponent, or all plays of one player on one
game; committed work is not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Self

from rich.console import Console

from archive import Archive, RunEvent
from archive.report.programs import html
from archive.store.disk import write_whole, writing
from archive.views.programs import tables
from evo.config.ggbench import GGBenchConfig, GGBenchRunConfig
from evo.ggbench import author
from evo.ggbench.answers import GameFaultError
from evo.ggbench.author import find_author
from evo.ggbench.box import Box
from evo.ggbench.evaluation import ProgramPlay, new_plays, play_model
from evo.ggbench.filters import digest
from evo.ggbench.game import ProgramGame, find, packaged_names
from evo.ggbench.jobs import (
    Opponent,
    Preparation,
    give_policies,
    limits_of,
    plays_of,
    prepare,
)
from evo.ggbench.opponents import OPTIMAL
from evo.ggbench.players import (
    AgentPlayer,
    ChatMover,
    LocalMover,
    Mover,
    Player,
    ProgramChatPlayer,
    find_player,
)
from evo.ggbench.records import Records, game_row
from evo.jobs.model_host import single_threaded
from evo.jobs.processes import Workers
from evo.measure.players import LocalPlayer
from evo.record.budget import check, remaining
from evo.record.progress import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, Services
from xgl.chat.accounting import Budget
from xgl.chat.settings import ChatSettings
from xgl.errors import ConfigError

PAGE = "ggbench.html"
CHARACTERS_A_TOKEN = 4
BOARD_TOKENS = 80
WRITTEN_TOKENS = 2200
"""Tokens of a prompt for one move, in a game whose texts are as long as the paper's."""
MOVES_A_PLAY = 10
"""Moves of a player in a play, about; the rest of an estimate is counted from the texts."""


def plan_ggbench(config: GGBenchRunConfig, services: Services, resumed: bool) -> GGBenchPlan:
    """Find games and players; raises what each of them raises."""
    settings = config.ggbench
    author = find_author(settings)
    games = tuple(find(name) for name in settings.games or (() if author else packaged_names()))
    players = tuple(find_player(name, settings) for name in settings.players)
    chat_settings = [player.settings for player in players if isinstance(player, ProgramChatPlayer)]
    _check_all(games, players, config, [*chat_settings, *([author] if author else [])])
    return GGBenchPlan(config, services.console, games, players, author)


def _check_all(
    games: Sequence[ProgramGame],
    players: Sequence[Player],
    config: GGBenchRunConfig,
    chat_settings: Sequence[ChatSettings],
) -> None:
    names = [game.name for game in games]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"ggbench.games: {twice[0]!r} is listed twice")
    player_names = [player.name for player in players]
    if twice := [name for name in player_names if player_names.count(name) > 1]:
        raise ConfigError(f"ggbench.players: {twice[0]!r} is listed twice")
    if config.budget.dollars is not None and not any(each.prices for each in chat_settings):
        raise ConfigError(
            "budget.dollars: found an amount and no price of a chat model, expected "
            "ggbench.chat.prices={MODEL:[prompt,answer]}"
        )


@dataclass(frozen=True)
class GGBenchPlan:
    """A validated run."""

    config: GGBenchRunConfig
    console: Console
    games: tuple[ProgramGame, ...]
    players: tuple[Player, ...]
    author: ChatSettings | None = None

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return self.config.folder

    def announce(self) -> bool:
        """Print what will be done, and what chat models may cost; False if the user wants only the
        estimate."""
        settings = self.config.ggbench
        count = len(self.games) + (settings.count if self.author else 0)
        lines = [
            f"{count} games, {settings.train.steps} steps of self-play each; "
            f"{settings.plays} plays each of {', '.join(p.name for p in self.players)}"
        ]
        if self.author:
            lines.append(author.estimate(self.author, settings.count))
        for player in self.players:
            if isinstance(player, ProgramChatPlayer):
                lines.append(estimate(player, self.games, count, settings))
        for text in lines:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)
        return not self.config.estimate

    def session(self, archive: Archive) -> GGBenchSession:
        """A session with what the archive holds."""
        return GGBenchSession(self, archive)


class GGBenchSession:
    """Does what is not in the archive yet."""

    def __init__(self, plan: GGBenchPlan, archive: Archive) -> None:
        self.plan, self.config, self.console = plan, plan.config, plan.console
        self.settings, self.lines = plan.config.ggbench, TimedLines(plan.console)
        run_ids = [row["run_id"] for row in archive.rows("runs", ["run_id"])]
        run_id = str(run_ids[0]) if run_ids else f"{self.config.name}-{self.config.science_hash()}"
        config_json = json.dumps(asdict(self.config), sort_keys=True)
        science = self.config.science_hash()
        self.identity = RunIdentity(run_id, self.config.seed, config_json, science)
        self.records = Records(archive, run_id)
        self.workers = Workers(self.settings.workers, "ggbench.workers")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.workers.close()

    def work(self) -> RunOutcome:
        """Raises :class:`~xgl.errors.PlayerError` and :class:`~meta_sampler.BudgetReachedError`."""
        self._begin()
        self._prepare_all()
        for player in self.plan.players:
            self._play_all(player)
        message = "every player has met every opponent"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def higher_budget(self) -> tuple[str, ...]:
        """The budgets that are set, doubled."""
        limits = asdict(self.config.budget)
        return tuple(f"budget.{name}={2 * limit:g}" for name, limit in limits.items() if limit)

    def show(self, outcome: RunOutcome) -> None:
        """Print tables of the results so far, and write a page."""
        for part in tables(self.records.rows):
            self.console.print(part)
        path = write_page(self.plan.folder, self.records)
        self.console.print(f"page     {path}", highlight=False, markup=False, soft_wrap=True)

    def commands(self) -> Sequence[tuple[str, str]]:
        """The command that inspects the archive."""
        return (("inspect", f"python -m archive inspect {self.plan.folder}"),)

    # -- games ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        """The games of the run are rows before anything else; a resumed run takes them from
        there."""
        if self.plan.games and not self.records.rows["gg_games"]:
            rows = [game_row(game, index) for index, game in enumerate(self.plan.games)]
            self.records.commit(gg_games=rows)
        if self.plan.author:
            self._write_games(self.plan.author)

    def _write_games(self, settings: ChatSettings) -> None:
        """Write games in groups of the request limit, one commit for each group."""
        first = len(self.plan.games)
        archived_places = {row["place"] for row in self.records.rows["gg_games"]}
        waiting = [n for n in range(self.settings.count) if first + n not in archived_places]
        for start in range(0, len(waiting), settings.concurrency):
            numbers = waiting[start : start + settings.concurrency]
            writer = author.Author(settings, self.plan.folder / "answers", self._remaining_budget())
            written_games = writer.write(numbers)
            places = [first + number for number in numbers]
            self.records.add_games(written_games, places, bool(settings.prices))
            for each in written_games:
                self.lines.say(
                    f"{each.game.title}, by {settings.model}: {each.failure or 'written'}"
                )
            self._check_budget()

    def _prepare_all(self) -> None:
        games = self.records.games()
        waiting = [game for game in games if not self.records.verdicts(game)]
        jobs = [(game, self._preparation(games, game)) for game in waiting]
        for number, (game, preparation) in enumerate(self.workers.compute(jobs), start=1):
            self.records.add_preparation(game, preparation, self.config.seed)
            last = preparation.verdicts[-1]
            state = last.reason if last.passed else f"refused: {last.stage}: {last.reason}"
            self.lines.say(f"game {number} of {len(waiting)}, {game.title}: {state}")
            self._check_budget()

    def _preparation(
        self, games: Sequence[ProgramGame], game: ProgramGame
    ) -> Callable[[], Preparation]:
        place, trials = games.index(game), self.settings.opponent.null_trials
        known_digests = tuple(digest(each.source) for each in games[:place])
        own = range(trials * place // len(games), trials * (place + 1) // len(games))
        return partial(prepare, game, known_digests, self.settings, self.config.seed, own)

    # -- plays ---------------------------------------------------------------------------------

    def _play_all(self, player: Player) -> None:
        pairs = [(game, self.records.opponent(game)) for game in self.records.games()]
        waiting = [
            (game, opponent)
            for game, opponent in pairs
            if opponent and not self.records.has_plays(game, player.name)
            if player.name != OPTIMAL or self.records.is_solved(game)
        ]
        if isinstance(player, AgentPlayer):
            jobs = [(pair, self._agent_plays(*pair, player)) for pair in waiting]
            for (game, opponent), plays in self.workers.compute(jobs):
                self._commit(game, opponent, player, plays)
        elif waiting:
            with self._mover(player) as mover:
                for game, opponent in waiting:
                    self._commit(game, opponent, player, self._model_plays(game, opponent, mover))
        if waiting or not any(r["player"] == player.name for r in self.records.rows["gg_scores"]):
            self.records.add_score(player.name)

    def _agent_plays(
        self, game: ProgramGame, opponent: Opponent, player: AgentPlayer
    ) -> Callable[[], list[ProgramPlay]]:
        weights = self.records.weights(game)
        arguments = (game, weights, player.agent, opponent, self.settings, self.config.seed)
        return partial(plays_of, *arguments)

    def _model_plays(
        self, game: ProgramGame, opponent: Opponent, mover: Mover
    ) -> list[ProgramPlay]:
        plays = new_plays(game.game_id, self.settings.plays, self.config.seed)
        try:
            with Box(game, limits_of(self.settings)) as box:
                give_policies(box, self.records.weights(game))
                if opponent.name == "optimal":
                    box.solve(self.settings.opponent.most_positions, self.settings.seconds)
                play_model(box, mover, opponent.agent, plays)
        except GameFaultError as fault:
            for play in plays:
                if play.outcome is None:
                    play.outcome, play.reason = "broken", str(fault)
        return plays

    @contextmanager
    def _mover(self, player: LocalPlayer | ProgramChatPlayer) -> Iterator[Mover]:
        if isinstance(player, LocalPlayer):
            single_threaded()
            with player.load("auto", "cpu") as lm:
                yield LocalMover(lm, self.config.seed, player.temperature)
            return
        folder = self.plan.folder / "answers"
        yield ChatMover(player.settings, self.settings.attempts, folder, self._remaining_budget())

    def _commit(
        self, game: ProgramGame, opponent: Opponent, player: Player, plays: Sequence[ProgramPlay]
    ) -> None:
        if plays:
            self.records.add_plays(game, player, opponent, plays)
            wins = sum(play.outcome == "win" for play in plays)
            self.lines.say(f"{player.name} on {game.title}: {wins} of {len(plays)}")
            self._check_budget()

    # -- budget -------------------------------------------------------------------------------

    def _remaining_budget(self) -> Budget:
        return remaining(self.config.budget, self.records.total_cost())

    def _check_budget(self) -> None:
        check(self.config.budget, self.records.total_cost())


# -- what chat players may cost, and the page ------------------------------------------------------


def estimate(
    player: ProgramChatPlayer, games: Sequence[ProgramGame], count: int, settings: GGBenchConfig
) -> str:
    """Estimated cost of a chat player's requests, in words; ``count``: number of games, those still
    to be written included."""
    prompt = sum((len(g.rules) + len(g.moves)) // CHARACTERS_A_TOKEN + BOARD_TOKENS for g in games)
    prompt += WRITTEN_TOKENS * (count - len(games))
    requests = MOVES_A_PLAY * settings.plays * count
    tokens = prompt * MOVES_A_PLAY * settings.plays
    cost = ""
    if player.settings.prices:
        dollars = player.settings.prices.of(tokens, 3 * requests)
        cost = f", about {dollars:.2f} dollars"
    return (
        f"{player.name}: about {requests:,} requests, {tokens:,} prompt tokens{cost}; at most "
        f"{settings.attempts} times that if it gives no legal number"
    )


def write_page(folder: Path, records: Records) -> Path:
    """Write the page into the run folder. Raises :class:`archive.WriteError`."""
    path = folder / PAGE
    with writing(path):
        write_whole(path, html(records.rows, records.run_id).encode())
    return path
