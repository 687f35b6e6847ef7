"""What a user can get wrong: exit code 2, one message that names it, nothing written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import evo.run
from archive import Archive
from xgl.models import resolve

RUN = ["+experiment=scope_growth", "growth.initial_scope=[game.xent]"]
MISTAKES = {
    "no experiment": (["seed=3"], r"experiment"),
    "no setting": (["scope-growth"], r"expected key=value.* did you mean \+experiment=scope_g"),
    "an option": ([*RUN, "--seed", "3"], r"--seed: expected key=value"),
    "missing game": ([*RUN[:1], "growth.initial_scope=[none.xent]"], r"none\.xent: no such file"),
    "cut weights": ([*RUN, "judge.model=cut"], r"cut/model\.safetensors is damaged"),
    "no GPU": (
        [*RUN, "cluster.gpus_per_worker=0.5"],
        r"gpus_per_worker: found 0\.5.*this machine has no GPU",
    ),
    "no cluster": ([*RUN, "cluster.address=127.0.0.1:1"], r"127\.0\.0\.1:1 does not answer"),
    "existing run": ([*RUN, "name=old"], r"name: runs/old exists already"),
    "resume of a folder": (["resume=runs/old"], r"runs/old"),
    "resume of another schema": (["resume=runs/newer"], r"runs/newer.*version 999"),
}


def tree(folder: Path) -> dict[Path, bytes | None]:
    """Every path below a folder with its content (None: a folder)."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture
def folder(commands: Any) -> Path:
    """A working folder with a good game, a foreign run folder and a newer archive."""
    root: Path = commands.folder
    (root / "runs" / "old").mkdir(parents=True)
    (root / "cut").mkdir()
    (root / "cut" / "config.json").write_text("{}")
    (root / "cut" / "model.safetensors").write_bytes(
        (resolve.EMBEDDED / "model.safetensors").read_bytes()[:5000]
    )
    (root / "runs" / "old" / "notes.txt").write_text("mine")
    with Archive.create(root / "runs" / "newer" / "archive"):
        pass
    marker = root / "runs" / "newer" / "archive" / "archive.json"
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "schema_version": 999}))
    return root


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_in_one_message_and_nothing_is_written(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    before = tree(folder)
    assert evo.run.main(arguments) == 2
    output = capsys.readouterr()
    assert output.err.startswith("error: ")
    assert output.err.count("error:") == 1
    assert re.search(message, output.err, re.DOTALL), output.err
    assert "Traceback" not in output.err
    assert output.out == ""
    assert tree(folder) == before
