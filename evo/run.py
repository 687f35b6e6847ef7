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
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from rich.console import Console

from archive import SCHEMA_VERSION, Archive, ArchiveError, RunEvent
from evo import summary
from evo.budget import reached, told
from evo.cluster import check
from evo.config import ConfigError, RunConfig, from_mapping, load
from evo.display import Display
from evo.ending import EXPECTED, finished, stopped, terminable
from evo.evaluate import Task
from evo.experiments import Experiments
from evo.folder import RESUME, check_new, open_archive, resumed_folders, stored_config
from evo.growth import GrowthSettings, Member, grow
from evo.laboratory import LaboratorySettings
from evo.ledger import Ledger
from evo.proposals import Proposer
from evo.scope import initial_tasks
from evo.toy import experiment as toy
from evo.toy.config import NAME as TOY
from evo.transfer import TransferOracle
from evo.workers import RayWorkshop
from meta_sampler import MetaSampler, SamplerError, make
from xgl.models.errors import ModelNotFound
from xgl.models.resolve import resolve

USAGE = """usage: python -m evo.run +experiment=scope_growth [key=value …]
       python -m evo.run +experiment=toy_growth [toy.key=value …]
       python -m evo.run resume=RUN_FOLDER [cluster.key=value …] [budget.key=value …]

experiments: scope_growth, and toy_growth: the same algorithm on the paper's toy model, in seconds
useful keys: model=smollm2  seed=N  name=NAME  growth.initial_scope=[FILE,…]
             growth.max_candidates=N  finetune.tokens=N  cluster.workers=N
             budget.tokens=N  budget.seconds=N  budget.dollars=N
All keys: docs/configuration.md and conf/."""

ANEW = ("cluster.", "budget.", "growth.generations=")
"""Settings that a resumed run may be given anew: results do not depend on them."""
USER_ERRORS = (ConfigError, ArchiveError, ModelNotFound, SamplerError)


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
    return Plan(config, initial, sampler, bool(resumed))


def _resumed(folder: str, overrides: list[str]) -> RunConfig:
    """The archived configuration of a run, but for what may be given anew: where it is done, and
    how far it goes."""
    foreign = [o for o in overrides if not o.startswith(ANEW)]
    if foreign:
        raise ConfigError(
            f"{foreign[0]}: a resumed run keeps its settings, only cluster.*, budget.* and "
            "growth.generations may change"
        )
    _, stored = stored_config(folder)
    stored = _with_anew(stored, overrides)
    return from_mapping(RunConfig, stored)


def _with_anew(stored: dict[str, Any], overrides: list[str]) -> dict[str, Any]:
    """An archived configuration with the settings that are given anew; defaults where it is older
    than a setting."""
    fresh = asdict(load(["+experiment=" + stored["experiment"], *overrides]))
    given = [override.partition("=")[0].split(".") for override in overrides]
    for section in ("cluster", "budget"):
        stored[section] = fresh[section] | stored.get(section, {})
    for section, key in given:
        stored[section][key] = fresh[section][key]
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
    try:
        with display:
            _grow(plan, ledger, display)
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
    budget = plan.config.growth.max_candidates
    expected = None if budget is None else len(plan.initial) + budget
    title = f"scope growth: {plan.config.folder} (seed {plan.config.seed})"
    return Display(console, title, expected, known=len(ledger.finetunes))


def _grow(plan: Plan, ledger: Ledger, display: Display) -> None:
    """Algorithm 1 with the oracle on language models; scopes are committed as they form."""
    config = plan.config
    settings = LaboratorySettings(config.judge, config.player, config.finetune)
    workshop = RayWorkshop(config.cluster, settings)
    try:
        with terminable():
            experiments = Experiments(config, ledger, workshop, display)
            oracle = TransferOracle(config, ledger, experiments)
            proposer = Proposer(plan.sampler, ledger, oracle, display, config.seed)
            scopes = grow(oracle.prepare(plan.initial), oracle, proposer, _algorithm(config))
            for generation, members in enumerate(scopes):
                if generation not in ledger.scopes:
                    ledger.commit(scopes=[_scope_row(generation, member) for member in members])
    finally:
        workshop.close()


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


def _scope_row(generation: int, member: Member[Task]) -> dict[str, object]:
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
                "code_version": _version(),
            }
        ]
    )


def _version() -> str | None:
    try:
        return version("xent-evo")
    except PackageNotFoundError:
        return None


def _quiet() -> None:
    """One display: libraries' banners and advice do not belong on it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", category=FutureWarning, module="ray")


if __name__ == "__main__":
    sys.exit(main())
