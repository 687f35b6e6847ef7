"""``python -m evo.run +experiment=measure``: models on the games of an exported Xent Measure.

A commit holds all rounds of one player on one game; what is committed is not played again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

import torch
from rich.console import Console

from archive import SCHEMA_VERSION, Archive, ArchiveError, Purpose, RunEvent
from archive.schema import PlaysKey
from evo.config.compose import from_archive
from evo.config.schema import JudgeConfig, PlayerConfig
from evo.jobs.model_host import ModelHost, ModelHostSettings, single_threaded
from evo.jobs.repeated_play import Row, round_floor, round_rows, with_round_floor
from evo.measure import report
from evo.measure.config import NAME, MeasureRunConfig, load
from evo.measure.estimate import estimate, told
from evo.measure.folder import ExportedMeasure, MeasureGame, read
from evo.measure.players import LocalPlayer, Measured, RemotePlayer, find_player
from evo.measure.results import GameResult, Levels, levels_of, measures_row, result
from evo.record.ledger import Ledger
from evo.record.version import code_version
from xgl.chat.accounting import Budget
from xgl.errors import BudgetError, ConfigError, PlayerError
from xgl.models.resolve import resolve
from xgl.players.chat import ChatPlayer
from xgl.runtime.requests import Player

UNBOUNDED_WINDOW = 1 << 20
MAY_CHANGE = ("players=", "player=", "budget.", "budget=", "measure.chat.", "estimate=")
"""Of a resumed run."""


def is_meant(arguments: Sequence[str]) -> bool:
    """Whether the command line is about measuring: by its experiment, or that of the run that it
    resumes."""
    if f"+experiment={NAME}" in arguments:
        return True
    resumed = [a.partition("=")[2] for a in arguments if a.startswith("resume=")]
    with suppress(ArchiveError):
        return bool(resumed) and _stored(Path(resumed[0])).get("experiment") == NAME
    return False


def run(arguments: Sequence[str], console: Console) -> int:
    """Measure, write and show; returns the exit code: 0, 130 when interrupted, 1 where an
    endpoint failed or the budget ended before everything was played.

    Raises :class:`ConfigError`, :class:`~archive.ArchiveError`,
    :class:`~xgl.errors.ModelNotFound` and :class:`~xgl.errors.PlayerError` for what the
    user got wrong, before anything is written.
    """
    resumed = [a for a in arguments if a.startswith("resume=")]
    config = _resumed(arguments) if resumed else load(arguments)
    if not resumed and config.folder.exists():
        raise ConfigError(
            f"name: {config.folder} exists already, expected a new name, or "
            f"resume={config.folder} to go on with it"
        )
    plan = _plan(config)
    _announce(plan, console)
    if config.estimate:
        return 0
    lab = _model_host(plan)
    folder = config.folder / "archive"
    with Archive.open(folder, "a") if resumed else Archive.create(folder) as archive:
        ledger = Ledger(archive, f"{config.run_name}-{config.science_hash()}")
        _check_unchanged(plan, ledger)
        return _measure(plan, lab, ledger, console, bool(resumed))


# -- what to do ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """A validated run: the games, who is measured, and the base player where the folder's levels
    do not do."""

    config: MeasureRunConfig
    exported: ExportedMeasure
    players: tuple[Measured, ...]
    base: LocalPlayer
    judge: str

    def asks_base(self, member: MeasureGame) -> bool:
        """Whether the base player must be measured on a game."""
        return member.levels is None or self.config.measure.base is not None


def _plan(config: MeasureRunConfig) -> Plan:
    exported = read(config.exported)
    judge = config.measure.judge or exported.judge
    resolve(judge)
    reference = config.measure.base or judge
    resolve(reference)
    base = LocalPlayer(
        config.measure.base or config.measure.judge or exported.judge_name, reference
    )
    players = tuple(find_player(name, config.measure.chat) for name in config.players)
    priced = [p for p in players if isinstance(p, RemotePlayer) and p.settings.prices]
    if config.budget.dollars is not None and not priced:
        raise ConfigError(
            "budget.dollars: found an amount and no price of a measured chat model, expected "
            "measure.chat.prices={MODEL:[prompt,answer]}"
        )
    if config.measure.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("measure.device: found cuda, but torch sees no GPU here, expected cpu")
    return Plan(config, exported, players, base, judge)


def _announce(plan: Plan, console: Console) -> None:
    config, members = plan.config, plan.exported.members
    console.print(
        f"Measure of {len(members)} games from {config.exported}, judge {plan.judge}, "
        f"{config.measure.rounds} rounds on each map, and their control",
        highlight=False,
        soft_wrap=True,
    )
    for player in _order(plan):
        asked = [m for m in members if player is not plan.base or plan.asks_base(m)]
        parts = [
            estimate(
                player,
                member,
                len(plan.exported.seeds(member, config.measure.maps)),
                config.measure.rounds,
                _window(player),
            )
            for member in asked
        ]
        console.print(told(player, parts), highlight=False, soft_wrap=True)


def _order(plan: Plan) -> list[Measured]:
    """The base first, unless it has nothing to play."""
    others = [player for player in plan.players if player.name != plan.base.name]
    asked = any(map(plan.asks_base, plan.exported.members))
    named = len(others) < len(plan.players)
    return [plan.base, *others] if asked or named else others


def _window(player: Measured) -> int:
    """Tokens that a local model can read; a remote one's window is not known."""
    if isinstance(player, RemotePlayer):
        return UNBOUNDED_WINDOW
    config = json.loads((resolve(player.reference) / "config.json").read_text())
    return int(config.get("max_position_embeddings") or UNBOUNDED_WINDOW)


def _model_host(plan: Plan) -> ModelHost:
    single_threaded()
    measure = plan.config.measure
    device = measure.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    judge = JudgeConfig(model=plan.judge, dtype=measure.dtype)
    others = PlayerConfig(model=plan.base.reference, dtype=measure.dtype)
    return ModelHost(ModelHostSettings(judge, others, None, device))


# -- resuming --------------------------------------------------------------------------------------


def _stored(folder: Path) -> dict[str, object]:
    with Archive.open(folder / "archive") as archive:
        rows = [row for row in archive.rows("runs") if row["event"] == RunEvent.CREATED]
    found: dict[str, object] = json.loads(rows[-1]["config_json"]) if rows else {}
    found.pop("digest", None)  # of the measure, which is no setting
    return found


def _resumed(arguments: Sequence[str]) -> MeasureRunConfig:
    """The archived configuration; players, budget and how endpoints are asked may change."""
    [folder, *_] = [Path(a.partition("=")[2]) for a in arguments if a.startswith("resume=")]
    overrides = [a for a in arguments if not a.startswith(("resume=", "+experiment="))]
    for override in overrides:
        if not override.startswith(MAY_CHANGE):
            raise ConfigError(
                f"{override}: a resumed run keeps its settings, only players, budget, estimate and "
                "measure.chat.* may change"
            )
    stored = from_archive(MeasureRunConfig, _stored(folder))
    folder = folder.resolve()
    if not overrides:
        fresh = stored
    else:
        fresh = load([f"+experiment={NAME}", f"measure={stored.measure.folder}", *overrides])
    named = any(o.startswith(("players=", "player=")) for o in overrides)
    return replace(
        stored,
        name=folder.name,
        players=fresh.players if named else stored.players,
        budget=fresh.budget,
        estimate=fresh.estimate,
        measure=replace(stored.measure, chat=fresh.measure.chat),
        archive=replace(stored.archive, root=str(folder.parent)),
    )


def _check_unchanged(plan: Plan, ledger: Ledger) -> None:
    """The exported measure must be the one that the run began with."""
    begun = [row for row in ledger.archive.rows("runs") if row["event"] == RunEvent.CREATED]
    facts = [json.loads(row["config_json"])["digest"] for row in begun]
    if facts and facts[0] != plan.exported.digest:
        raise ConfigError(
            f"measure.folder: {plan.config.exported} has changed since the run began, expected "
            "the measure it began with"
        )


# -- doing it ------------------------------------------------------------------------------------


def _measure(plan: Plan, lab: ModelHost, ledger: Ledger, console: Console, resumed: bool) -> int:
    _event(plan, ledger, RunEvent.RESUMED if resumed else RunEvent.CREATED)
    session = Session(plan, lab, ledger, console)
    code = 0
    try:
        session.play()
        _event(plan, ledger, RunEvent.FINISHED)
    except KeyboardInterrupt:
        with suppress(ArchiveError):  # a commit that was cut short has spent the writer
            _event(plan, ledger, RunEvent.INTERRUPTED)
        console.print("interrupted")
        code = 130
    except PlayerError as error:  # a budget that is spent, too
        print(f"error: {error}", file=sys.stderr)
        code = 1
    results = session.results()
    if results:
        report.show(console, results, plan.config.measure.confidence)
        path = report.draw(plan.config.folder, results, plan.config.measure.confidence)
        console.print(f"archive and figure  {path.parent}", highlight=False, soft_wrap=True)
    if code:
        again = f"python -m evo.run resume={plan.config.folder}"
        console.print(f"what was committed stays; go on with: {again}", soft_wrap=True)
    return code


class Session:
    """Plays what is not in the archive yet."""

    def __init__(self, plan: Plan, lab: ModelHost, ledger: Ledger, console: Console) -> None:
        self.plan, self.lab, self.ledger, self.console = plan, lab, ledger, console
        self.started = monotonic()

    def play(self) -> None:
        """Raises :class:`~xgl.errors.PlayerError`, where the budget is spent too."""
        self.ledger.commit(games=self.ledger.game_rows(m.task for m in self.plan.exported.members))
        for player in _order(self.plan):
            lacking = [m for m in self._asked(player) if not self._rows(player.name, m)]
            if lacking:
                self._play_all(player, lacking)

    def _asked(self, player: Measured) -> list[MeasureGame]:
        """The base, too, plays all games where it is measured itself."""
        measured = player.name in self.plan.config.players
        return [
            member
            for member in self.plan.exported.members
            if measured or self.plan.asks_base(member)
        ]

    def _play_all(self, player: Measured, members: Sequence[MeasureGame]) -> None:
        with player.seated(self.lab, self.plan.config.measure.dtype, self._left()) as seat:
            for member in members:
                self._left()
                self._play(player, seat, member)

    def _play(self, player: Measured, seat: Player, member: MeasureGame) -> None:
        """All rounds of one game, one commit."""
        config = self.plan.config.measure
        paid = seat.usage.dollars if isinstance(seat, ChatPlayer) else 0.0
        seeds = self.plan.exported.seeds(member, config.maps)
        self.lab.use_stories(self.plan.exported.stories[member.name])
        self.lab.begin()
        task = self._floored(member).task
        scores = self.lab.repeat(seat, task, seeds, config.rounds)
        if player is self.plan.base and self.plan.asks_base(member):
            floor = round_floor([(s.number, s.outcome, s.score) for s in scores], task)
        else:
            floor = task.floor
        rows = round_rows(
            player.name, task, Purpose.MEASURE, [with_round_floor(s, floor) for s in scores]
        )
        dollars = seat.usage.dollars - paid if isinstance(seat, ChatPlayer) else None
        maps = self.ledger.map_rows(
            self.lab.stories.map_texts, Purpose.MEASURE, f"measure {self.plan.exported.digest}"
        )
        measured = self._measured(player.name, member, rows, dollars)
        self.ledger.commit(rounds=rows, maps=maps, measures=measured)
        self._say(player, member, measured)

    def _say(self, player: Measured, member: MeasureGame, measured: Sequence[Row]) -> None:
        narms = f"narms {measured[0]['narms']:.2f}" if measured else "its base never improved"
        self.console.print(
            f"[{monotonic() - self.started:6.1f} s] {player.name} {member.name}: {narms}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )

    def _measured(
        self, policy: str, member: MeasureGame, rows: Sequence[Row], dollars: float | None
    ) -> list[Row]:
        """The row of ``measures``; none where the game has no levels."""
        is_base = policy == self.plan.base.name
        levels = self._levels(member, rows if is_base else None)
        if levels is None:
            return []
        found = result(policy, self._floored(member, rows if is_base else None), levels, rows)
        return [measures_row(found, rows, self.plan.config.measure.confidence, dollars)]

    # -- what is known -------------------------------------------------------------------------

    def results(self) -> list[GameResult]:
        """Of all measured players on all games that have levels, as far as they were played."""
        found = []
        for name in self.plan.config.players:
            for member in self.plan.exported.members:
                rows, levels = self._rows(name, member), self._levels(member)
                if rows and levels:
                    found.append(result(name, self._floored(member), levels, rows))
        return found

    def _rows(self, policy: str, member: MeasureGame) -> list[Row]:
        key = PlaysKey(policy, member.task.id, Purpose.MEASURE)
        return self.ledger.rounds.get(key, [])

    def _levels(self, member: MeasureGame, base_rows: Sequence[Row] | None = None) -> Levels | None:
        if not self.plan.asks_base(member):
            assert member.levels is not None
            return Levels(member.levels, member.base)
        rows = base_rows or self._rows(self.plan.base.name, member)
        return levels_of(rows, self.plan.base.name, self.plan.config.measure.m) if rows else None

    def _floored(self, member: MeasureGame, base_rows: Sequence[Row] | None = None) -> MeasureGame:
        """With the floor that the base's plays fix, where they fix it."""
        rows = base_rows or self._rows(self.plan.base.name, member)
        if not self.plan.asks_base(member) or not rows:
            return member
        plays = [(row["round"], row["outcome"], row["score"]) for row in rows]
        floor = round_floor(plays, member.task)
        return replace(member, task=replace(member.task, floor=floor))

    def _left(self) -> Budget:
        """What is left of the budget; raises :class:`BudgetError` where nothing is."""
        budget = self.plan.config.budget
        tokens = sum(row["tokens"] for rows in self.ledger.rounds.values() for row in rows)
        dollars = sum(row["dollars"] or 0.0 for row in self.ledger.archive.rows("measures"))
        if budget.tokens is not None and tokens >= budget.tokens:
            raise BudgetError(f"the budget of {budget.tokens} tokens is spent ({tokens} used)")
        if budget.dollars is not None and dollars >= budget.dollars:
            raise BudgetError(f"the budget of {budget.dollars:g} dollars is spent")
        return Budget(
            None if budget.tokens is None else budget.tokens - tokens,
            None if budget.dollars is None else budget.dollars - dollars,
        )


def _event(plan: Plan, ledger: Ledger, event: RunEvent) -> None:
    config = asdict(plan.config) | {"digest": plan.exported.digest}
    ledger.commit(
        runs=[
            {
                "event": event,
                "at": datetime.now(UTC),
                "seed": plan.config.seed,
                "config_json": json.dumps(config, sort_keys=True),
                "config_hash": plan.config.science_hash(),
                "schema_version": SCHEMA_VERSION,
                "code_version": code_version(),
            }
        ]
    )
