"""A measure as a task of Inspect, equal to ``+experiment=measure`` on a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

import pytest
from support.chat_server import ChatServer, Received, Sent, move, reply
from support.exported import write_measure
from support.frameworks import Framework

import evo.run
from archive import Archive
from archive.export.folder import template

LEVELS = {"b": 1.0, "theta": 0.5, "m": 4, "rounds": 4, "maps": 3, "k_m": 3, "floor": -5.0}
WORDS = ("a red ball", "dog", "rain and fire", "the king", "boat")


def answer(request: Received) -> Sent:
    """A function of what was said last; now and then without a move."""
    checksum = crc32(request.last.encode())
    return reply("I pass.") if checksum % 5 == 0 else move(WORDS[checksum % len(WORDS)])


@pytest.mark.long
def test_inspect_measures_what_the_experiment_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework = Framework(tmp_path / "frameworks", "inspect", "inspect-ai>=0.3.200", "openai")
    levels = LEVELS | {"policy": "base"}
    folder = write_measure(tmp_path / "measure", thresholds={"first": levels, "second": levels})
    (folder / "task.py").write_text(template("inspect_task.py"))
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.chdir(tmp_path)
    with ChatServer(answer) as server:
        monkeypatch.setenv("LOCAL_BASE_URL", server.url)
        model = ("--model", "openai-api/local/m", "-T", "rounds=3")
        log_options = ("--log-format", "json", "--log-dir", str(tmp_path / "logs"))
        framework.run("inspect", "eval", "task.py", *model, *log_options, cwd=folder)
        cut = ("--message-limit", "5", "--log-format", "json", "--log-dir", str(tmp_path / "cut"))
        framework.run("inspect", "eval", "task.py", *model, *cut, cwd=folder)
        player = f"player=chat:m@{server.url}"
        overrides = ["+experiment=measure", f"measure={folder}", player, "measure.rounds=3"]
        assert evo.run.main([*overrides, "name=m"]) == 0
    [path], [cut_path] = ((tmp_path / name).glob("*.json") for name in ("logs", "cut"))
    log, cut_log = json.loads(path.read_text()), json.loads(cut_path.read_text())
    assert (log["status"], cut_log["status"]) == ("success", "success")
    limited = [score for each in cut_log["samples"] for score in each["scores"].values()]
    assert {score["metadata"]["outcomes"][-1] for score in limited} == {"unplayed"}
    metrics = {n: m["value"] for s in log["results"]["scores"] for n, m in s["metrics"].items()}
    with Archive.open(tmp_path / "runs" / "m" / "archive") as archive:
        rounds = [row for row in archive.rows("rounds") if not row["control"]]
        measures = archive.rows("measures")
    first_ids = log["eval"]["dataset"]["sample_ids"][:2]
    assert {each.split("-")[0] for each in first_ids} == {"first", "second"}
    results = {
        (sample["metadata"]["map_seed"], sample["metadata"]["game"]): score["metadata"]
        for sample in log["samples"]
        for score in sample["scores"].values()
    }
    assert len(results) == 6
    names = {"first": "", "second": ""}
    for (seed, name), result in results.items():
        own = [row for row in rounds if row["map_seed"] == seed]
        alike = [
            sorted((r for r in own if r["game_id"] == game), key=lambda row: row["round"])
            for game in {row["game_id"] for row in own}
        ]
        scores = pytest.approx(result["scores"], abs=1e-3)
        [same] = [some for some in alike if [row["score"] for row in some] == scores]
        assert [row["moves"] for row in same] == result["moves"]
        names[name] = same[0]["game_id"]
    for name, game_id in names.items():
        [row] = [row for row in measures if row["game_id"] == game_id]
        assert metrics[f"narms {name}"] == pytest.approx(row["narms"], abs=1e-3)
        assert {name, f"{name} stderr"} <= set(metrics)
    values = [row["narms"] for row in measures]
    assert metrics["narms"] == pytest.approx(sum(values) / len(values), abs=1e-3)
