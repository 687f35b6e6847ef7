"""How runs begin, go on and end, with an experiment that only counts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Self

import pytest
from rich.console import Console
from support.refusal import error_of

from archive import Archive, RunEvent, WriteError
from evo.config.compose import check_resumable
from evo.config.schema import RunConfig
from evo.jobs.job import WorkersLostError
from evo.record.run_folder import RunIdentity
from evo.runner import RunOutcome, Services, run
from meta_sampler import SamplerError
from xgl import errors as xgl_errors

Capsys = pytest.CaptureFixture[str]


@dataclass
class Counting:
    """Experiment, plan and session in one; ``error`` is raised at work, unless it resumes."""

    folder: Path
    error: BaseException | None = None
    shown: list[RunOutcome] = field(default_factory=list)
    resumed: bool = False

    def load(self, overrides: Sequence[str]) -> Counting:
        if "seed=-1" in overrides:
            raise xgl_errors.ConfigError("seed: found -1, expected at least 0")
        return self

    def resume(self, stored: dict[str, Any], overrides: Sequence[str]) -> Counting:
        check_resumable(RunConfig, overrides)
        return self

    def plan(self, config: Counting, services: Services, resumed: bool) -> tuple[str, Any]:
        self.resumed = resumed
        return "", self.session

    def session(self, archive: Archive) -> Counting:
        config = {"experiment": "counting", "name": "", "archive": {}}
        self.identity = RunIdentity("run", 3, json.dumps(config), "hash")
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.left = True

    def work(self) -> RunOutcome:
        if self.error is not None and not self.resumed:
            raise self.error
        return RunOutcome(RunEvent.FINISHED, 0, "all is counted", None)

    def higher_budget(self) -> tuple[str, ...]:
        return ("budget.tokens=20",)

    def show(self, outcome: RunOutcome) -> None:
        self.shown.append(outcome)

    def commands(self) -> Sequence[tuple[str, str]]:
        return [("inspect", "look at it")]


@pytest.fixture
def out() -> StringIO:
    return StringIO()


def go(counting: Counting, out: StringIO, *arguments: str) -> int:
    services = Services(console=Console(file=out, width=200))
    experiments: dict[str, Any] = {"counting": counting}
    return run(list(arguments), experiments, services)


def events(folder: Path) -> list[str]:
    return [row["event"] for row in Archive.open(folder).rows("runs")]


def test_a_run_is_created_and_finished(tmp_path: Path, out: StringIO) -> None:
    counting = Counting(tmp_path / "a run")
    assert go(counting, out, "+experiment=counting") == 0
    assert events(counting.folder) == ["created", "finished"]
    assert [each.exit_code for each in counting.shown] == [0]
    assert counting.left, "what it worked with is closed"
    assert out.getvalue().splitlines() == [
        "ended    all is counted",
        f"archive  {tmp_path / 'a run' / 'archive'}",
        "inspect  look at it",
    ]


ENDS = {
    "interrupted": (KeyboardInterrupt(), 130),
    "budget": (xgl_errors.BudgetError("budget.tokens=10 is reached"), 0),
    "workers": (WorkersLostError("4 workers died"), 1),
    "endpoint": (xgl_errors.PlayerError("refused with 401"), 1),
    "judge's numbers": (xgl_errors.NotFiniteError("the judge's logits"), 2),
    "model": (xgl_errors.ModelNotFoundError("model 'm' does not load"), 2),
    "sampler": (SamplerError("the sampler gave up"), 2),
    "system": (OSError(28, "No space left on device", "/tmp/x"), 2),
    "disk": (WriteError("No space left on device"), 2),
}
"""The error, and the exit code."""


@pytest.mark.parametrize("end", ENDS)
def test_a_run_that_is_stopped_says_how_to_go_on_and_goes_on(
    end: str, tmp_path: Path, out: StringIO, capsys: Capsys
) -> None:
    error, code = ENDS[end]
    event = None if end == "disk" else "interrupted" if code else "out_of_budget"
    overrides = "" if code else " budget.tokens=20"
    counting = Counting(tmp_path / "run", error)
    assert go(counting, out, "+experiment=counting") == code
    assert events(counting.folder)[1:] == ([event] if event else [])
    assert bool(counting.shown) == bool(event), "a disk that refuses shows no results"
    assert f"resume   python -m evo.run resume={counting.folder}{overrides}\n" in out.getvalue()
    message = capsys.readouterr().err
    assert message.count("\n") == (code in (1, 2)), "one sentence"
    assert ("what was committed stays" in message + out.getvalue()) or code == 0
    before = events(counting.folder)
    assert go(counting, out, f"resume={counting.folder}", "budget.tokens=20") == 0
    assert events(counting.folder) == [*before, "resumed", "finished"]


@pytest.mark.parametrize(
    "error", [xgl_errors.ConfigError("g.xent: no play fits"), xgl_errors.StoryError("no story")]
)
def test_a_game_that_cannot_be_played_leaves_nothing_to_resume(
    error: Exception, tmp_path: Path, out: StringIO, capsys: Capsys
) -> None:
    counting = Counting(tmp_path / "run", error)
    assert go(counting, out, "+experiment=counting") == 2
    assert events(counting.folder) == ["created", "interrupted"]
    assert capsys.readouterr().err == f"error: {error}; what was committed stays\n"
    assert "resume" not in out.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["+experiment=counting", "seed=-1"], "seed: found -1"),
        (["+experiment=counting", "~growth.alpha1"], "~growth.alpha1: expected key=value"),
        (["resume=a", "resume=b"], "resume: found 2 folders, expected one"),
        (["+experiment=counting", "+experiment=counting"], "experiment: found 2, expected one"),
        (["resume={run}", "seed=4"], "seed=4: a resumed run keeps its settings, but for "),
        (["resume={run}", "budgets=4"], "budgets: unknown key, did you mean budget?"),
        (["resume={run}", "+experiment=other"], "+experiment=other: a resumed run keeps"),
        (["resume={run}/none"], "none"),
        (["+experiment=counting"], "exists already, expected a new name, or resume="),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(
    arguments: list[str], message: str, tmp_path: Path, out: StringIO, capsys: Capsys
) -> None:
    counting = Counting(tmp_path / "run")
    go(counting, out, "+experiment=counting")
    words = [each.replace("{run}", str(counting.folder)) for each in arguments]
    assert message in error_of(capsys, lambda own: go(counting, out, *own), *words)
    assert events(counting.folder) == ["created", "finished"]


CODE = """
import contextlib, io, sys
import evo.run

def check(*arguments, code, without):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert evo.run.main(list(arguments)) == code, arguments
    print(*arguments[-1:], *sorted(set(without.split()) & set(sys.modules)))

models = "torch transformers peft "
check("--help", code=0, without=models + "ray hydra pydantic rich numpy pyarrow xgl")
run = "+experiment=scope_growth"
for wrong in ("growth.alfa1=3", "seed=-1"):
    check(run, wrong, code=2, without=models + "ray jinja2 evo.experiments")
for wrong in ("growth.initial_scope=[none]", "judge.model=none"):
    check(run, wrong, code=2, without=models + "ray jinja2")
check("resume=none", code=2, without=models + "ray jinja2")
import evo.experiments.scope_growth, evo.experiments.transfer_triplet
print("driver", *sorted(set(models.split()) & set(sys.modules)))
check(run, "cluster.address=127.0.0.1:1", code=2, without=models + "jinja2")
"""
"""In one process, each with the packages that nothing so far may have imported. The process that
drives a run needs no model's libraries at all: its workers do."""


def test_a_command_line_is_refused_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, cwd=tmp_path
    )
    assert process.stderr == ""
    assert process.stdout.splitlines() == [
        *("--help", "growth.alfa1=3", "seed=-1", "growth.initial_scope=[none]", "judge.model=none"),
        *("resume=none", "driver", "cluster.address=127.0.0.1:1"),
    ]
