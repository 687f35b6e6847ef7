"""``python -m archive ratings --table``: layouts that are read, cells that are not."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.refusal import error_of

from archive.__main__ import main

Capsys = pytest.CaptureFixture[str]


def rate(capsys: Capsys, path: Path, *arguments: str, resamples: int = 0) -> dict[str, Any]:
    """What ``--json`` prints; the command must have succeeded."""
    options = ["--resamples", str(resamples), "--json", *arguments]
    assert main(["ratings", "--table", str(path), *options]) == 0
    document = json.loads(capsys.readouterr().out)
    assert isinstance(document, dict)
    return document


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode("utf-16" if path.stem == "wide" else "utf-8", "surrogateescape"))
    return path


def models(document: dict[str, Any]) -> dict[str, float]:
    return {each["model"]: each["rating"]["value"] for each in document["models"]}


def tasks(document: dict[str, Any]) -> set[str]:
    return {each["task_id"]["game_id"] for each in document["games"]}


# ann beats bob on x and y, and loses on z to all; cid is last elsewhere
WIDE = "model,x,y,z\nann,0.9,0.8,0.1\nbob,0.5,0.7,0.2\ncid,0.1,0.3,0.3\n"
SAME = {
    "bom.csv": "\ufeffx,model,y,z\n9,ann,8,1\n5,bob,7,2\n1,cid,3,3\n",
    "semicolons.csv": f"\n;\n{WIDE}\n".replace(",", ";"),
    "wide.csv": WIDE.replace(",", ";").replace(".", ","),
    "tabs.TSV": WIDE.replace(",", "\t"),
    "percent.csv": "Model,x,y,z\nann,90%,80 %,10%\nbob,50%,70%,20%\ncid,10%,30%,30%\n",
    "quoted.csv": '"model","x","y","z",\n"ann",9,8,1,\n"bob",5,7,2,\n"cid",1,3,3,\n\n',
    "summaries.csv": "T,Model,Average ⬆️,x,y,z,#Params (B),CO₂ cost (kg),License,MoE\n"
    "o,ann,1,9,8,1,7,1,mit,False\no,bob,2,5,7,2,1,1,mit,True\no,cid,3,1,3,3,2,2,,True\n",
    "pandas.csv": ",id,model,x,y,z,Unnamed: 5\n0,7,ann,9,8,1,1\n1,8,bob,5,7,2,2\n2,9,cid,1,3,3,3\n",
    "long.csv": "model,category,question_id,score\n"
    + "".join(
        f"{m},c,{t},{s}\n"
        for t, row in {"x": (9, 5, 1), "y": (8, 7, 3), "z": (1, 2, 3)}.items()
        for m, s in zip(("ann", "bob", "cid"), row, strict=True)
    ),
    "rows.jsonl": '{"model": "ann", "x": 9, "y": 8, "z": 1}\n'
    '{"model": "bob", "x": 5, "y": 7, "z": 2, "tags": ["a"]}\n'
    '{"model": "cid", "x": 1, "y": 3, "z": 3}\n',
}


@pytest.mark.parametrize("name", SAME)
def test_every_layout_of_the_same_scores_has_the_same_ratings(
    name: str, tmp_path: Path, capsys: Capsys
) -> None:
    expected = rate(capsys, write(tmp_path / "plain.csv", WIDE))
    document = rate(capsys, write(tmp_path / name, SAME[name]))
    assert models(document) == pytest.approx(models(expected))
    assert tasks(document) == {"x", "y", "z"}


URL = "chat:qwen2.5:7b@http://localhost:11434/v1"


def test_each_model_stands_whole_below_the_table_whatever_its_name(
    tmp_path: Path, capsys: Capsys
) -> None:
    names = [URL, f"[red]{URL}[/red]", *(f"peft:/models/a long name/{n}" for n in range(2))]
    rows = "".join(f"{name},{n}\n" for n, name in enumerate(names))
    path = write(tmp_path / "t.csv", f"model,x\n{rows}")
    assert main(["ratings", "--table", str(path), "--resamples", "0"]) == 0
    text = capsys.readouterr().out
    assert [name for name in names if f": {name}\n" not in text] == []


def judged(path: Path, verdicts: list[tuple[str, str, str, str]]) -> Path:
    rows = [",".join(each) for each in (("model_a", "model_b", "prompt", "winner"), *verdicts)]
    return write(path, "\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("first", "second", "tie"),
    [("model_a", "model_b", "tie (bothbad)"), ("A>>B", "B>>A", "A=B"), ("ann", "bob", "Tie")],
)
def test_judged_pairs_are_rated_by_their_mean_verdicts(
    first: str, second: str, tie: str, tmp_path: Path, capsys: Capsys
) -> None:
    """On x ann wins twice and loses once, on y both are equal; a row without a verdict is none."""
    verdicts = [("ann", "cid", "z", ""), ("bob", "ann", "y", ""), ("ann", "bob", "y", tie)]
    verdicts += [("ann", "bob", "x", each) for each in (first, first, second)]
    document = rate(capsys, judged(tmp_path / "t.csv", verdicts), resamples=40)
    assert {each["model"]: each["mean"] for each in document["models"]} == {
        "ann": pytest.approx(7 / 12),
        "bob": pytest.approx(5 / 12),
    }
    assert tasks(document) == {"x", "y"}
    bounds = [(each["mass"]["low"], each["mass"]["high"]) for each in document["games"]]
    assert all(0 <= low <= high <= 1 for low, high in bounds), "of the draws that have the task"


def test_battles_on_prompts_of_their_own_are_one_task(tmp_path: Path, capsys: Capsys) -> None:
    names = ["ann", "bob", "cid"]
    verdicts = [
        (names[a], names[b], f"{a}{b}", "model_a" if a < b else "model_b")
        for a in range(3)
        for b in range(3)
        if a != b
    ]
    verdicts.append(("ann", "dan", "ad", "model_b"))  # dan met nobody else, and is left out
    document = rate(capsys, judged(tmp_path / "t.csv", verdicts), resamples=5)
    assert tasks(document) == {"all judgements"}
    assert [each["model"] for each in document["models"]] == names
    assert [each["mean"] for each in document["models"]] == [1.0, 0.5, 0.0]


def test_many_battles_of_models_need_no_memory_for_each(tmp_path: Path, capsys: Capsys) -> None:
    """14,790 tasks of 30 × 30 models would take more than is there, and one of them is full."""
    names = [f"m{number:02}" for number in range(30)]
    pairs = [*combinations(names, 2)]
    verdicts = [(*pair, f"q{at}{pair}", "model_a") for pair in pairs for at in range(33)]
    file = judged(tmp_path / "t.csv", [(a, b, q.replace(", ", ""), w) for a, b, q, w in verdicts])
    with patch("archive.statistics.outcome_table.check_memory") as check:
        document = rate(capsys, file)
    assert check.call_args_list[0].args == ((1, 30, 30),)
    assert (tasks(document), len(models(document))) == ({"all judgements"}, 30)


def test_each_task_of_a_long_table_has_its_unit(tmp_path: Path, capsys: Capsys) -> None:
    rows = "model,task,score\nann,x,85%\nbob,x,0\nann,elo,1250\nbob,elo,1300\n"
    file = write(tmp_path / "scores.csv", rows)
    assert main(["ratings", "--table", str(file)]) == 0
    assert "elo" in capsys.readouterr().out


def test_of_a_balanced_table_a_block_is_left(tmp_path: Path, capsys: Capsys) -> None:
    """Each of twenty tasks lacks one of five models, and each model four tasks."""
    rows = [f"m{m},t{t},{m + t % 7}" for t in range(20) for m in range(5) if t % 5 != m]
    file = write(tmp_path / "t.csv", "\n".join(["model,task,score", *rows, ""]))
    document = rate(capsys, file)
    assert (len(models(document)), len(tasks(document))) == (3, 8)


PAIRS = "model_a,model_b,prompt,winner\nann,bob,q,model_a\n"
FAULTS = [
    (f"{PAIRS}bob,ann,q,cid\n", "row 3, column winner: found 'cid', expected model_a, model_b"),
    (f"{PAIRS}ann,ann,q,tie\n", "row 3, column model_b: found 'ann', expected another model"),
    ("model_a,model_b,prompt,winner\nann,bob,q,\n", "found no two models that were compared"),
    ("model,x\nann,1\nbob,nan\n", "row 3, column x: found 'nan', expected a number up to 1e+100"),
    ("model,x\nann,1_0\nbob,-1\n", "row 2, column x: found '1_0', expected a number up to 1e+100"),
    ("model;x\nann;1.5\nbob;12,345\n", "'12,345', expected a number up to 1e+100 (0.5 and 1000"),
    ("model;x\nann;1,5\nbob;one\n", "'one', expected a number up to 1e+100 (0,5 and 1000, no"),
    ("model,x\nann,1e308\nbob,-1\n", "row 2, column x: found '1e308', expected a number up"),
    ("model,x\nann,12%\nbob,-\ncid,0.3\n", "row 4, column x: found '0.3', expected a number with"),
    ("model,x\nann,12%\nbob,fail\ncid,pass\n", "row 4, column x: found 'pass', expected a number"),
    ("model,x\nann,1\nann,2\n", "row 3, column model: found 'ann', expected each once (row 2"),
    ("model,x\nann,1\n", "found one model, ann, expected two or more"),
    ("model,x,y\nann,1,\nbob,,1\n", "found no two models that were compared on one task"),
    ("", "is empty: found no row"),
    ("model,x\nann\udce9,1\nbob,2\n", "t.csv: found bytes that are no UTF-8, expected a table"),
    ("model;x;y\nann;0,5;7.0\nbob;0,1;8.0\n", "row 2, column x: found '0,5', expected a number"),
    ("model,task,score\na,t,1\na,t,2\n", "row 3, column task: found 't', expected one score of a"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_a_bad_cell_is_answered_by_row_and_column(
    text: str, message: str, tmp_path: Path, capsys: Capsys
) -> None:
    refused(capsys, message, "--table", str(write(tmp_path / "t.csv", text)))


def test_files_and_arguments_that_do_not_fit_are_answered_in_a_sentence(
    tmp_path: Path, capsys: Capsys
) -> None:
    table = str(write(tmp_path / "t.csv", WIDE))
    refused(capsys, "found neither, expected runs, or --table FILE")
    refused(capsys, "found both", str(tmp_path), "--table", table)
    refused(capsys, "found no file", "--table", str(tmp_path / "no.csv"))
    lines = str(write(tmp_path / "t.jsonl", '{"model": "ann"}\n3\n'))
    refused(capsys, "row 2: found int, expected an object", "--table", lines)
    refused(capsys, "ends in .csv", "--table", str(tmp_path / "t.xlsx"))
    refused(capsys, "no column size, expected one of model", "--table", table, "--score", "size")
    refused(capsys, "found", "--table", str(write(tmp_path / "t.parquet", "PAR1")))
    pairs = str(write(tmp_path / "pairs.csv", PAIRS))
    refused(capsys, "found judged pairs", "--table", pairs, "--preference", "margin")


def refused(capsys: Capsys, message: str, *arguments: str) -> None:
    assert message in error_of(capsys, main, "ratings", *arguments)
