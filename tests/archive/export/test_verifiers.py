"""Games as an environment of verifiers: what is written, and that it plays as everything does."""

from __future__ import annotations

import importlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from support.chat_server import ChatServer, Received, Sent, move
from support.doubles import WordJudge
from support.frameworks import Framework
from support.measured import Given, build, story

import archive.export
import xgl
from archive import Archive, Run
from archive.__main__ import main
from archive.export.folder import Options, export
from xgl.environments.rows import METRICS, read_row
from xgl.judge.loading import load_judge
from xgl.library import find
from xgl.players import FixedMovesPlayer

RETRY = Given("assign(s=story())\nelicit(x, 4)\nensure(len(x) < 6)\nreward(xed(s | x))")
PAIR = Given(find("message").text, "paper", "bob")
FIRST, AFTER_A_FAILURE = "a boat", "hen"


def tasks(package: Path, split: str) -> list[dict[str, str]]:
    lines = (package / "rows" / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_package_holds_every_game_its_judge_and_a_table_of_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = build(tmp_path / "archive", [RETRY, PAIR]), tmp_path / "My games!"
    assert main(["export", str(folder), str(out), "--format", "verifiers", "--maps", "1"]) == 0
    assert "2 train and 2 test tasks written to" in capsys.readouterr().out
    package = out / "xent_my_games"
    project = tomllib.loads((out / "pyproject.toml").read_text())["project"]
    assert project["name"] == "xent_my_games"
    assert [tasks(package, split)[1]["role"] for split in ("train", "test")] == ["bob", "bob"]
    row = read_row(tasks(package, "train")[1]["info"])
    assert (row.game.game_id, row.players) == (PAIR.game.game_id, ("alice", "bob"))
    assert row.stories[0] == story(row.map_seed, 0)
    code = (package / "__init__.py").read_text()
    compile(code, "environment", "exec")
    assert "JUDGE = 'embedded'" in code
    readme = (out / "README.md").read_text()
    assert all(f"| `{name}` | {meaning} |" in readme for name, meaning in METRICS.items())


def answer(request: Received) -> Sent:
    return move(AFTER_A_FAILURE if "failed" in request.last else FIRST)


def bits(info: str) -> dict[str, float]:
    """The scores of the same moves, by play_all."""
    row = read_row(info)
    seeds = xgl.Seeds(row.map_seed, 0)
    is_retried = "ensure" in row.game.code and len(row.players) == 1
    player = FixedMovesPlayer({seeds: [FIRST, AFTER_A_FAILURE][: 1 + is_retried]})
    cast = xgl.Cast(load_judge("embedded"), row, dict.fromkeys(row.players, player))
    return xgl.play_all([xgl.Instance(row.game, seeds)], cast)[0].scores


@pytest.mark.long
def test_four_rollouts_of_verifiers_score_the_bits_of_play_all(tmp_path: Path) -> None:
    framework = Framework(tmp_path / "frameworks", "verifiers", "verifiers>=0.4")
    with Archive.open(build(tmp_path / "archive", [RETRY, PAIR])) as archive:
        export(Run(archive), tmp_path / "package", Options("verifiers", maps=2))
    framework.pip("--no-deps", str(tmp_path / "package"))
    with ChatServer(answer) as server:
        endpoint = ("-m", "m", "--client.base-url", server.url)
        quiet = ("--no-push", "--no-rich", "-o", str(tmp_path / "out"))
        framework.run("vf-eval", "xent_package", *endpoint, "-n", "4", "-r", "1", *quiet)
    [trace_file] = tmp_path.glob("out/*/traces.jsonl")
    episodes = [json.loads(line) for line in trace_file.read_text().splitlines()]
    assert len(episodes) == 4
    retry_count = 0
    for episode in episodes:
        assert episode["ok"]
        scores = bits(episode["task"]["data"]["info"])
        rewards = {t["agent"]["name"]: t["rewards"]["bits"]["score"] for t in episode["traces"]}
        assert rewards == pytest.approx(scores, abs=1e-4)  # batches move float32's last digits
        retry_count += sum(trace["metrics"]["failed_ensures"] for trace in episode["traces"])
    assert sorted(len(episode["traces"]) for episode in episodes) == [1, 1, 2, 2]
    assert retry_count == 2


def test_templates_import_what_there_is() -> None:
    pattern = re.compile(r"^ *from ((?:xgl|archive|evo|meta_sampler)[\w.]*) import (.+)$", re.M)
    templates = Path(archive.export.__file__).with_name("templates")
    found = [line for path in templates.iterdir() for line in pattern.findall(path.read_text())]
    assert len(found) > 4
    for module, names in found:
        if module == "evo.measure.inspect_task":  # imports inspect_ai, as its own test does
            continue
        assert set(re.split(r",\s*", names)) <= set(dir(importlib.import_module(module))), module


CONTRAST = Given(find("contrast").text)
TWO = Given("assign(s=story())\nelicit(x, y, 4)\nreward(xed(s | x) + xed(s | y))")


@pytest.mark.long
def test_the_card_trains_the_embedded_model_for_three_steps(tmp_path: Path) -> None:
    framework = Framework(tmp_path / "frameworks", "trl", "trl>=1.16")
    out = tmp_path / "out"
    folder = build(tmp_path / "archive", [CONTRAST, TWO, PAIR], judge=WordJudge())
    export(Run(Archive.open(folder)), out, Options("dataset"))
    programs = re.findall(r"^```python\n(.*?)^```", (out / "README.md").read_text(), re.M | re.S)
    assert len(programs) == 2
    outputs = [framework.run("python", "-c", program, cwd=out) for program in programs]
    assert all("train_runtime" in output for output in outputs)
    first, second = (re.search(r"'frac_reward_zero_std': '([\d.]+)'", o)[1] for o in outputs)  # type: ignore[index]
    assert float(first) < 1  # moves are found, and their rewards differ
    assert float(second) == 1  # no call of a tool: as the card says
