"""How a run of any experiment begins, resumes and ends.

A run is a row ``created`` or ``resumed``, work that is committed piece by piece, and a row that
says how it ended. What was committed stays, so a run that was interrupted is an ordinary run whose
archive already holds its first part.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any

from archive import Archive, ArchiveError, RunEvent
from archive.store.files import save_text
from evo.config import MODEL_RUNS, ExperimentEntry
from evo.config.compose import as_yaml, from_archive, split_override
from evo.config.models import ModelHostSettings
from evo.config.schema import ClusterConfig
from evo.growth.initial_scope import whole_path
from evo.jobs.job import Executor, WorkersLostError
from evo.jobs.merged import pinned
from evo.record import run_folder
from evo.record.ledger import Callback
from meta_sampler.base import MetaSampler, SamplerError
from meta_sampler.registry import make
from meta_sampler.settings import Caps
from xgl import errors
from xgl.console import Console
from xgl.files import BUILT_IN, user_path
from xgl.language.canonical import BASE
from xgl.models.references import CORPUS, JUDGE, is_folder, is_text_file
from xgl.models.resolve import ModelNotFoundError
from xgl.streams import exit_code

log = logging.getLogger("evo")
ENDS = (KeyboardInterrupt, SamplerError, errors.XGLError, WorkersLostError, ArchiveError, OSError)
"""Errors that end a run before it is finished; committed rows stay."""
COMMITS_STAY = "what was committed stays"
RESUME, EXPERIMENT = "resume", "experiment"
TRUSTED = "trusted=true"
"""Lets a run that another user or machine began use the models, addresses and accounts that its
settings name. In a run that this user began, the user has named them."""


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended. ``event`` is None if the archive cannot take a row; ``resume_overrides``
    are the settings to resume with, None if nothing is left to do."""

    event: RunEvent | None
    exit_code: int
    message: str
    resume_overrides: tuple[str, ...] | None
    failed: bool = False
    error: BaseException | None = None
    """Which of ``ENDS`` ended it, if any did."""


def shown(path: Path) -> str:
    """A path as a command line of a shell takes it."""
    return quote(f"./{path}" if str(path).startswith("-") else str(path))


def ray_executor(cluster: ClusterConfig, settings: ModelHostSettings) -> Executor:
    """Workers on Ray, which is loaded here."""
    from evo.jobs.executor import RayExecutor

    return RayExecutor(cluster, settings)


@dataclass(frozen=True)
class Services:
    """Services that a run uses in addition to its archive; tests pass their own."""

    executor: Callable[[ClusterConfig, ModelHostSettings], Executor] = ray_executor
    sampler: Callable[[str, Caps], MetaSampler] = make
    console: Console = field(default_factory=Console)
    callbacks: tuple[Callback, ...] = ()
    """Are called with the fine-tunes, decisions and scopes of a run on language models."""


class RunSession(AbstractContextManager["RunSession"]):
    """A run at work in an open archive; entering starts what it works with. It starts nothing, has
    no budget and names no commands unless it says so."""

    identity: run_folder.RunIdentity

    def __exit__(self, *_: object) -> None:
        return

    @abstractmethod
    def work(self) -> RunOutcome:
        """Do what the archive does not hold yet, in commits; raises any of ``ENDS``."""

    def higher_budget(self) -> tuple[str, ...]:
        """Settings with which a run whose budget is spent can continue."""
        return ()

    @abstractmethod
    def show(self, outcome: RunOutcome) -> None:
        """The results so far, for a person."""

    def commands(self) -> Sequence[tuple[str, str]]:
        """Commands that a user may type next, each after its name."""
        return ()


def reading_commands(run: Path, has_report: bool) -> dict[str, str]:
    """Commands that show a run folder and, if there is something to report, write its page."""
    commands = {"inspect": f"python -m archive inspect {shown(run)}"}
    if has_report:
        page = Path(f"{run}.html")
        force = " --force" if page.exists() else ""
        commands["report"] = f"python -m archive report {shown(run)} -o {shown(page)}{force}"
    return commands


Plan = tuple[str, Callable[[Archive], RunSession]]
"""A run whose settings are valid and whose models are at hand; nothing is written yet: what it will
do, in words or empty, and its session, which raises :class:`ConfigError` if the archive is not of
this run."""


@dataclass(frozen=True)
class CommandLine:
    """A command line: the overrides of a new run, or of the one in the folder ``resume_folder``."""

    experiment: str | None
    resume_folder: str | None
    overrides: tuple[str, ...]
    show: bool = False
    """Only show the configuration."""


def parse_command(arguments: Sequence[str], experiments: Sequence[str] = ()) -> CommandLine:
    """Read a command line; raises :class:`ConfigError` for a word that is neither a setting nor a
    flag, and where two runs are to be resumed."""
    words, show = list(arguments), False
    if "--cfg" in words and words[(place := words.index("--cfg")) + 1 :][:1] == ["job"]:
        del words[place : place + 2]
        show = True
    for word in words:
        if word.startswith(("-", "~", "=", "+=", "hydra.")) or "=" not in word:
            close = get_close_matches(word, experiments, 1) if word[:1].isalpha() else ()
            hint = f", did you mean +experiment={close[0]}?" if close else ""
            raise errors.ConfigError(
                f"{errors.excerpt(word)}: expected key=value, --cfg job, --help or --version{hint}"
            )
    folders = [value for key, value in map(split_override, words) if key == RESUME]
    names = [value for key, value in map(split_override, words) if key == EXPERIMENT]
    if len(folders) > 1:
        raise errors.ConfigError(f"resume: found {len(folders)} folders, expected one")
    if len(names) > 1:
        raise errors.ConfigError(f"experiment: found {len(names)}, expected one")
    if folders == [""]:
        raise errors.ConfigError("resume: found none, expected resume=RUN_FOLDER")
    overrides = tuple(each for each in words if split_override(each)[0] != RESUME)
    return CommandLine(names[-1] if names else None, next(iter(folders), None), overrides, show)


def run(
    arguments: Sequence[str], experiments: Mapping[str, ExperimentEntry], services: Services
) -> int:
    """Begin a run or go on with one; returns the exit code.

    0 at the end or at a budget, 2 for a user's error or a failed write, 130 after an interruption,
    1 if workers died too often, Ray did not start or an endpoint failed.
    """

    def begin() -> int:
        command = parse_command(arguments, tuple(experiments))
        if command.show:
            print(as_yaml(_configure(command, experiments)[1]), end="")
            return 0
        return complete(command, experiments, services)[1].exit_code

    return exit_code(begin, ArchiveError, SamplerError)


def complete(
    command: CommandLine, experiments: Mapping[str, ExperimentEntry], services: Services
) -> tuple[Path, RunOutcome]:
    """Begin or continue a run, to its end; returns its folder and how it ended. Before a run begins
    it raises :class:`xgl.errors.XGLError`, :class:`ArchiveError` and :class:`SamplerError`, one
    sentence for its user."""
    experiment, config = _configure(command, experiments)
    if services.callbacks and config.experiment not in MODEL_RUNS:
        raise errors.ConfigError(
            f"callbacks: a run of {config.experiment} reports no events, expected none of them"
        )
    resumed = command.resume_folder is not None
    if not resumed and (whole := pinned_settings(as_typed := asdict(config))) != as_typed:
        config = from_archive(type(config), whole)
    if not resumed:
        run_folder.check_new(config.folder)
    text, begin = experiment.plan(config, services, resumed)
    if text:
        services.console.print(text, soft_wrap=True)
    folder: Path = config.folder
    with _terminable(), run_folder.open_archive(folder, resumed) as archive:
        session = begin(archive)
        save_text(folder / run_folder.CONFIG, as_yaml(config))
        with run_folder.log_to_folder(folder):
            return folder, _work(session, archive, folder, resumed, services.console)


def _configure(
    command: CommandLine, experiments: Mapping[str, ExperimentEntry]
) -> tuple[ExperimentEntry, Any]:
    if command.resume_folder is None:
        if (found := experiments.get(command.experiment or "")) is None:
            names = " or ".join(f"+experiment={name}" for name in experiments)
            raise errors.ConfigError(f"experiment: found {command.experiment!r}, expected {names}")
        return found, found.load(command.overrides)
    config, is_own = run_folder.stored_config(command.resume_folder)
    if str(config.get(EXPERIMENT)) not in experiments:
        raise errors.ConfigError(
            f"resume: {command.resume_folder} holds the experiment {config.get(EXPERIMENT)!r}, "
            f"expected one of {', '.join(experiments)}"
        )
    trusting = [word for word in command.overrides if word.lower() == TRUSTED]
    if not (is_own or command.show or trusting):
        raise errors.ConfigError(
            f"resume: {command.resume_folder} was not begun by you on this machine; to use the "
            f"models, addresses and accounts that it names (shown by --cfg job), add {TRUSTED}"
        )
    experiment = experiments[config[EXPERIMENT]]
    words = [word for word in command.overrides if word not in trusting]
    return experiment, experiment.resume(config, words)


_FOLDERS = (
    *(f"judge.{name}" for name in ("model", "stories", "second", "tokenizer")),
    *("player.model", "player.npc", "meta_sampler.settings.model", "meta_sampler.settings.local"),
)
_WORDS = *BUILT_IN, CORPUS, JUDGE, BASE
"""Settings that may name a model's folder, and what is none there whatever folders there are."""


def pinned_settings(settings: Any, key: str = "") -> Any:
    """The settings with the whole paths of games and texts that are files and of models that are
    folders, which a resumed run reads again, wherever it is; and with each fine-tune that is named
    as a model by its whole path and digest, but for measured players, whose names are what results
    go by."""
    if isinstance(settings, Mapping):
        whole = {n: pinned_settings(v, f"{key}.{n}".strip(".")) for n, v in settings.items()}
        return whole | ({"model": settings["model"]} if "base_url" in settings else {})
    if key in ("growth.initial_scope", "measure.games"):
        return tuple(whole_path(each) for each in settings)
    if key == "meta_sampler.settings.cache" and settings not in (None, "auto"):
        return str(user_path(settings).absolute())
    if key == "judge.stories" and is_text_file(settings):
        return whole_path(settings)
    may_be_folder = key in _FOLDERS or key.startswith(("judge.others.", "measure.others."))
    if may_be_folder and settings not in _WORDS and is_folder(settings):
        return str(user_path(settings).absolute())
    is_model = isinstance(settings, str) and settings.startswith("adapter:")
    return pinned(settings, key) if is_model and not key.startswith("game.") else settings


def _work(
    session: RunSession, archive: Archive, folder: Path, resumed: bool, console: Console
) -> RunOutcome:
    """Do a run's work; print why it ended, where everything is, and what to type next."""
    event = RunEvent.RESUMED if resumed else RunEvent.CREATED
    recorded = False
    try:
        run_folder.record(archive, session.identity, event)
        recorded = True
        log.info("%s %s", event, session.identity.run_id)
        with session:
            outcome = session.work()
    except ENDS as error:
        if not (recorded or isinstance(error, KeyboardInterrupt)):
            raise
        outcome = replace(outcome_of_error(error, session), error=error)
    if outcome.failed and not console.quiet:
        print(f"error: {outcome.message}", file=sys.stderr)
    if outcome.event:
        with suppress(ArchiveError):  # a commit that was cut short has spent the writer
            run_folder.record(archive, session.identity, outcome.event)
        session.show(outcome)
    log.info("ended: %s", outcome.message)
    lines = [] if outcome.failed else [("ended", outcome.message)]
    lines.append(("archive", str(folder / "archive")))
    if outcome.resume_overrides is not None:
        command = ["python -m evo.run", f"resume={shown(folder)}", *outcome.resume_overrides]
        lines.append(("resume", " ".join(command)))
    for name, text in [*lines, *session.commands()]:
        console.print(f"{name:8} {text}", soft_wrap=True)
    return outcome


def outcome_of_error(error: BaseException, session: RunSession) -> RunOutcome:
    """The outcome of a run that one of ``ENDS`` ended."""
    message = f"{error}; {COMMITS_STAY}"
    match error:
        case KeyboardInterrupt():
            return RunOutcome(RunEvent.INTERRUPTED, 130, f"interrupted; {COMMITS_STAY}", ())
        case errors.BudgetError():
            higher = session.higher_budget()
            key = next(iter(higher), "budget").partition("=")[0]
            told = str(error) if str(error).startswith(key) else f"{key}: {error}"
            return RunOutcome(RunEvent.OUT_OF_BUDGET, 0, told, higher)
        case errors.NotFiniteError() | ModelNotFoundError() | SamplerError():
            return RunOutcome(RunEvent.INTERRUPTED, 2, message, (), failed=True)
        case WorkersLostError() | errors.PlayerError() | errors.JudgeError():
            return RunOutcome(RunEvent.INTERRUPTED, 1, message, (), failed=True)
        case OSError():  # such as a full disk below the archive's
            place = f"{error.filename}: " if error.filename else ""
            message = f"{place}{error.strerror or error}; {COMMITS_STAY}"
            return RunOutcome(RunEvent.INTERRUPTED, 2, message, (), failed=True)
        case errors.XGLError():  # of a game, which a resumed run must keep
            return RunOutcome(RunEvent.INTERRUPTED, 2, message, None, failed=True)
    return RunOutcome(None, 2, message, (), failed=True)


@contextmanager
def _terminable() -> Iterator[None]:
    """Within the context, SIGTERM (by which batch systems end a program) acts like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
