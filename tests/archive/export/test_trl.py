"""The card of a data set of prompts, run as it stands with TRL on the embedded model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.doubles import WordJudge
from support.frameworks import Framework
from support.measured import Given, build

from archive import Archive, Run
from archive.export.folder import Options, export
from xgl.library import find

CONTRAST = Given(find("contrast").text)
TWO = Given("assign(s=story())\nelicit(x, y, 4)\nreward(xed(s | x) + xed(s | y))")
BOB = Given(find("message").text, "paper", "bob")


@pytest.mark.long
def test_the_card_trains_the_embedded_model_for_three_steps(tmp_path: Path) -> None:
    framework = Framework(tmp_path / "frameworks", "trl", "trl>=1.16")
    out = tmp_path / "out"
    folder = build(tmp_path / "archive", [CONTRAST, TWO, BOB], judge=WordJudge())
    with Archive.open(folder) as archive:
        export(Run(archive), out, Options("dataset"))
    programs = re.findall(r"^```python\n(.*?)^```", (out / "README.md").read_text(), re.M | re.S)
    assert len(programs) == 2
    outputs = []
    for program in programs:
        output = framework.run("python", "-c", program, cwd=out)
        outputs.append(output)
        assert "train_runtime" in output
        assert "reward" in output
    first, second = (re.search(r"'frac_reward_zero_std': '([\d.]+)'", o)[1] for o in outputs)  # type: ignore[index]
    assert float(first) < 1  # moves are found, and their rewards differ
    assert float(second) == 1  # no call of a tool: as the card says
