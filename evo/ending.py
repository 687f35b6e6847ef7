"""How a run ends: what its archive, its exit code and its user are told of it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from archive import ArchiveError, RunEvent
from evo.config.schema import RunConfig
from evo.jobs.executor import WorkersLostError
from evo.record.budget import reached
from evo.record.ledger import Ledger
from meta_sampler import BudgetReached, SamplerError

EXPECTED = (KeyboardInterrupt, SamplerError, WorkersLostError, ArchiveError)
"""What ends a run before it is finished, and leaves what was committed."""


@dataclass(frozen=True)
class Ending:
    """``event`` is None where the archive cannot take a row; ``go_on`` are the settings to resume
    with, None where nothing is left to do."""

    event: RunEvent | None
    code: int
    told: str
    go_on: tuple[str, ...] | None
    failed: bool = False

    def command(self, folder: Path) -> str | None:
        """What to type to go on."""
        if self.go_on is None:
            return None
        return " ".join(["python -m evo.run", f"resume={quote(str(folder))}", *self.go_on])


@contextmanager
def terminable() -> Iterator[None]:
    """Within, SIGTERM, by which batch systems end a program, does what Ctrl-C does.

    Ray has a handler of its own; so this is for when Ray has begun.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def finished(config: RunConfig, ledger: Ledger) -> Ending:
    """Algorithm 1 came to its end."""
    growth, generation = config.growth, max(ledger.scopes, default=0)
    judged = sum(row["outcome"] == "candidate" for row in ledger.proposals.values())
    told, go_on = "the last generation accepted nothing", None
    if config.experiment == "transfer_triplet":
        return Ending(RunEvent.FINISHED, 0, "every fine-tune has played every game", None)
    if growth.max_candidates is not None and judged >= growth.max_candidates:
        told = f"growth.max_candidates={growth.max_candidates} are judged"
    elif any(row["accepted_in"] == generation for row in ledger.newest_scope):
        told = f"growth.generations={growth.generations} is reached"
        go_on = (f"growth.generations={2 * growth.generations}",)
    return Ending(RunEvent.FINISHED, 0, told, go_on)


def stopped(error: BaseException, config: RunConfig, ledger: Ledger) -> Ending:
    """Something of ``EXPECTED`` ended it before; what was committed stays."""
    if isinstance(error, KeyboardInterrupt):
        return Ending(RunEvent.INTERRUPTED, 130, "interrupted; what was committed stays", ())
    if isinstance(error, BudgetReached):
        return Ending(RunEvent.OUT_OF_BUDGET, 0, str(error), _raised(config, ledger))
    told = f"{error}; what was committed stays"
    if isinstance(error, WorkersLostError):
        return Ending(RunEvent.INTERRUPTED, 1, told, (), failed=True)
    if isinstance(error, SamplerError):
        return Ending(RunEvent.INTERRUPTED, 2, told, (), failed=True)
    return Ending(None, 2, told, (), failed=True)


def _raised(config: RunConfig, ledger: Ledger) -> tuple[str, ...]:
    """The budget that is spent, doubled; nothing where it was a meta-sampler's own."""
    name = reached(config.budget, ledger.spent)
    return (f"budget.{name}={2 * getattr(config.budget, name):g}",) if name else ()
