"""Endpoints of a run of gg-bench are asked once before anything is written or played."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from support.chat_server import ChatServer, Sent, refusal, reply

from evo.ggbench import experiment
from evo.run import main
from evo.runner import Services


def run(folder: Path, *overrides: str) -> int:
    services = Services(console=Console(file=StringIO()))
    return main(["+experiment=gg_bench", f"archive.root={folder}", "name=x", *overrides], services)


@pytest.mark.parametrize("named", ["ggbench.players=[random,{}]", "ggbench.author={}"])
@pytest.mark.parametrize("answer", [refusal(401, "who?"), refusal(404, "no m"), None])
def test_an_endpoint_that_cannot_be_used_ends_the_run_before_it_begins(
    tmp_path: Path,
    named: str,
    answer: Sent | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ChatServer(lambda request: answer or reply("yes")) as server:
        if answer is None:
            server.close()
        assert run(tmp_path, named.format(f"chat:m@{server.url}")) == 2
        assert len(server.received) == (answer is not None)
        error = capsys.readouterr().err
        assert error.startswith(f"error: {server.url}, model 'm': ")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_an_estimate_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "ask_once", None)
    author = "ggbench.author=chat:m@http://127.0.0.1:9/v1"
    assert run(tmp_path, author, "estimate=true") == 0
