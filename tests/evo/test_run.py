"""What ``python -m evo.run`` loads before it knows that there is something to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
        "--help",
        "growth.alfa1=3",
        "seed=-1",
        "growth.initial_scope=[none]",
        "judge.model=none",
        "resume=none",
        "driver",
        "cluster.address=127.0.0.1:1",
    ]
