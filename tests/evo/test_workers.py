"""What a user sees when workers keep dying (that one death does no harm: test_kills.py)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from ray.exceptions import OutOfMemoryError, RayActorError

from evo import run
from evo.laboratory import Evaluation, Job, Result, Training
from evo.workers import RayWorkshop, WorkersLostError


class Doomed:
    """A workshop on a machine that is too small for any job."""

    def __init__(self, *_: Any) -> None:
        pass

    def do(self, jobs: Sequence[Job]) -> Iterator[Result]:
        RayWorkshop._replace(self, 0, jobs[0], 4, OutOfMemoryError("too much"))  # type: ignore[arg-type]
        yield from ()

    def close(self) -> None:
        pass


def test_workers_that_keep_dying_end_the_run_with_the_way_on(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(run, "RayWorkshop", Doomed)
    assert run.main(["+experiment=scope_growth", f"archive.root={tmp_path}", "name=doomed"]) == 1
    shown = capsys.readouterr()
    assert "4 workers died on an evaluation of game" in shown.err
    assert "out of memory" in shown.err
    assert "Traceback" not in shown.err
    assert f"python -m evo.run resume={tmp_path}/doomed" in shown.out


@pytest.mark.parametrize("kind", [Evaluation, Training])
def test_the_job_is_named(make_task: Any, kind: type) -> None:
    task = make_task()
    job: Job = Training(task, 0) if kind is Training else Evaluation(task, (None,), ())
    with pytest.raises(WorkersLostError, match=task.game_id[:8]):
        RayWorkshop._replace(Doomed(), 0, job, 4, RayActorError())  # type: ignore[arg-type]
