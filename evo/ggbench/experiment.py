"""``python -m evo.run +experiment=gg_bench``: games that are programs, opponents, players.

A commit holds one game's filters, one game's self-play and search for an opponent, or all plays of
one player on one game; committed work is not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from rich.console import Console

from archive import Archive, RunEvent
from archive.statistics.programs import NAMES, confirmed_pair
from archive.views.tables import terminal_tables
from evo.config.ggbench import GGBenchConfig, GGBenchRunConfig
from evo.ggbench import authors
from evo.ggbench.benchmark import (
    AgentPlayer,
    ChatMover,
    LocalMover,
    Mover,
    Player,
    ProgramPlay,
    find_player,
    new_plays,
    play_agent,
    play_model,
)
from evo.ggbench.box import Agent, Box, BoxLimits, GameFaultError
from evo.ggbench.chat import expense, find_chat_model
from evo.ggbench.filters import FilterVerdict, digest, model_timeout, run_filters
from evo.ggbench.game import ProgramGame, find_all, packaged
from evo.ggbench.selfplay import (
    Checkpoint,
    Pairing,
    find_opponent,
    keep_policies,
    opponent_verdict,
    searching,
    train,
)
from evo.jobs.model_host import single_threaded
from evo.jobs.processes import Workers
from evo.measure.players import LocalPlayer, RemotePlayer
from evo.record.budget import Cost, budget_limits, check, raised, remaining
from evo.record.display import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, RunPlan, RunSession, Services, shown
from xgl.chat.calls import ask_once
from xgl.chat.settings import Budget, ChatSettings, Usage
from xgl.errors import ConfigError

CHARACTERS_A_TOKEN, BOARD_TOKENS, WRITTEN_TOKENS, MOVES_A_PLAY = 4, 80, 2200, 10
"""Of an estimate: tokens of a board, tokens of a prompt for one move in a game whose texts are as
long as the paper's, and moves of a player in a play; the rest is counted from the texts."""
MOST_OF_A_STEP = 1 << 16
"""Bytes of an answer for each step of the learner, at the largest observations and spaces."""
LEARNING = (60.0, 0.02)
"""Most seconds of a game's answers in self-play, and for each step; a good game takes 0.0005."""


def plan_ggbench(config: GGBenchRunConfig, services: Services, resumed: bool) -> GGBenchPlan:
    """Find games and players; raises what each of them raises."""
    settings = config.ggbench
    models = {}
    for key in ("author", "filter_model"):
        if name := getattr(settings, key):
            models[key] = find_chat_model(name, f"ggbench.{key}", settings.chat)
    if "author" in models:
        models["author"] = replace(models["author"], answer_tokens=settings.author_tokens)
    names = settings.games or (() if settings.author else tuple(packaged()))
    games = tuple(game for name in names for game in find_all(name))
    players = tuple(find_player(name, settings) for name in settings.players)
    for key, named in (("games", games), ("players", players)):
        each_name = [each.name for each in named]
        if twice := [name for name in each_name if each_name.count(name) > 1]:
            raise ConfigError(f"ggbench.{key}: {twice[0]!r} is listed twice")
    chats = [*models.values(), *(p.settings for p in players if isinstance(p, RemotePlayer))]
    if config.budget.dollars is not None and not any(each.prices for each in chats):
        raise ConfigError(
            "budget.dollars: found an amount and no price of a chat model, expected "
            "ggbench.chat.prices={MODEL:[prompt,answer]}"
        )
    if not (config.estimate or resumed):
        ask_once(chats)
    return GGBenchPlan(config, services.console, games, players, models, resumed)


@dataclass(frozen=True)
class GGBenchPlan(RunPlan):
    """A validated run. ``models``: the author and the filter's model, by their settings."""

    config: GGBenchRunConfig
    console: Console
    games: tuple[ProgramGame, ...]
    players: tuple[Player, ...]
    models: Mapping[str, ChatSettings]
    resumed: bool = False

    def announce(self) -> bool:
        """Print what will be done, and what chat models may cost; False if the user wants only the
        estimate."""
        settings = self.config.ggbench
        written = settings.count if "author" in self.models else 0
        names = ", ".join(player.name for player in self.players)
        lines = [
            f"{len(self.games) + written} games, {settings.train.steps} steps of self-play each; "
            f"{settings.plays} plays each of {names}"
        ]
        if written:
            lines.append(authors.estimate(self.models["author"], written))
        playing = [each for each in self.players if isinstance(each, RemotePlayer)]
        asked = [(each.name, each.settings, settings.plays) for each in playing]
        if model := self.models.get("filter_model"):
            asked.insert(0, ("the filter", model, settings.filter_plays))
        for name, model, plays in asked:
            lines.append(f"{name}: about {self._expense(model, plays, written)}")
        for text in lines:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)
        return not self.config.estimate

    def _expense(self, model: ChatSettings, plays: int, written: int) -> str:
        """Estimated cost of a chat model's plays of each game, those still to be written
        included."""
        moves = MOVES_A_PLAY * plays
        texts = sum(len(game.rules) + len(game.moves) for game in self.games)
        prompt = texts // CHARACTERS_A_TOKEN + BOARD_TOKENS * len(self.games)
        requests = moves * (len(self.games) + written)
        cost = expense(model, requests, (prompt + WRITTEN_TOKENS * written) * moves, 3 * requests)
        attempts = self.config.ggbench.attempts
        return f"{cost}; at most {attempts} times that if it gives no legal number"

    def session(self, archive: Archive) -> GGBenchSession:
        """A session with what the archive holds."""
        return GGBenchSession(self, archive)


Row = dict[str, Any]
Values = Sequence[Row | FilterVerdict | Pairing]


class Records:
    """Reads a run's rows once, then keeps up with what it commits itself."""

    def __init__(self, archive: Archive, run_id: str) -> None:
        self.archive, self.run_id = archive, run_id
        self.rows: dict[str, list[Row]] = {name: archive.rows(name) for name in NAMES}

    def commit(self, game: ProgramGame | None = None, **tables: Values) -> None:
        """One commit of rows, given without the run's id and the game's: mappings, verdicts or
        pairs. Raises :class:`archive.ArchiveError`."""
        ids = {"run_id": self.run_id} | ({"program_id": game.game_id} if game else {})
        complete = {
            name: [ids | (v if isinstance(v, dict) else asdict(v)) for v in values]
            for name, values in tables.items()
            if values
        }
        self.archive.commit(complete)
        for name, rows in complete.items():
            self.rows[name] += rows

    def of(self, table: str, game: ProgramGame) -> list[Row]:
        """A game's rows."""
        return [row for row in self.rows[table] if row["program_id"] == game.game_id]

    def games(self) -> list[ProgramGame]:
        """Games in their order, without those for which a request failed."""
        rows = sorted(self.rows["gg_games"], key=lambda row: row["place"])
        names = ("name", "rules", "source", "moves", "category", "author")
        return [ProgramGame(*(r[name] for name in names)) for r in rows if r["failed"] is None]

    def last_verdict(self, game: ProgramGame) -> Row | None:
        """The verdict of the last filter that the game came to."""
        return next(reversed(self.of("gg_filters", game)), None)

    def opponent(self, game: ProgramGame) -> str | None:
        """The game's opponent, a checkpoint; None if none was confirmed."""
        ids = {"run_id": self.run_id, "program_id": game.game_id}
        pair = confirmed_pair(self.rows, ids)
        return str(pair["loser"]) if pair else None

    def waits_for(self, game: ProgramGame, player: str) -> bool:
        """Whether the game has an opponent and no plays of a player, which are committed all at
        once."""
        played = any(row["player"] == player for row in self.of("gg_plays", game))
        return not played and self.opponent(game) is not None

    def weights(self, game: ProgramGame) -> dict[int, bytes]:
        """Weights of the game's checkpoints, by quarter."""
        rows = self.of("gg_agents", game)
        return {row["quarter"]: self.archive.get_adapter(row["weights_sha256"]) for row in rows}

    def total_cost(self) -> Cost:
        """The cost of the work in all sessions."""
        rows = [row for table in self.rows.values() for row in table]
        return Cost(
            sum(row.get("tokens") or 0 for row in rows),
            sum(row.get("seconds") or 0.0 for row in rows),
            sum(row.get("dollars") or 0.0 for row in rows),
        )


class GGBenchSession(RunSession):
    """Does what is not in the archive yet."""

    def __init__(self, plan: GGBenchPlan, archive: Archive) -> None:
        self.plan, self.config = plan, plan.config
        self.settings, self.lines = plan.config.ggbench, TimedLines(plan.console)
        self.identity = RunIdentity.of(self.config, self.config.name, archive)
        self.records = Records(archive, self.identity.run_id)
        self.workers = Workers(self.settings.workers, "ggbench.workers")

    def __exit__(self, *_: object) -> None:
        self.workers.close()

    def work(self) -> RunOutcome:
        """Raises :class:`~xgl.errors.PlayerError` and :class:`~meta_sampler.BudgetReachedError`."""
        # games are rows before anything else; a resumed run takes them from there
        if self.plan.games and not self.records.rows["gg_games"]:
            rows = [game_row(game, index) for index, game in enumerate(self.plan.games)]
            self.records.commit(gg_games=rows)
        if self.plan.resumed:
            remote_players = [p for p in self.plan.players if isinstance(p, RemotePlayer)]
            ask_once(p.settings for p in remote_players if self._may_play(p))
        if model := self.plan.models.get("author"):
            self._write_games(model)
        self._filter_all()
        self._prepare_all()
        for player in self.plan.players:
            self._play_all(player)
        return RunOutcome(RunEvent.FINISHED, 0, "every player has met every opponent", None)

    def higher_budget(self) -> tuple[str, ...]:
        """The budgets that are set, doubled."""
        return raised(budget_limits(self.config.budget), self.records.total_cost())

    def show(self, outcome: RunOutcome) -> None:
        """Print tables of the results so far."""
        for part in terminal_tables(self.records.rows):
            self.plan.console.print(part)

    def commands(self) -> Sequence[tuple[str, str]]:
        """The commands that show the archive."""
        run, page = self.plan.folder, Path(f"{self.plan.folder}.html")
        force = " --force" if page.exists() else ""
        report = f"python -m archive report {shown(run)} -o {shown(page)}{force}"
        inspect = ("inspect", f"python -m archive inspect {shown(run)}")
        return (inspect, ("report", report)) if self.records.rows["gg_games"] else (inspect,)

    def _done(self, line: str) -> None:
        """Say what was committed. Raises :class:`~meta_sampler.BudgetReachedError`."""
        self.lines.say(line)
        check(self.config.budget, self.records.total_cost())

    # -- games ---------------------------------------------------------------------------------

    def _write_games(self, settings: ChatSettings) -> None:
        """Write games in groups of the request limit, one commit for each group. A game whose texts
        are another's counts as failed."""
        first = len(self.plan.games)
        archived_places = {row["place"] for row in self.records.rows["gg_games"]}
        waiting = [n for n in range(self.settings.count) if first + n not in archived_places]
        names = {row["program_id"]: row["name"] for row in self.records.rows["gg_games"]}
        for start in range(0, len(waiting), settings.concurrency):
            numbers = waiting[start : start + settings.concurrency]
            writer = authors.Author(settings, self._answers, self._remaining_budget())
            rows = []
            for number, (game, failure, usage) in zip(numbers, writer.write(numbers), strict=True):
                known = game.name if failure else names.setdefault(game.game_id, game.name)
                if known != game.name:
                    failure = f"known: its three texts are those of {known}"
                    game = replace(game, rules="", source="", moves="")
                row = game_row(game, first + number, failure)
                rows.append({**row, **_paid(usage, bool(settings.prices))})
            self.records.commit(gg_games=rows)
            for row in rows:
                self.lines.say(f"{row['title']}, by {settings.model}: {row['failed'] or 'written'}")
            check(self.config.budget, self.records.total_cost())

    def _filter_all(self) -> None:
        games = self.records.games()
        digests = [digest(game.source) for game in games]
        limits, jobs = _limits(self.settings), []
        for place, game in enumerate(games):
            if self.records.last_verdict(game) is None:
                known = tuple(digests[:place])
                jobs.append((game, partial(run_filters, game, known, limits, self.config.seed)))
        for game, verdicts in self.workers.compute(jobs):
            if verdicts[-1].passed and (model := self.plan.models.get("filter_model")):
                mover = self._chat_mover(model)
                plays = self.settings.filter_plays
                verdict = model_timeout(game, mover, plays, limits, self.config.seed)
                dollars = verdict.dollars if model.prices else None
                verdicts = [*verdicts, replace(verdict, dollars=dollars)]
            self.records.commit(game, gg_filters=verdicts)
            self._done(f"{game.title}: {_state(verdicts[-1])}")

    def _prepare_all(self) -> None:
        jobs = []
        for game in self.records.games():
            last = self.records.last_verdict(game)
            if last and last["passed"] and last["stage"] != "opponent":
                jobs.append((game, partial(prepare, game, self.settings, self.config.seed)))
        for game, (verdicts, checkpoints, pairings) in self.workers.compute(jobs):
            agents = [
                {
                    **{name: value for name, value in vars(each).items() if name != "weights"},
                    "weights_sha256": self.records.archive.put_adapter(each.weights),
                    "seed": self.config.seed,
                }
                for each in checkpoints
            ]
            self.records.commit(game, gg_filters=verdicts, gg_agents=agents, gg_pairs=pairings)
            self._done(f"{game.title}: {_state(verdicts[-1])}")

    # -- plays ---------------------------------------------------------------------------------

    def _may_play(self, player: Player) -> bool:
        """Whether a game waits for the player's plays, or for its own filters."""
        return any(
            self.records.last_verdict(game) is None or self.records.waits_for(game, player.name)
            for game in self.records.games()
        )

    def _play_all(self, player: Player) -> None:
        waiting = []
        for game in self.records.games():
            opponent = self.records.opponent(game)
            if opponent and self.records.waits_for(game, player.name):
                facts = game, self.records.weights(game), opponent, self.settings, self.config.seed
                waiting.append((game, partial(plays_of, *facts)))
        if isinstance(player, AgentPlayer):
            jobs = [(game, partial(job, player.agent)) for game, job in waiting]
            for game, plays in self.workers.compute(jobs):
                self._add_plays(game, player, plays)
        elif waiting:
            with self._mover(player) as mover:
                for game, job in waiting:
                    self._add_plays(game, player, job(mover))

    @contextmanager
    def _mover(self, player: LocalPlayer | RemotePlayer) -> Iterator[Mover]:
        if isinstance(player, RemotePlayer):
            yield self._chat_mover(player.settings)
            return
        single_threaded()
        with player.load("auto", "cpu") as lm:
            yield LocalMover(lm, self.config.seed, player.temperature)

    def _add_plays(self, game: ProgramGame, player: Player, plays: Sequence[ProgramPlay]) -> None:
        opponent = f"{self.records.opponent(game)}@{self.settings.opponent.simulations}"
        is_priced = isinstance(player, RemotePlayer) and bool(player.settings.prices)
        rows = []
        for play in plays:
            facts = {name: value for name, value in vars(play).items() if name != "usage"}
            asked = play.usage.requests or None
            cost = _paid(play.usage, is_priced) if asked else {"tokens": None, "dollars": None}
            names = {"player": player.name, "opponent": opponent}
            rows.append({**names, **facts, "asked": asked, **cost})
        self.records.commit(game, gg_plays=rows)
        wins = sum(play.outcome == "win" for play in plays)
        self._done(f"{player.name} on {game.title}: {wins} of {len(plays)}")

    # -- chat models ---------------------------------------------------------------------------

    def _chat_mover(self, model: ChatSettings) -> ChatMover:
        budget = self._remaining_budget()
        return ChatMover(model, self.settings.attempts, self._answers, budget)

    @property
    def _answers(self) -> Path:
        return self.plan.folder / "answers"

    def _remaining_budget(self) -> Budget:
        return remaining(self.config.budget, self.records.total_cost())


def game_row(game: ProgramGame, place: int, failure: str | None = None) -> Row:
    """The row of ``gg_games`` of a game that cost nothing, but for the run."""
    facts = {"program_id": game.game_id, "title": game.title, "place": place, "failed": failure}
    return {**facts, **asdict(game), "tokens": None, "dollars": None}


def _paid(usage: Usage, is_priced: bool) -> dict[str, Any]:
    return {"tokens": usage.tokens, "dollars": usage.dollars if is_priced else None}


def _state(verdict: FilterVerdict) -> str:
    return verdict.reason if verdict.passed else f"refused: {verdict.stage}: {verdict.reason}"


# -- work on one game without the archive: functions of the game, settings and seed ----------------


def _limits(config: GGBenchConfig) -> BoxLimits:
    """Limits of one job's box."""
    answers = BoxLimits().answers + config.train.steps * MOST_OF_A_STEP
    return BoxLimits(total=config.seconds, cpu=int(config.seconds) + 60, answers=answers)


def prepare(
    game: ProgramGame, config: GGBenchConfig, run_seed: int
) -> tuple[list[FilterVerdict], list[Checkpoint], list[Pairing]]:
    """Self-play and the search for an opponent, as far as they went. Raises
    :class:`~evo.ggbench.box.NoLockError`."""
    verdicts: list[FilterVerdict] = []
    checkpoints: list[Checkpoint] = []
    pairings: list[Pairing] = []
    began = monotonic()

    def judge(stage: str, passed: bool, reason: str) -> None:
        nonlocal began
        verdicts.append(FilterVerdict(stage, passed, reason, monotonic() - began))
        began = monotonic()

    limits = _limits(config)
    learning = LEARNING[0] + LEARNING[1] * config.train.steps
    try:
        with Box(game, replace(limits, total=min(limits.total, learning))) as box:
            checkpoints += train(box, config.train, run_seed)
            judge("training", True, f"{checkpoints[-1].steps} steps without an error")
        with Box(game, limits) as box:
            keep_policies(box, {each.quarter: each.weights for each in checkpoints})
            pairings += find_opponent(box, config.opponent, run_seed)
            judge("opponent", *opponent_verdict(pairings))
    except GameFaultError as fault:
        judge("opponent" if checkpoints else "training", False, str(fault))
    return verdicts, checkpoints, pairings


def plays_of(
    game: ProgramGame,
    weights: Mapping[int, bytes],
    opponent: str,
    config: GGBenchConfig,
    run_seed: int,
    player: Agent | Mover,
) -> list[ProgramPlay]:
    """All plays of an agent of the box, or of a model. Raises what the model's endpoint raises."""
    plays = new_plays(game.game_id, config.plays, run_seed)
    against = searching(opponent, config.opponent.simulations)
    try:
        with Box(game, _limits(config)) as box:
            keep_policies(box, weights)
            if isinstance(player, Mapping):
                play_agent(box, player, against, plays)
            else:
                play_model(box, player, against, plays)
    except GameFaultError as fault:
        for play in plays:
            play.break_off(fault)
    return plays
