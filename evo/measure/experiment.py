"""``python -m evo.run +experiment=measure``: models on the games of an exported Xent Measure.

A commit holds all rounds of one player on one game; committed rounds are not played again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any, Self

import torch
from rich.console import Console

from archive import Archive, Purpose, RunEvent
from archive.charts import document
from archive.errors import RatingError
from archive.run import measure_source, read_settings
from archive.schema import PlaysKey, TaskId
from archive.statistics.intervals import CONFIDENCE
from archive.statistics.measure import read_ceilings
from archive.statistics.ratings import (
    MeasureRatings,
    RatingQuestion,
    measure_block,
    rate_block,
    rating_id,
    rating_rows,
)
from archive.store.files import save_text
from archive.text import plural
from archive.views.ratings import show as show_ratings
from evo.config.measure import MeasureRunConfig
from evo.config.models import PASS_SHARE, JudgeConfig, ModelHostSettings, PlayerConfig
from evo.jobs import evaluation
from evo.jobs.evaluation import RoundScore, Row, round_floor
from evo.jobs.model_host import ModelHost
from evo.measure import results
from evo.measure.folder import ExportedMeasure, MeasureGame, levels_hold, measure_of
from evo.measure.players import LocalPlayer, MeasuredPlayer, RemotePlayer, find_player
from evo.record.budget import Cost, budget_limits, check, check_prices, raised, remaining
from evo.record.display import TimedLines
from evo.record.ledger import Ledger
from evo.record.run_folder import RunIdentity
from evo.runner import Plan, RunOutcome, RunSession, Services, shown
from xgl.chat.client import ask_once
from xgl.errors import ConfigError
from xgl.judge.loading import check_judge
from xgl.lm.memory import release_memory
from xgl.models.references import ChatName, is_server, parse
from xgl.models.resolve import resolve
from xgl.players.chat import ChatPlayer
from xgl.players.local import LocalPolicy
from xgl.runtime.requests import Player
from xgl.settings import value_text

SILENCE = 30.0
"""Seconds without a line after which the rounds of a game are told."""


@dataclass(frozen=True)
class MeasurePlan:
    """A validated run: the games, the measured players, and the base player, which plays the games
    whose levels the folder lacks."""

    config: MeasureRunConfig
    console: Console
    export: ExportedMeasure
    players: tuple[MeasuredPlayer, ...]
    base: LocalPlayer
    resumed: bool = False

    @property
    def text(self) -> str:
        """The plays to be made, in words."""
        config, members = self.config, self.export.members
        has_control = config.measure.control and config.measure.rounds > 1
        others = "".join(f" with {name}: {m}" for name, m in config.measure.others.items())
        lines = [
            f"Measure of {plural(len(members), 'game')} from {config.source}, "
            f"judge {self.export.judge}{others}, {plural(config.measure.rounds, 'round')} on each "
            f"map{', and their control' if has_control else ''}"
        ]
        for player in self.order:
            lines.append(f"{player.name}: {plural(len(self.games_of(player)), 'game')}")
        if calls := config.measure.ceiling_calls:
            lines.append(f"ceilings: two solvers on each map, at most {calls:,} judge calls each")
        return "\n".join(lines)

    def base_plays(self, member: MeasureGame) -> bool:
        """Whether the base player must be measured on a game."""
        return not levels_hold(member, self.base.name) or self.config.measure.base is not None

    @property
    def m(self) -> int:
        """Levels of the games that the base plays: as many as other games of the folder have."""
        of_folder = (each.levels.m for each in self.export.members if each.levels)
        return self.config.measure.m or next(of_folder, 4)

    def games_of(self, player: MeasuredPlayer) -> list[MeasureGame]:
        """All games if it is measured, else those that need the base."""
        is_measured = player.name in self.config.players
        return [each for each in self.export.members if is_measured or self.base_plays(each)]

    @property
    def order(self) -> list[MeasuredPlayer]:
        """The players: the base first, unless it has nothing to play."""
        others = [player for player in self.players if player.name != self.base.name]
        return [self.base, *others] if self.games_of(self.base) else others


def plan_measure(config: MeasureRunConfig, services: Services, resumed: bool) -> Plan:
    """Find the measure, the players and their models; raises what each of them raises."""
    export = measure_of(config, resumed)
    judge = export.judge
    if not config.measure.base and is_server(judge):
        found = "measure.base: found none and a judge on a server"
        raise ConfigError(f"{found}, expected a model of this machine")
    check_judge(judge, key="measure.judge" if config.measure.judge else "")
    for name, other in config.measure.others.items():
        resolve(other, f"measure.others.{name}")
    reference = config.measure.base or judge
    resolve(reference, "measure.base")
    base = LocalPlayer(config.measure.base or config.measure.judge or export.judge_name, reference)
    players = tuple(find_player(name, config.measure.chat) for name in config.players)
    remote = [player.settings for player in players if isinstance(player, RemotePlayer)]
    check_prices(config.budget, remote, "measure.chat.prices={MODEL:[prompt,answer]}")
    if (calls := config.measure.ceiling_calls) and is_server(judge):
        found = f"measure.ceiling_calls: found {calls} and a judge on a server"
        raise ConfigError(f"{found}, which tells no gradients, expected 0")
    if config.measure.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("measure.device: found cuda, but torch sees no GPU here, expected cpu")
    if not resumed:
        ask_once(remote)
    plan = MeasurePlan(config, services.console, export, players, base, resumed)
    return plan.text, partial(MeasureSession, plan)


def _check_unchanged(plan: MeasurePlan, archive: Archive) -> None:
    """Measure and judge must be those that the run began with; who names the judge may differ."""
    rows = archive.rows("runs", ["config_json"])
    if not rows:
        return
    began = read_settings(rows[0]["config_json"])
    if began.get("digest") != plan.export.digest:
        raise ConfigError(
            f"measure: {plan.config.source} has changed since the run began, expected the measure "
            "it began with"
        )
    own, judge = plan.export.judge_name, plan.config.measure.judge
    if (judge or own) != (first := began["measure"]["judge"] or own):
        raise ConfigError(
            f"measure.judge: found {value_text(judge)}, expected {first}, which the run began with"
        )


class MeasureSession(RunSession):
    """Plays what the archive lacks. Raises :class:`ConfigError` if the measure has changed."""

    def __init__(self, plan: MeasurePlan, archive: Archive) -> None:
        _check_unchanged(plan, archive)
        self.plan, self.console, self.lines = plan, plan.console, TimedLines(plan.console)
        facts = {"digest": plan.export.digest, "judge_model": plan.export.judge}
        self.identity = RunIdentity.of(plan.config, plan.config.run_name, archive, **facts)
        self.ledger = Ledger(archive, self.identity.run_id)
        self.answers = plan.config.folder / "answers"
        self.ratings: MeasureRatings | None = None

    def __enter__(self) -> Self:
        torch.set_num_threads(1)
        measure, has_gpu = self.plan.config.measure, torch.cuda.is_available()
        device = {"auto": "cuda" if has_gpu else "cpu"}.get(measure.device, measure.device)
        there = torch.cuda.get_device_properties(0).total_memory if device == "cuda" else 0
        memory = measure.memory_mib or max(1024, int(there * PASS_SHARE) >> 20)
        common: dict[str, Any] = {"dtype": measure.dtype, "memory_mib": memory}
        judge = JudgeConfig(model=self.plan.export.judge, others=measure.others, **common)
        player = PlayerConfig(model=self.plan.base.reference, **common)
        self.host = ModelHost(ModelHostSettings(judge, player, None, device))
        return self

    def work(self) -> RunOutcome:
        """Raises :class:`~xgl.errors.PlayerError` and :class:`~xgl.errors.BudgetError`."""
        self.ledger.commit(games=self.ledger.game_rows(m.task for m in self.plan.export.members))
        waiting = []
        for player in self.plan.order:
            games = self.plan.games_of(player)
            if missing := [each for each in games if not self._rows(player.name, each)]:
                waiting.append((player, missing))
        if self.plan.resumed:
            ask_once(player.settings for player, _ in waiting if isinstance(player, RemotePlayer))
        for player, missing in waiting:
            dtype, budget = self.plan.config.measure.dtype, self._remaining_budget()
            with player.seat(self.host, dtype, budget, self.answers) as seat:
                for member in missing:
                    self._remaining_budget()
                    self._play(player, seat, member)
            del seat
            release_memory()  # of this player's model, before the next one loads
        self._find_ceilings()
        self.ratings = self._rate()
        return RunOutcome(RunEvent.FINISHED, 0, "every player has played every game", None)

    def higher_budget(self) -> tuple[str, ...]:
        """The budgets that are set, doubled."""
        return raised(budget_limits(self.plan.config.budget), self._spent())

    def show(self, outcome: RunOutcome) -> None:
        """A table and a figure of what has been played so far."""
        config, members = self.plan.config, self.plan.export.members
        pairs = product(config.players, members)
        played = {(name, m.name): rows for name, m in pairs if (rows := self._rows(name, m))}
        normalised = [self._normalised(member) for member in members]
        base, rounds = self.plan.base.name, plural(config.measure.rounds, "round")
        flat = [g.name for g, levels in normalised if not levels and (base, g.name) in played]
        if config.measure.rounds > 1 and flat:
            played_flat = {pair: rows for pair, rows in played.items() if pair[1] in flat}
            results.show_scores(self.console, played_flat)
            why = f"the base's best score did not rise in {rounds}"
            self.console.print(f"no levels  {', '.join(flat)}: {why}", soft_wrap=True)
        elif config.measure.rounds == 1 and played:
            results.show_scores(self.console, played)
        found = [
            results.result(name, game, levels[0], played[name, game.name])
            for name, (game, levels) in product(config.players, normalised)
            if levels and (name, game.name) in played
        ]
        if found:
            results.show(self.console, found)
            bases = dict.fromkeys(levels[1] for _, levels in normalised if levels)
            self.console.print(f"levels     b and θ by {', '.join(bases)}", soft_wrap=True)
            if game_ceilings := read_ceilings(self.ledger.archive, CONFIDENCE):
                names = {each.task.id: each.name for each in members}
                self.console.print(results.ceilings_table(game_ceilings, names))
            path = self.plan.config.folder / results.FIGURE
            save_text(path, document(results.figure(found)))
            self.console.print(f"figure   {path}", soft_wrap=True)
        if self.ratings:
            show_ratings(self.ratings, self.console)

    def commands(self) -> Sequence[tuple[str, str]]:
        """What exports the fewest games that tell the players apart as all games do."""
        folder = self.plan.config.folder
        games = Path(f"{folder}-games")
        measured = self.ledger.archive.rows("measures")
        if len(self.plan.config.players) < 2 or not measured or games.exists():
            return ()
        export = f"python -m archive export {shown(folder)} {shown(games)}"
        return [("export", f"{export} --format xent --discriminating 0.1")]

    def _play(self, player: MeasuredPlayer, seat: Player, member: MeasureGame) -> None:
        """Play all rounds of one game, in one commit."""
        plan, config = self.plan, self.plan.config.measure
        dollars_before = seat.usage.dollars if isinstance(seat, ChatPlayer) else 0.0
        task, seeds = self._normalised(member)[0].task, member.seeds(config.maps)

        def tell(number: int) -> None:
            if monotonic() - self.lines.latest >= SILENCE:
                self.lines.say(f"{player.name} {member.name}: round {number} of {config.rounds}")

        self._begin(member, seat)
        scores = self.host.repeat(seat, task, seeds, config.rounds, config.control, tell)
        floor, sets_levels = task.floor, player is plan.base and plan.base_plays(member)
        if sets_levels:
            evaluation.check_fits(task, [(each.outcome, each.reason) for each in scores])
            floor = round_floor([(s.number, s.outcome, s.score) for s in scores], task)
        floored = [evaluation.with_round_floor(score, floor) for score in scores]
        rows = evaluation.round_rows(player.name, task, Purpose.MEASURE, floored)
        member, levels = self._normalised(member, rows if player.name == plan.base.name else ())
        measures = []
        if levels:  # without them a game has no row
            dollars = seat.usage.dollars - dollars_before if isinstance(seat, ChatPlayer) else None
            score = results.result(player.name, member, levels[0], rows)
            measures = [results.measures_row(score, levels, rows, dollars)]
        self._commit(member, rounds=rows, measures=measures)
        self.lines.say(f"{player.name} {member.name}: {_outcome(measures, floored)}")

    def _begin(self, member: MeasureGame, seat: Player) -> None:
        """Go to the maps of one game; its results must not depend on the one before."""
        self.host.begin(member.stories)
        if isinstance(seat, LocalPolicy):
            seat.clear_caches()

    def _commit(self, member: MeasureGame, **tables: Sequence[Row]) -> None:
        """One commit of rows on a game, with the texts of its maps."""
        source = measure_source(self.plan.export.digest, member.task.game.game_id)
        maps = self.ledger.map_rows(self.host.stories.texts.values(), Purpose.MEASURE, source)
        self.ledger.commit(maps=maps, **tables)

    def _find_ceilings(self) -> None:
        """Commit the folder's best scores of games without rows, then solutions for games that were
        searched with fewer judge calls than the setting's, one commit for each game."""
        config, members = self.plan.config.measure, self.plan.export.members
        calls: dict[TaskId, int] = {}
        for row in self.ledger.archive.rows("ceilings", ["game_id", "role", "budget"]):
            calls[TaskId.of(row)] = max(row["budget"], calls.get(TaskId.of(row), 0))
        new = [each for each in members if each.task.id not in calls]
        known = [row for each in new for row in results.known_rows(each, config.maps)]
        self.ledger.commit(ceilings=known)
        missing = [each for each in members if calls.get(each.task.id, 0) < config.ceiling_calls]
        if not missing:
            return
        budget = self._remaining_budget()
        with self.plan.base.seat(self.host, config.dtype, budget, self.answers) as seat:
            for member in missing:
                self._begin(member, seat)
                facts = seat, member, config.maps, config.ceiling_calls
                rows = results.solution_rows(self.host, *facts)
                self._commit(member, ceilings=rows)
                self.lines.say(f"ceiling of {member.name}: {plural(len(rows), 'solution')}")

    def _rate(self) -> MeasureRatings | None:
        """Rate models and games together and commit the ratings; None with fewer than two models or
        if they cannot be rated, which is printed."""
        archive, seed = self.ledger.archive, self.plan.config.seed % 2**31
        question = RatingQuestion(seed=seed)
        try:
            block = measure_block([archive], question.preference)
            if len(block.models) < 2:
                return None
            ratings = rate_block(block, question)
        except RatingError as error:
            self.console.print(f"no ratings: {error}", soft_wrap=True)
            return None
        rating_ids = archive.table("ratings", ["rating_id"])["rating_id"].to_pylist()
        if rating_id(ratings) not in rating_ids:
            self.ledger.commit(ratings=rating_rows(ratings))
        return ratings

    # -- what is known -------------------------------------------------------------------------

    def _rows(self, policy: str, member: MeasureGame) -> list[Row]:
        return self.ledger.rounds.get(PlaysKey(policy, member.task.id, Purpose.MEASURE), [])

    def _normalised(
        self, member: MeasureGame, base_rows: Sequence[Row] = ()
    ) -> tuple[MeasureGame, results.Levels | None]:
        """The game with its floor, and its levels: the export's, or as the base's plays fix them,
        which are archived, or ``base_rows``."""
        plan = self.plan
        if not plan.base_plays(member):
            assert member.levels is not None
            return member, (member.levels, member.base, None)
        if not (rows := base_rows or self._rows(plan.base.name, member)):
            return member, None
        plays = [(row["round"], row["outcome"], row["score"]) for row in rows]
        task = replace(member.task, floor=round_floor(plays, member.task))
        member = replace(member, task=task)
        return member, results.levels_of(rows, plan.base.name, plan.m)

    def _remaining_budget(self) -> dict[str, Any]:
        """The remaining budget; raises :class:`~xgl.errors.BudgetError` if there is none."""
        budget, spent = self.plan.config.budget, self._spent()
        check(budget, spent)
        return remaining(budget, spent)

    def _spent(self) -> Cost:
        """Tokens and dollars of the plays. What a game without levels cost stands in no row: its
        tokens count at the prices of now, those of players that a resume leaves out too."""
        prices, spent = self.plan.config.measure.chat.prices, Cost()
        measures = self.ledger.archive.rows("measures")
        known = {(row["policy_id"], TaskId.of(row)): row["dollars"] or 0.0 for row in measures}
        for key, rows in self.ledger.rounds.items():
            tokens, new = (sum(row[name] for row in rows) for name in ("tokens", "new_tokens"))
            name, free = parse(key.policy_id), (0.0, 0.0)
            read, written = prices.get(name.model, free) if isinstance(name, ChatName) else free
            dollars = (read * (tokens - new) + written * new) / 1e6
            spent += Cost(tokens, dollars=known.get((key.policy_id, key.task_id), dollars))
        return spent


def _outcome(measure_rows: Sequence[Row], scores: Sequence[RoundScore]) -> str:
    if all(each.outcome == "oversize" for each in scores):
        return f"no play fits; {scores[0].reason}"
    mean = sum(each.score for each in scores) / len(scores)
    narms = "".join(f", narms {row['narms']:.2f}" for row in measure_rows)
    forfeits = sum(each.outcome == "forfeit" for each in scores)
    failures, cut = (
        sum(each.counts[name] for each in scores) for name in ("format_failures", "cut_moves")
    )
    counts = f"{forfeits} forfeits, {failures} format failures, {cut} cut moves"
    if oversize := sum(each.outcome == "oversize" for each in scores):
        counts += f", {oversize} plays that did not fit"
    return f"mean score {mean:.2f} bits{narms}; {counts}"
