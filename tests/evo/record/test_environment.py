"""What numbers depend on is recorded, and a run that goes on elsewhere says so."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from evo.record import environment as module
from evo.record.environment import ENVIRONMENTS, environment, record_environment


def test_the_kernels_are_those_that_torch_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATEN_CPU_CAPABILITY", raising=False)
    taken = {"AVX512": "avx512", "AVX2": "avx2", "DEFAULT": "default"}
    name = torch.backends.cpu.get_cpu_capability()
    if name not in taken:
        pytest.skip(f"kernels of another kind of processor: {name}")
    assert environment()["kernels"] == taken[name]
    assert environment()["torch"] == str(torch.__version__)


def test_the_variable_of_torch_goes_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert environment()["kernels"] == "default"


def test_no_model_library_is_loaded_for_it() -> None:
    code = (
        "import sys; from evo.record.environment import environment; environment(); "
        "assert not {'torch', 'transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("changed", [*environment(), "a library of tomorrow"])
def test_a_run_that_goes_on_elsewhere_says_what_differs(
    tmp_path: Path,
    changed: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = environment()
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        record_environment(tmp_path)
    assert caplog.messages == []
    monkeypatch.setattr(module, "environment", lambda: here | {changed: "other"})
    for _ in range(2):
        record_environment(tmp_path)
    [warning] = caplog.messages
    assert f"({changed} {here.get(changed, 'none')} → other)" in warning
    recorded = json.loads((tmp_path / ENVIRONMENTS).read_text())
    assert recorded == [here, here | {changed: "other"}]


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", "null", "[" * 1000])
def test_a_file_that_cannot_be_read_is_as_none(
    tmp_path: Path, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / ENVIRONMENTS).write_text(text)
    record_environment(tmp_path)
    assert caplog.messages == []
    assert json.loads((tmp_path / ENVIRONMENTS).read_text()) == [environment()]
