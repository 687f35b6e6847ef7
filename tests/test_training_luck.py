"""The simulated lists of ``benchmarks/training_luck.py``, which run the search's own oracle."""

from __future__ import annotations

import re

import pytest
import training_luck


def test_no_copy_is_accepted_and_most_new_games_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = "--failures 0.02 --own 0.9 --cross 1 --scopes 1 --shares 1 --runs 1"
    monkeypatch.setattr("sys.argv", ["training_luck.py", *settings.split()])
    training_luck.main()
    output = capsys.readouterr().out
    [copies] = re.findall(r"exact copy .* \| ([\d.]+)% \(≤ [\d.]+%\) \| \d+%", output)
    [missed] = re.findall(r"γ = 0\.3\) .* \| ([\d.]+)% \(≤", output)
    assert float(copies) == 0
    assert float(missed) <= 30
