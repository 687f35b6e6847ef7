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

import numpy as np
import torch

from archive import Archive, RunEvent
from archive.statistics.programs import NAMES, confirmed_pair
from archive.text import plural
from archive.views.tables import terminal_tables
from evo.config.measure import GGBenchConfig, GGBenchRunConfig
from evo.ggbench import benchmark, selfplay
from evo.ggbench.benchmark import ChatMover, Player, ProgramPlay
from evo.ggbench.box import Box, BoxLimits, GameFaultError, searching
from evo.ggbench.chat import Author, Clusterer, usage_row
from evo.ggbench.filters import FilterVerdict, digest, model_timeout, run_filters
from evo.ggbench.game import ProgramGame, find_all, packaged
from evo.ggbench.selfplay import Checkpoint, Pairing
from evo.jobs.evaluation import Row
from evo.jobs.job import Workers
from evo.measure.players import LocalPlayer, RemotePlayer, find_player as find_model
from evo.record.budget import Cost, budget_limits, check, check_prices, raised, remaining
from evo.record.display import TimedLines
from evo.record.run_folder import RunIdentity
from evo.runner import Plan, RunOutcome, RunSession, Services, reading_commands
from xgl.chat.client import ask_once
from xgl.chat.settings import ChatSettings, Usage
from xgl.console import Console
from xgl.errors import ConfigError, PlayerError
from xgl.models.references import ChatName, parse

AUTHOR_TOKENS = 8192
"""Least limit of what an author writes, and a sorter of games: longer than a player's answer."""


def plan_ggbench(config: GGBenchRunConfig, services: Services, resumed: bool) -> Plan:
    """Find games and players; raises what each of them raises."""
    settings, models = config.ggbench, dict[str, ChatSettings]()
    for key in ("author", "filter_model", "cluster_model"):
        if name := getattr(settings, key):
            if not isinstance(parse(name, f"ggbench.{key}"), ChatName):
                expected = "expected chat:MODEL or chat:MODEL@URL"
                raise ConfigError(f"ggbench.{key}: found {name!r}, {expected}")
            model = find_model(name, settings.chat, f"ggbench.{key}")
            assert isinstance(model, RemotePlayer)
            models[key] = model.settings
    if settings.clusters and not settings.cluster_model:
        found = f"ggbench.clusters: found {settings.clusters} without ggbench.cluster_model"
        raise ConfigError(f"{found}, expected the model that sorts the games")
    for key in models.keys() & {"author", "cluster_model"}:
        tokens = max(AUTHOR_TOKENS, settings.chat.answer_tokens)
        models[key] = replace(models[key], answer_tokens=tokens)
    names = settings.games or (() if settings.author else tuple(packaged()))
    games = {game.game_id: game for name in names for game in find_all(name)}
    players = [benchmark.find_player(name, settings) for name in settings.players]
    chats = [*models.values(), *(p.settings for p in players if isinstance(p, RemotePlayer))]
    check_prices(config.budget, chats, "ggbench.chat.prices={MODEL:[prompt,answer]}")
    if not resumed:
        ask_once(chats)
    text = plural(len(games) + settings.count * ("author" in models), "game")
    if players:
        text += f", {settings.train.steps} steps of self-play each; {settings.plays} plays each of "
        text += ", ".join(settings.players)
    facts = [*games.values()], players, models
    return text, partial(GGBenchSession, config, services.console, *facts)


def games_of(rows: Sequence[Row]) -> list[ProgramGame]:
    """The games of rows of ``gg_games`` in their order, without those that lack a text."""
    names = ("name", "rules", "source", "moves", "category", "author")
    complete = [r for r in sorted(rows, key=lambda row: row["place"]) if r["failed"] is None]
    return [ProgramGame(*(row[name] for name in names)) for row in complete]


@dataclass(eq=False)
class GGBenchSession(RunSession):
    """Does what is not in the archive yet; ``models``: the author, the filter's and the clusters'
    model, by their settings; ``rows``: those of the archive, with what the session commits."""

    config: GGBenchRunConfig
    console: Console
    games: Sequence[ProgramGame]
    players: Sequence[Player]
    models: Mapping[str, ChatSettings]
    archive: Archive

    def __post_init__(self) -> None:
        self.settings, self.seed = self.config.ggbench, self.config.seed
        self.lines = TimedLines(self.console)
        self.identity = RunIdentity.of(self.config, self.config.name, self.archive)
        self.rows: dict[str, list[Row]] = {name: self.archive.rows(name) for name in NAMES}
        self.workers = Workers(self.settings.workers, "ggbench.workers")
        self.limits = BoxLimits(total=self.settings.seconds)

    def __exit__(self, *_: object) -> None:
        self.workers.close()

    def work(self) -> RunOutcome:
        """Raises :class:`~xgl.errors.PlayerError` and :class:`~xgl.errors.BudgetError`."""
        check(self.config.budget, self._cost())
        # games are rows before anything else; a resumed run takes them from there
        if self.games and not self.rows["gg_games"]:
            self._commit(gg_games=[_game_row(game, index) for index, game in enumerate(self.games)])
        if model := self.models.get("author"):
            self._write_games(model)
        self._filter_all()
        if self.players:
            self._prepare_all()
        for player in self.players:
            self._play_all(player)
        model, written = self.models.get("cluster_model"), games_of(self.rows["gg_games"])
        if model and written:
            self._sort(model, written)
        done = "every player has met every opponent" if self.players else "every game is filtered"
        return RunOutcome(RunEvent.FINISHED, 0, done, None)

    def higher_budget(self) -> tuple[str, ...]:
        """The budgets that are set, doubled."""
        return raised(budget_limits(self.config.budget), self._cost())

    def show(self, outcome: RunOutcome) -> None:
        for part in terminal_tables(self.rows):
            self.console.print(part)

    def commands(self) -> Sequence[tuple[str, str]]:
        has_report = bool(self.rows["gg_games"])
        return [*reading_commands(self.config.folder, has_report).items()]

    def _commit(
        self, game: ProgramGame | None = None, **tables: Sequence[Row | FilterVerdict | Pairing]
    ) -> None:
        """One commit of rows, given without the run's id and the game's. Raises
        :class:`archive.ArchiveError`."""
        ids = {"run_id": self.identity.run_id} | ({"program_id": game.game_id} if game else {})
        complete = {
            name: [ids | (v if isinstance(v, dict) else asdict(v)) for v in values]
            for name, values in tables.items()
        }
        self.archive.commit(complete)
        for name, rows in complete.items():
            self.rows[name] += rows

    def _done(self, line: str) -> None:
        """Say what was committed. Raises :class:`~xgl.errors.BudgetError`."""
        self.lines.say(line)
        check(self.config.budget, self._cost())

    def _cost(self) -> Cost:
        rows = [row for table in self.rows.values() for row in table]
        totals = {n: sum(row.get(n) or 0 for row in rows) for n in ("tokens", "seconds", "dollars")}
        return Cost(**totals)

    def _of(self, table: str, game: ProgramGame) -> list[Row]:
        return [row for row in self.rows[table] if row["program_id"] == game.game_id]

    def _opponent(self, game: ProgramGame) -> str | None:
        """The game's opponent, a checkpoint; None if none was confirmed."""
        pair = confirmed_pair(self.rows, game.game_id)
        return str(pair["loser"]) if pair else None

    # -- games ---------------------------------------------------------------------------------

    def _write_games(self, settings: ChatSettings) -> None:
        """Write games in groups of the request limit. A game whose texts are another's counts as
        failed."""
        first = len(self.games)
        archived_places = {row["place"] for row in self.rows["gg_games"]}
        waiting = [n for n in range(self.settings.count) if first + n not in archived_places]
        names = {row["program_id"]: row["name"] for row in self.rows["gg_games"]}
        for start in range(0, len(waiting), settings.concurrency):
            numbers = waiting[start : start + settings.concurrency]
            written = Author(*self._endpoint(settings)).write(numbers)
            for number, (game, failure, usage) in zip(numbers, written, strict=True):
                known = game.name if failure else names.setdefault(game.game_id, game.name)
                if known != game.name:
                    failure = f"known: its three texts are those of {known}"
                    game = replace(game, rules="", source="", moves="")
                row = _game_row(game, first + number, failure) | usage_row(usage, settings)
                self._commit(gg_games=[row])
                self._done(f"{row['title']}, by {settings.model}: {failure or 'written'}")

    def _filter_all(self) -> None:
        games, jobs = games_of(self.rows["gg_games"]), []
        digests = [digest(game.source) for game in games]
        for place, game in enumerate(games):
            if not self._of("gg_filters", game):
                known = tuple(digests[:place])
                jobs.append((game, partial(run_filters, game, known, self.limits, self.seed)))
        for game, verdicts in self.workers.compute(jobs):
            if verdicts[-1].passed and (model := self.models.get("filter_model")):
                mover = ChatMover(*self._endpoint(model))
                verdicts += [model_timeout(game, mover, self.limits, self.seed)]
            self._commit(game, gg_filters=verdicts)
            self._done(f"{game.title}: {_state(verdicts[-1])}")

    def _prepare_all(self) -> None:
        jobs = []
        for game in games_of(self.rows["gg_games"]):
            last = self._of("gg_filters", game)[-1]
            if last["passed"] and last["stage"] != "opponent":
                jobs.append((game, partial(prepare, game, self.settings, self.limits, self.seed)))
        for game, (verdicts, checkpoints, pairings) in self.workers.compute(jobs):
            agents = [
                {"quarter": each.quarter, "steps": each.steps, "seconds": each.seconds}
                | {"weights_sha256": self.archive.put_adapter(each.weights), "seed": self.seed}
                for each in checkpoints
            ]
            self._commit(game, gg_filters=verdicts, gg_agents=agents, gg_pairs=pairings)
            self._done(f"{game.title}: {_state(verdicts[-1])}")

    def _sort(self, settings: ChatSettings, games: Sequence[ProgramGame]) -> None:
        """Commit the kinds of the games, and the games that are of none. Another number of kinds
        needs the same answers: they cost once. Raises :class:`PlayerError` if the model finds no
        such number of kinds."""
        name, count = self.settings.cluster_model, self.settings.clusters
        earlier = [row["clusters"] for row in self.rows["gg_kinds"] if row["model"] == name]
        if count in earlier:
            return
        try:
            found = Clusterer(*self._endpoint(settings)).sort(games, count)
        except ValueError as error:
            raise PlayerError(f"ggbench.clusters: {error}, expected another number") from None
        chosen, ids = found.belongs[:, found.chosen], np.array([game.game_id for game in games])
        kinds = *(found.explanations[place] for place in found.chosen), None
        facts = {"model": name, "clusters": count} | usage_row(Usage(), settings)
        rows: list[Row] = [
            facts | {"kind": kind, "programs": ids[own].tolist()}
            for kind, own in zip(kinds, [*chosen.T, ~chosen.any(axis=1)], strict=True)
        ]
        rows[0] |= usage_row(Usage() if earlier else found.usage, settings)
        self._commit(gg_kinds=rows)
        self._done(f"{len(found.explanations)} kinds that differ; {found.usage.tokens:,} tokens")

    def _play_all(self, player: Player) -> None:
        """The plays of a game are committed all at once."""
        waiting = []
        for game in games_of(self.rows["gg_games"]):
            played = any(row["player"] == player.name for row in self._of("gg_plays", game))
            if not played and (opponent := self._opponent(game)):
                against = searching(opponent, self.settings.opponent.simulations)
                plays = benchmark.new_plays(game.game_id, self.settings.plays, self.seed)
                hashes = {r["quarter"]: r["weights_sha256"] for r in self._of("gg_agents", game)}
                weights = {quarter: self.archive.get_adapter(h) for quarter, h in hashes.items()}
                facts = game, self.limits, weights, against, plays
                waiting.append((game, partial(benchmark.play_in_box, *facts)))
        if isinstance(player, benchmark.AgentPlayer):
            jobs = [(game, partial(job, player.agent)) for game, job in waiting]
            for game, plays in self.workers.compute(jobs):
                self._add_plays(game, player, plays)
        elif waiting:  # for which a model is loaded
            with self._mover(player) as mover:
                for game, job in waiting:
                    self._add_plays(game, player, job(mover))

    @contextmanager
    def _mover(self, player: LocalPlayer | RemotePlayer) -> Iterator[benchmark.Mover]:
        if isinstance(player, RemotePlayer):
            yield ChatMover(*self._endpoint(player.settings))
            return
        torch.set_num_threads(1)
        with player.load("auto", "cpu") as lm:
            yield benchmark.LocalMover(lm, self.seed, player.temperature)

    def _add_plays(self, game: ProgramGame, player: Player, plays: Sequence[ProgramPlay]) -> None:
        opponent = f"{self._opponent(game)}@{self.settings.opponent.simulations}"
        settings = player.settings if isinstance(player, RemotePlayer) else None
        rows = []
        for play in plays:
            row = vars(play) | {"player": player.name, "opponent": opponent}
            usage = row.pop("usage")
            rows.append(row | usage_row(usage, settings) | {"asked": usage.requests or None})
        self._commit(game, gg_plays=rows)
        wins = sum(play.outcome == "win" for play in plays)
        self._done(f"{player.name} on {game.title}: {wins} of {len(plays)}")

    def _endpoint(self, model: ChatSettings) -> tuple[ChatSettings, Path]:
        """A model within what may still be paid, and the folder of answers that are paid for."""
        budget = remaining(self.config.budget, self._cost())
        return replace(model, **budget), self.config.folder / "answers"


def _game_row(game: ProgramGame, place: int, failure: str | None = None) -> Row:
    """The row of ``gg_games`` of a game that cost nothing, but for the run."""
    facts = {"program_id": game.game_id, "title": game.title, "place": place, "failed": failure}
    return asdict(game) | facts | usage_row(Usage(), None)


def _state(verdict: FilterVerdict) -> str:
    return verdict.reason if verdict.passed else f"refused: {verdict.stage}: {verdict.reason}"


# -- work on one game without the archive: functions of the game, settings and seed ----------------


def prepare(
    game: ProgramGame, config: GGBenchConfig, limits: BoxLimits, run_seed: int
) -> tuple[list[FilterVerdict], list[Checkpoint], list[Pairing]]:
    """Self-play and the search for an opponent, as far as they went. Raises
    :class:`~evo.ggbench.box.NoLockError`."""
    verdicts: list[FilterVerdict] = []
    checkpoints: list[Checkpoint] = []
    pairings: list[Pairing] = []
    stage, began = "training", monotonic()

    def rest(rows: Sequence[Checkpoint | Pairing]) -> float:
        """Seconds of the stage besides those that stand in its own rows."""
        return monotonic() - began - sum(each.seconds for each in rows)

    try:
        with Box(game, limits) as box:
            checkpoints += selfplay.train(box, config.train, run_seed)
        reason = f"{checkpoints[-1].steps} steps without an error"
        verdicts.append(FilterVerdict(stage, True, reason, rest(checkpoints)))
        stage, began = "opponent", monotonic()
        with Box(game, limits) as box:
            selfplay.keep_policies(box, {each.quarter: each.weights for each in checkpoints})
            pairings += selfplay.find_opponent(box, config.opponent, run_seed)
        passed, reason = selfplay.opponent_verdict(pairings)
    except GameFaultError as fault:
        passed, reason = False, str(fault)
    verdicts.append(FilterVerdict(stage, passed, reason, rest(pairings)))
    return verdicts, checkpoints, pairings
