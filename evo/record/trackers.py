"""Experiment trackers: what a run reports to TensorBoard, trackio and Weights & Biases.

All of them write below the run folder or where their own environment variables say, and a resumed
run continues the tracker's run. A tracker that fails is left out from then on, with a warning;
results never depend on one.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from evo.config.schema import TrackingConfig
from evo.record.events import DecisionEvent, EvaluationEvent, Event, FinetuneEvent, ScopeEvent
from xgl.errors import ConfigError

log = logging.getLogger("evo")


class Tracker(Protocol):
    """Takes numbers; each name has steps of its own."""

    def log(self, name: str, value: float, step: int) -> None:
        """One point of a curve."""

    def close(self) -> None:
        """Write what is still in memory."""


@dataclass(frozen=True)
class TrackedRun:
    """Facts of a run that a tracker gets. ``folder`` is a tracker's own, below the run's."""

    project: str
    run_id: str
    folder: Path
    settings: Mapping[str, Any]


class TensorBoard:
    """Event files; resuming adds one more."""

    def __init__(self, run: TrackedRun) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(run.folder))

    def log(self, name: str, value: float, step: int) -> None:
        self.writer.add_scalar(name, value, step)

    def close(self) -> None:
        self.writer.close()


class WeightsAndBiases:
    """Offline unless WANDB_MODE says otherwise: ``wandb sync`` sends what was written."""

    def __init__(self, run: TrackedRun) -> None:
        import wandb

        run.folder.mkdir(parents=True, exist_ok=True)
        self.run: Any = wandb.init(
            project=run.project,
            id=run.run_id,
            name=run.run_id,
            dir=str(run.folder),
            mode=os.environ.get("WANDB_MODE", "offline"),
            resume="allow",
            config=dict(run.settings),
        )

    def log(self, name: str, value: float, step: int) -> None:
        self.run.log({name: value, f"{name} step": step})

    def close(self) -> None:
        self.run.finish()


class Trackio:
    """In the run's folder unless TRACKIO_DIR names another. trackio reads this variable once, when
    it is imported: a process has one place."""

    def __init__(self, run: TrackedRun) -> None:
        if is_own := not os.environ.get("TRACKIO_DIR"):
            os.environ["TRACKIO_DIR"] = str(run.folder.absolute())
        try:
            import trackio
            from trackio.utils import TRACKIO_DIR
        finally:
            if is_own:  # the next run of this process has a folder of its own
                del os.environ["TRACKIO_DIR"]
        if is_own and Path(TRACKIO_DIR).resolve() != run.folder.resolve():
            raise RuntimeError(f"it writes to {TRACKIO_DIR} since it was imported")
        self.trackio: Any = trackio
        trackio.init(
            project=run.project, name=run.run_id, resume="allow", config=dict(run.settings)
        )

    def log(self, name: str, value: float, step: int) -> None:
        self.trackio.log({name: value, f"{name} step": step})

    def close(self) -> None:
        self.trackio.finish()


TRACKERS: Mapping[str, tuple[str, Callable[[TrackedRun], Tracker]]] = {
    "tensorboard": ("tensorboard", TensorBoard),
    "trackio": ("trackio", Trackio),
    "wandb": ("wandb", WeightsAndBiases),
}
"""Trackers by name: the package that must be installed, and the adapter."""


def check_trackers(tracking: TrackingConfig) -> None:
    """Raises :class:`ConfigError` for a tracker whose package is not installed."""
    for name in tracking.to:
        package, _ = TRACKERS[name]
        if find_spec(package) is None:
            raise ConfigError(
                f"tracking.to: {package} is not installed, expected it: pip install {package}"
            )


class Tracking:
    """Reports a run's events to trackers; counts go on where an earlier session stopped."""

    def __init__(self, trackers: Mapping[str, Tracker], evaluations: int, decisions: int) -> None:
        self.trackers = dict(trackers)
        self.counts = {"evaluation": evaluations, "decision": decisions}

    def __call__(self, event: Event) -> None:
        """Report an event."""
        for name, value, step in self._points(event):
            if value is not None and math.isfinite(value):
                self._log(name, float(value), step)

    def _points(self, event: Event) -> Iterator[tuple[str, float | None, int]]:
        """Name, value and step."""
        match event:
            case FinetuneEvent():
                head = f"finetune/{event.finetune_id[:8]}"
                for name in ("curve", "entropy", "grad_norm"):
                    for step, value in enumerate(getattr(event, name)):
                        yield f"{head}/{name}", value, step
            case EvaluationEvent():
                self.counts["evaluation"] += 1
                name = f"evaluation/{event.purpose}/mean_score"
                yield name, event.mean_score, self.counts["evaluation"]
            case DecisionEvent():
                self.counts["decision"] += 1
                count = self.counts["decision"]
                yield "decision/accepted", float(event.verdict == "accepted"), count
                yield "decision/captured", event.captured, count
                yield "decision/gamma", event.gamma, count
            case ScopeEvent():
                yield "scope/games", float(len(event.game_ids)), event.number

    def _log(self, name: str, value: float, step: int) -> None:
        for key, tracker in list(self.trackers.items()):
            try:
                tracker.log(name, value, step)
            except Exception as error:  # noqa: BLE001  # whatever others' code raises
                self._leave_out(key, error)

    def close(self) -> None:
        """Close all trackers."""
        for key, tracker in list(self.trackers.items()):
            try:
                tracker.close()
            except Exception as error:  # noqa: BLE001
                self._leave_out(key, error)

    def _leave_out(self, key: str, error: Exception) -> None:
        del self.trackers[key]
        log.warning("tracking.to: %s failed and is left out: %s", key, error)


@contextmanager
def open_trackers(
    tracking: TrackingConfig,
    run_id: str,
    folder: Path,
    settings: Mapping[str, Any],
    counts: tuple[int, int],
) -> Iterator[Tracking]:
    """Trackers of a run, open; ``counts``: its evaluations and decisions so far."""
    trackers: dict[str, Tracker] = {}
    for name in tracking.to:
        _, make = TRACKERS[name]
        run = TrackedRun(tracking.project, run_id, folder / "tracking" / name, settings)
        try:
            trackers[name] = make(run)
        except Exception as error:  # noqa: BLE001
            log.warning("tracking.to: %s did not start and is left out: %s", name, error)
    reports = Tracking(trackers, *counts)
    with ExitStack() as stack:
        stack.callback(reports.close)
        yield reports
