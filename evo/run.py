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
from pathlib import Path

from rich.console import Console

from archive import SCHEMA_VERSION, Archive, ArchiveError, RunEvent
from evo import summary
from evo.config import ConfigError, RunConfig, from_mapping, load
from evo.display import Display
from evo.evaluate import Task
from evo.experiments import Experiments
from evo.growth import GrowthSettings, Member, grow
from evo.laboratory import LaboratorySettings
from evo.ledger import Ledger
from evo.proposals import Proposer
from evo.scope import initial_tasks
from evo.toy import experiment as toy
from evo.transfer import TransferOracle
from evo.workers import RayWorkshop, WorkersLostError, check
from meta_sampler import BudgetReached, MetaSampler, Remote, SamplerError, make
from xgl.models.errors import ModelNotFound
from xgl.models.resolve import resolve

USAGE = """usage: python -m evo.run +experiment=scope_growth [key=value …]
       python -m evo.run +experiment=toy_growth [toy.key=value …]
       python -m evo.run resume=RUN_FOLDER [cluster.key=value …]

experiments: scope_growth, and toy_growth: the same algorithm on the paper's toy model, in seconds
useful keys: model=smollm2  seed=N  name=NAME  growth.initial_scope=[FILE,…]
             growth.max_candidates=N  finetune.tokens=N  cluster.workers=N
All keys: docs/configuration.md and conf/."""

USER_ERRORS = (ConfigError, ArchiveError, ModelNotFound, SamplerError)


@dataclass(frozen=True)
class Plan:
    """A validated run: what to do, with what, and whether it goes on from an archive."""

    config: RunConfig
    initial: list[Task]
    sampler: MetaSampler
    resumed: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; returns the exit code: 0, 2 for a user's error, 130 when interrupted, 1 when workers
    kept dying."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if not arguments or {"-h", "--help"} & set(arguments):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    console = Console()
    _quiet()
    try:
        if "+experiment=toy_growth" in arguments:
            return toy.run(arguments, console)
        plan = _plan(arguments)
        with _archive(plan) as archive:
            return _run(plan, archive, console)
    except USER_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _plan(arguments: list[str]) -> Plan:
    resumed = [argument for argument in arguments if argument.startswith("resume=")]
    if resumed:
        config = _resumed(resumed[0].partition("=")[2], [a for a in arguments if a not in resumed])
    else:
        config = load(arguments)
        if config.folder.exists() and not _never_begun(config.folder):
            raise ConfigError(
                f"name: {config.folder} exists already, expected a new name, or "
                f"resume={config.folder} to go on with it"
            )
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


def _never_begun(folder: Path) -> bool:
    """Whether a run was killed between making its archive and saying that it began."""
    if [path.name for path in folder.iterdir()] != ["archive"]:
        return False
    with suppress(ArchiveError), Archive.open(folder / "archive") as archive:
        return archive.count("runs") == 0
    return False


def _resumed(folder: str, overrides: list[str]) -> RunConfig:
    """The archived configuration of a run; only ``cluster`` settings may be given anew."""
    foreign = [o for o in overrides if not o.startswith("cluster.")]
    if foreign:
        raise ConfigError(
            f"{foreign[0]}: a resumed run keeps its settings, only cluster.* may change"
        )
    path = Path(folder)
    if path.name in ("", ".."):
        path = path.resolve()
    with Archive.open(path / "archive") as archive:
        rows = [row for row in archive.rows("runs") if row["event"] == RunEvent.CREATED]
    if not rows:
        raise ConfigError(f"resume: {folder} holds no run")
    stored = json.loads(rows[-1]["config_json"])
    if overrides:
        fresh = load(["+experiment=" + stored["experiment"], *overrides])
        stored["cluster"] = asdict(fresh.cluster)
    stored["archive"]["root"], stored["name"] = str(path.parent), path.name
    return from_mapping(RunConfig, stored)


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


def _archive(plan: Plan) -> Archive:
    folder = plan.config.folder / "archive"
    return Archive.open(folder, "a") if folder.exists() else Archive.create(folder)


def _run(plan: Plan, archive: Archive, console: Console) -> int:
    config = plan.config
    ledger = Ledger(archive, run_id=_run_id(archive, config))
    _event(ledger, config, RunEvent.RESUMED if plan.resumed else RunEvent.CREATED)
    finished, code = False, 130
    display = _display(console, plan, ledger)
    try:
        with display:
            _grow(plan, ledger, display)
        _event(ledger, config, RunEvent.FINISHED)
        finished = True
    except KeyboardInterrupt:
        with suppress(ArchiveError):  # a commit that was cut short has spent the writer
            _event(ledger, config, RunEvent.INTERRUPTED)
        console.print("interrupted; what was committed stays")
    except SamplerError as error:
        with suppress(ArchiveError):
            _event(ledger, config, RunEvent.INTERRUPTED)
        code = 0 if isinstance(error, BudgetReached) else 2
        kind = "stopped" if code == 0 else "error"
        print(f"{kind}: {error}; what was committed stays", file=sys.stderr)
    except WorkersLostError as error:
        print(f"error: {error}; what was committed stays", file=sys.stderr)
        code = 1
    summary.show(console, ledger, config.folder, finished, display.scoring)
    return 0 if finished else code


def _display(console: Console, plan: Plan, ledger: Ledger) -> Display:
    budget = plan.config.growth.max_candidates
    expected = None if budget is None else len(plan.initial) + budget
    title = f"scope growth: {plan.config.folder} (seed {plan.config.seed})"
    return Display(console, title, expected, known=len(ledger.finetunes))


def _grow(plan: Plan, ledger: Ledger, display: Display) -> None:
    """Algorithm 1 with the oracle on language models; scopes are committed as they form."""
    config = plan.config
    settings = LaboratorySettings(config.judge, config.player, config.finetune, _device(config))
    workshop = RayWorkshop(config.cluster, settings)
    try:
        oracle = TransferOracle(config, ledger, Experiments(config, ledger, workshop, display))
        growth = config.growth
        proposer = Proposer(plan.sampler, ledger, oracle, display, config.seed, growth.diversity)
        algorithm = GrowthSettings(
            alpha1=growth.alpha1,
            alpha2=growth.alpha2,
            generations=growth.generations,
            list_size=growth.list_size,
            seed=config.seed,
            coverage_against=growth.coverage_against,  # type: ignore[arg-type]  # checked
            max_accepts_per_parent=growth.max_accepts_per_parent,
            max_candidates=growth.max_candidates,
        )
        scopes = grow(oracle.prepare(plan.initial), oracle, proposer, algorithm)
        for generation, members in enumerate(scopes):
            if generation not in ledger.scopes:
                ledger.commit(scopes=[_scope_row(generation, member) for member in members])
    finally:
        workshop.close()


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


def _device(config: RunConfig) -> str:
    return "cuda" if config.cluster.gpus_per_worker > 0 else "cpu"


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
