"""The entry: ``python -m evo.run +experiment=scope_growth [key=value …]``, or ``resume=RUN``.

Everything is composed and validated before anything is written or loaded.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console

from archive import SCHEMA_VERSION, Archive, ArchiveError, RunEvent
from archive.schema import Definition, GainKind
from archive.statistics.plays import read_run_plays
from archive.statistics.scope_cover import CoverQuestion, cover_rows
from evo import summary
from evo.config.run_config import ConfigError, RunConfig, from_mapping, load
from evo.display import Display
from evo.ending import EXPECTED, finished, stopped, terminable
from evo.experiments import transfer_triplet
from evo.jobs.cluster import check
from evo.jobs.evaluate import Task
from evo.jobs.executor import RayExecutor
from evo.jobs.model_host import ModelHostSettings
from evo.measure import experiment as measure
from evo.record.budget import reached, told
from evo.record.collector import Collector
from evo.record.ledger import Ledger
from evo.record.progress import RunProgress
from evo.record.run_folder import RESUME, check_new, open_archive, resumed_folders, stored_config
from evo.record.version import code_version
from evo.search.growth import GrowthSettings, ScopeMember, grow
from evo.search.initial_scope import initial_tasks
from evo.search.oracle import TransferOracle
from evo.search.proposals import Proposer
from evo.toy import experiment as toy
from evo.toy.config import NAME as TOY
from meta_sampler import ACCESS, MetaSampler, Remote, SamplerError, make
from xgl.errors import ModelNotFound, PlayerError
from xgl.models.resolve import resolve

USAGE = """usage: python -m evo.run +experiment=scope_growth [key=value …]
       python -m evo.run +experiment=transfer_triplet [key=value …]
       python -m evo.run +experiment=toy_growth [toy.key=value …]
       python -m evo.run +experiment=measure measure=FOLDER 'players=[NAME,…]' [key=value …]
       python -m evo.run resume=RUN_FOLDER [cluster.key=value …] [budget.key=value …]

experiments: scope_growth; transfer_triplet: what three games of the paper teach each other;
             toy_growth: scope growth on the paper's toy model, in seconds;
             measure: models on the games that python -m archive export --format xent wrote
useful keys: model=smollm2  seed=N  name=NAME  growth.initial_scope=[FILE,…]
             growth.max_candidates=N  finetune.tokens=N  cluster.workers=N
             budget.tokens=N  budget.seconds=N  budget.dollars=N
All keys: docs/configuration.md and conf/."""

_SETTINGS = "meta_sampler.settings."
ANEW = (
    "cluster.",
    "budget.",
    "growth.generations=",
    *(f"{_SETTINGS}{key}=" for key in ACCESS),
)
"""Settings that a resumed run may be given anew: results do not depend on them."""
USER_ERRORS = (ConfigError, ArchiveError, ModelNotFound, PlayerError, SamplerError)


@dataclass(frozen=True)
class Plan:
    """A validated run: what to do, with what, and whether it goes on from an archive."""

    config: RunConfig
    initial: list[Task]
    sampler: MetaSampler
    resumed: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit code: 0 at the end or at a budget, 2 for a user's error or a disk that
    refuses, 130 when interrupted, 1 when workers kept dying."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    console = Console()
    _quiet()
    try:
        if _is_toy(arguments):
            return toy.run(arguments, console)
        if measure.is_meant(arguments):
            return measure.run(arguments, console)
        plan = _plan(arguments)
        with open_archive(plan.config.folder, plan.resumed) as archive:
            return _run(plan, archive, console)
    except USER_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _is_toy(arguments: list[str]) -> bool:
    """Whether the toy model is asked for, or a run on it is to go on."""
    for folder in resumed_folders(arguments):
        with suppress(ArchiveError, ConfigError):  # which is told when the run is planned
            return bool(stored_config(folder)[1]["experiment"] == TOY)
        return False
    return f"+experiment={TOY}" in arguments


def _plan(arguments: list[str]) -> Plan:
    resumed = resumed_folders(arguments)
    if resumed:
        config = _resumed(resumed[0], [a for a in arguments if not a.startswith(RESUME)])
    else:
        config = load(arguments)
        check_new(config.folder)
    initial = initial_tasks(config)
    if resumed:
        _check_unchanged(config, initial)
    sampler = make(config.meta_sampler.name, config.meta_sampler.settings)
    for reference in dict.fromkeys((config.judge.model, config.player.model)):
        resolve(reference)
    check(config.cluster)
    if isinstance(sampler, Remote) and not resumed:
        sampler.check()
    return Plan(config, initial, sampler, bool(resumed))


def _resumed(folder: str, overrides: list[str]) -> RunConfig:
    """The archived configuration of a run, but for what may be given anew: where it is done, and
    how far it goes."""
    foreign = [o for o in overrides if not o.startswith(ANEW)]
    if foreign:
        raise ConfigError(
            f"{foreign[0]}: a resumed run keeps its settings, only cluster.*, budget.*, "
            "growth.generations and how a remote meta-sampler is reached may change"
        )
    _, stored = stored_config(folder)
    stored = _with_anew(stored, overrides)
    return from_mapping(RunConfig, stored)


def _with_anew(stored: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """An archived configuration with the settings that are given anew; defaults where it is older
    than a setting."""
    if not overrides and {"cluster", "budget"} <= stored.keys():
        return stored
    sampler = "meta_sampler=" + stored["meta_sampler"]["name"]
    fresh = asdict(load(["+experiment=" + stored["experiment"], sampler, *overrides]))
    for section in ("cluster", "budget"):
        stored[section] = fresh[section] | stored.get(section, {})
    for override in overrides:
        *sections, key = override.partition("=")[0].split(".")
        place, source = stored, fresh
        for section in sections:
            place, source = place[section], source[section]
        place[key] = source[key]
    return stored


def _check_unchanged(config: RunConfig, initial: list[Task]) -> None:
    """The files of the initial scope must still hold the games that the run began with."""
    with Archive.open(config.folder / "archive") as archive:
        known = {row["game_id"] for row in archive.rows("games", ["game_id"])}
    for entry, task in zip(config.growth.initial_scope, initial, strict=True):
        if known and task.game_id not in known:
            raise ConfigError(
                f"growth.initial_scope: {entry} has changed since the run began, expected the "
                "game it began with"
            )


def _run(plan: Plan, archive: Archive, console: Console) -> int:
    config = plan.config
    ledger = Ledger(archive, _run_id(archive, config), config.budget)
    _check_budget(config, ledger)
    _event(ledger, config, RunEvent.RESUMED if plan.resumed else RunEvent.CREATED)
    display = _display(console, plan, ledger)
    work = _study if config.experiment == "transfer_triplet" else _grow
    try:
        with display:
            work(plan, ledger, display)
        ending = finished(config, ledger)
    except EXPECTED as error:
        ending = stopped(error, config, ledger)
    if ending.failed:
        print(f"error: {ending.told}", file=sys.stderr)
    if ending.event:
        with suppress(ArchiveError):  # a commit that was cut short has spent the writer
            _event(ledger, config, ending.event)
    if ending.event:
        summary.show(console, ledger, ending, display.scoring)
    summary.commands(console, config.folder, ending)
    return ending.code


def _check_budget(config: RunConfig, ledger: Ledger) -> None:
    if name := reached(config.budget, ledger.spent):
        raise ConfigError(
            f"budget.{name}: found {getattr(config.budget, name):g}, expected more than the run "
            f"has spent already ({told(ledger.spent)})"
        )


def _display(console: Console, plan: Plan, ledger: Ledger) -> Display:
    config, budget = plan.config, plan.config.growth.max_candidates
    games = None if budget is None else len(plan.initial) + budget
    if config.experiment == "transfer_triplet":
        games = len(plan.initial)
    expected = None if games is None else games * config.finetune.replicates
    title = f"{config.experiment.replace('_', ' ')}: {config.folder} (seed {config.seed})"
    return Display(console, title, RunProgress(expected, len(ledger.finetunes)))


def _grow(plan: Plan, ledger: Ledger, display: Display) -> None:
    """Algorithm 1 with the oracle on language models; scopes are committed as they form."""
    config = plan.config
    settings = ModelHostSettings(config.judge, config.player, config.finetune)
    executor = RayExecutor(config.cluster, settings)
    try:
        with terminable():
            collector = Collector(config, ledger, executor, display)
            oracle = TransferOracle(config, ledger, collector)
            diversity = config.growth.diversity
            proposer = Proposer(plan.sampler, ledger, display, config.seed, diversity)
            scopes = grow(oracle.prepare(plan.initial), oracle, proposer, _algorithm(config))
            for generation, members in enumerate(scopes):
                if generation not in ledger.scopes:
                    _commit_scope(ledger, config, generation, members)
    finally:
        executor.close()


def _study(plan: Plan, ledger: Ledger, display: Display) -> None:
    """What the initial games teach each other."""
    config = plan.config
    settings = ModelHostSettings(config.judge, config.player, config.finetune)
    executor = RayExecutor(config.cluster, settings)
    try:
        with terminable():
            collector = Collector(config, ledger, executor, display)
            transfer_triplet.run(config, collector, plan.initial)
    finally:
        executor.close()
    transfer_triplet.report(display.console, config, collector, plan.initial)


def _commit_scope(
    ledger: Ledger, config: RunConfig, generation: int, members: Sequence[ScopeMember[Task]]
) -> None:
    """A generation's scope and its cover, in one commit: a resumed run lacks both or neither."""
    transfer = config.transfer
    question = CoverQuestion(
        config.growth.eta,
        Definition(transfer.definition),
        GainKind(transfer.gain),
        skip_unplayable=True,
    )
    scope = [member.game.id for member in members]
    ledger.commit(
        scopes=[_scope_row(generation, member) for member in members],
        covers=cover_rows(
            read_run_plays(ledger.archive, ledger.run_id), scope, generation, question
        ),
    )


def _algorithm(config: RunConfig) -> GrowthSettings:
    growth = config.growth
    return GrowthSettings(
        alpha1=growth.alpha1,
        alpha2=growth.alpha2,
        generations=growth.generations,
        list_size=growth.list_size,
        seed=config.seed,
        coverage_against=growth.coverage_against,  # type: ignore[arg-type]  # checked
        max_accepts_per_parent=growth.max_accepts_per_parent,
        max_candidates=growth.max_candidates,
    )


def _scope_row(generation: int, member: ScopeMember[Task]) -> dict[str, object]:
    return {
        "generation": generation,
        "game_id": member.game.game_id,
        "role": member.game.role,
        "parent_game_id": member.parent.game_id if member.parent else None,
        "gamma": member.gamma,
        "accepted_in": member.generation,
    }


def _run_id(archive: Archive, config: RunConfig) -> str:
    known = [row["run_id"] for row in archive.rows("runs", ["run_id"])]
    return str(known[0]) if known else f"{config.name}-{config.science_hash()}"


def _event(ledger: Ledger, config: RunConfig, event: RunEvent) -> None:
    ledger.commit(
        runs=[
            {
                "event": event,
                "at": datetime.now(UTC),
                "seed": config.seed,
                "config_json": json.dumps(asdict(config), sort_keys=True),
                "config_hash": config.science_hash(),
                "schema_version": SCHEMA_VERSION,
                "code_version": code_version(),
            }
        ]
    )


def _quiet() -> None:
    """One display: libraries' banners and advice do not belong on it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", category=FutureWarning, module="ray")


if __name__ == "__main__":
    sys.exit(main())
