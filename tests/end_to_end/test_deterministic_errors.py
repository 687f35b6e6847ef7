"""Errors that would come again end a run at once: one sentence that names the file, exit code 2."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from xgl.models.resolve import EMBEDDED

pytestmark = pytest.mark.long
LONG = "the red hen ran over the green hill " * 38


def with_nan(tensors: dict[str, torch.Tensor]) -> None:
    tensors["model.norm.weight"][0] = float("nan")


def without_one(tensors: dict[str, torch.Tensor]) -> None:
    del tensors["model.layers.1.mlp.up_proj.weight"]


def model(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    shutil.copytree(EMBEDDED, folder)
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


WAITING = "no worker is ready yet"
"""How a line begins that a busy machine adds."""
ERRORS = {
    "NaN in the judge": ("judge.model=bad", r"model 'bad': bad does not load.*model\.norm\.weight"),
    "a tensor of the player": ("player.model=bad2", r"missing: model\.layers\.1\.mlp\.up_proj"),
    "a game": (
        "growth.initial_scope=[long.xent]",
        r"long\.xent: no play fits; line 3: [\d,]+",
    ),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_that_would_come_again_ends_the_run_at_once(commands: Any, kind: str) -> None:
    setting, message = ERRORS[kind]
    model(commands.folder / "bad", with_nan)
    model(commands.folder / "bad2", without_one)
    text = f'assign(s="{LONG}")\nassign(t="{LONG}")\nelicit(x, 8)\nreward(xed(s | t+x))\n'
    (commands.folder / "long.xent").write_text(text)
    done = commands("evo.run", *commands.tiny("run", setting, "cluster.workers=1"))
    assert done.returncode == 2
    lines = [each for each in done.stderr.splitlines() if not each.startswith(WAITING)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert re.search(message, lines[0])
