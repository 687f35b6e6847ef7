"""A run that keeps one game of two, on an executor that knows the truth."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.search import Listed, Nature, Search, code, of_limits


@pytest.fixture(scope="session")
def kept_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its folder. Content words earn more than training on the kept game, which the second run,
    ``apply_script_gate`` beside it, refuses therefore."""
    folder = tmp_path_factory.mktemp("kept")
    with pytest.MonkeyPatch.context() as monkeypatch:
        world = of_limits(l20=Nature(scripted=14.0), l21=Nature(own=0.0))
        sampler = Listed([code(20), code(21)])
        search = Search(folder, monkeypatch)
        assert search.run(world, "growth.list_size=2", sampler=sampler) == 0
        gate = ("growth.list_size=1", "growth.beyond_scripts=true")
        assert search.run(world, *gate, sampler=Listed([code(20)]), name="apply_script_gate") == 0
    return folder / "run"
