"""What a user can get wrong: exit code 2, one message that names it, nothing written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evo.run
from archive import Archive
from xgl.models import resolve

Tree = Callable[[], dict[str, bytes | None]]

RUN = ["+experiment=scope_growth", "growth.initial_scope=[game.xent]"]
MISTAKES = {
    "no experiment": (["seed=3"], r"experiment"),
    "unknown experiment": (["+experiment=scope_grwth"], r"scope_grwth"),
    "experiment without its group": (["experiment=toy_growth"], r"expected \+experiment="),
    "toy with a model": (["+experiment=toy_growth", "model=smollm2"], r"model: unknown key"),
    "unknown key": ([*RUN, "colour=red"], r"colour: unknown key"),
    "misspelt key": ([*RUN, "growth.alfa1=0.3"], r"growth\.alfa1: unknown.*growth\.alpha1"),
    "misspelt group": ([*RUN, "grwth.alpha1=0.3"], r"grwth\.alpha1: unknown.*growth\.alpha1"),
    "added key": ([*RUN, "+growth.alpha9=0.3"], r"growth\.alpha9: unknown.*growth\.alpha"),
    "no override": ([*RUN, "alpha1"], r"alpha1"),
    "impossible value": ([*RUN, "growth.alpha1=-1"], r"growth\.alpha1: found -1.*more than 0"),
    "wrong type": ([*RUN, "finetune.tokens=many"], r"finetune\.tokens: found 'many'.*whole"),
    "wrong choice": ([*RUN, "game.dialect=latin"], r"game\.dialect: found 'latin'.*xent or paper"),
    "huge seed": ([*RUN, f"seed={2**63}"], rf"seed: found {2**63}"),
    "negative seed": ([*RUN, "seed=-1"], r"seed: found -1, expected at least 0"),
    "no blocks": ([*RUN, "player.lora_layers=0"], r"player\.lora_layers: found 0"),
    "bad list": ([*RUN, "transfer.acceptance_plays=[8,4]"], r"acceptance_plays: found \[8, 4\]"),
    "no list": ([*RUN, "growth.initial_scope=game.xent"], r"initial_scope: found 'game\.xent'"),
    "bad sampler": ([*RUN, "meta_sampler.name=dice"], r"'dice'.*mutate"),
    "bad sampler value": ([*RUN, "meta_sampler.settings.max_lines=0"], r"max_lines: found 0"),
    "broken game": ([*RUN[:1], "growth.initial_scope=[broken.xent]"], r"broken\.xent.*line 2"),
    "missing game": ([*RUN[:1], "growth.initial_scope=[none.xent]"], r"none\.xent: no such file"),
    "long game": ([*RUN[:1], f"growth.initial_scope=[{'a' * 300}.xent]"], r"a\.xent: no such file"),
    "long library name": (
        [*RUN[:1], f"growth.initial_scope=[{'a' * 300}]"],
        r"neither a file nor a game",
    ),
    "long model": ([*RUN, f"judge.model={'a' * 300}"], r"no model 'a+'"),
    "long name": ([*RUN, f"name={'a' * 300}"], r"name: found 'a+…, expected the name"),
    "cut weights": ([*RUN, "judge.model=cut"], r"cut/model\.safetensors is damaged"),
    "no GPU": ([*RUN, "cluster.gpus_per_worker=0.5"], r"gpus_per_worker: found 0\.5.*no GPU"),
    "no cluster": ([*RUN, "cluster.address=127.0.0.1:1"], r"127\.0\.0\.1:1 does not answer"),
    "no candidates": ([*RUN, "growth.max_candidates=0"], r"max_candidates: found 0"),
    "negative accepts": ([*RUN, "growth.max_accepts_per_parent=-1"], r"max_accepts_per_parent"),
    "large alpha2": ([*RUN, "growth.alpha2=3"], r"growth\.alpha2: found 3, expected more than 0"),
    "lonely rollout": ([*RUN, "finetune.rollouts=1"], r"rollouts: found 1, expected at least 2"),
    "misspelt operator": (
        [*RUN, "+meta_sampler.settings.weights.drop_terms=1"],
        r"unknown operator 'drop_terms', did you mean 'drop_term'",
    ),
    "missing model": ([*RUN, "judge.model=./no-such-model"], r"no-such-model"),
    "misspelt model": ([*RUN, "model=embeded"], r"embeded"),
    "existing run": ([*RUN, "name=old"], r"name: runs/old exists already"),
    "resume of nothing": (["resume=runs/none"], r"runs/none"),
    "resume of a folder": (["resume=runs/old"], r"runs/old"),
    "resume of another schema": (["resume=runs/newer"], r"runs/newer.*version 999"),
}


@pytest.fixture
def folder(commands: Any, tree: Tree) -> Path:
    """A working folder with a good game, a broken one, a foreign run folder and a newer archive."""
    root: Path = commands.folder
    (root / "broken.xent").write_text("assign(s=story())\nelicit(t, \nreward(xed(s | t))\n")
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
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    before = tree()
    assert evo.run.main(arguments) == 2
    output = capsys.readouterr()
    assert output.err.startswith("error: ")
    assert output.err.count("error:") == 1
    assert re.search(message, output.err, re.DOTALL), output.err
    assert "Traceback" not in output.err
    assert output.out == ""
    assert tree() == before


def test_without_arguments_the_usage_is_shown(
    tree: Tree,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    before = tree()
    assert evo.run.main([]) == 2
    assert "+experiment=scope_growth" in capsys.readouterr().err
    assert tree() == before


def test_a_mistake_in_a_process_of_its_own(commands: Any, tree: Tree) -> None:
    before = tree()
    process = commands("evo.run", *commands.tiny("run"), "growth.alfa1=0.3")
    assert process.returncode == 2
    assert process.stderr.count("\n") == 1
    assert re.match(
        r"error: growth\.alfa1: unknown key, did you mean growth\.alpha1\?", process.stderr
    )
    assert process.stdout == ""
    assert tree() == before
