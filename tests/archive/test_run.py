"""Questions to the small archive, whose answers are known."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.example import EXAMPLE, GAMES
from support.rows import row as make_row, write

import archive.run
from archive import Archive, LookupFailedError, Run, notebook, resolve, runs
from archive.__main__ import COMMANDS, main
from archive.run import asked_of, longest_text, map_source, measure_source, newest_run, parents
from archive.schema import GainKind, ScopeRow, TaskId
from archive.statistics.covers import CoverQuestion
from archive.store.archive import MARKER
from archive.views import cover, decisions, inspection, matrix
from xgl.runtime.requests import StoryRequest


def printed(show: Callable[[Any, Console], None], what: Any) -> str:
    console = Console(record=True, width=200, file=io.StringIO())
    show(what, console)
    return console.export_text()


def test_the_last_touched_run_is_the_default(tmp_path: Path) -> None:
    with Archive.create(tmp_path) as archive:
        with pytest.raises(LookupFailedError, match=r"is empty: found no run, expected at least"):
            Run(archive)
        archive.commit({"runs": [make_row("runs", run_id=run_id) for run_id in ("r1", "x2", "r1")]})
        assert [run.run_id for run in runs(archive)] == ["x2", "r1"]
        assert Run(archive).run_id == "r1"
        assert Run(archive, "x").run_id == "x2"
        with pytest.raises(LookupFailedError, match=r"found no scope of run r1"):
            _ = Run(archive, "r1").newest_scope


def test_a_run_that_was_killed_before_its_first_commit_is_not_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, killed = (tmp_path / "runs" / name / "archive" for name in ("whole", "killed"))
    Archive.create(whole).close()
    killed.mkdir(parents=True)
    (killed / MARKER).write_bytes((whole / MARKER).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert newest_run() == Path("runs/whole")


def test_names_by_descent_end_with_their_own_role() -> None:
    facts = ("a", "black", None), ("a", "bob", None), ("b", "bob", "a"), ("c", "black", "b")
    members = [ScopeRow(game, role, parent, None, 0) for game, role, parent in facts]
    names = archive.run.names_by_descent(members, ["Rival", "Rival", "", ""])
    assert names == ["Rival (black)", "Rival (bob)", "Rival.1 (bob)", "Rival.1.1 (black)"]


def test_ids_can_be_shortened() -> None:
    ids = ["abcd", "abce", "ab", "xyz"]
    assert resolve("ab", ids) == "ab"
    assert resolve("x", ids) == "xyz"
    with pytest.raises(LookupFailedError, match=r"2 ids that begin with 'abc', .*: abcd, abce"):
        resolve("abc", ids)
    with pytest.raises(LookupFailedError, match=r"found no id 'abdd', expected an id such as abcd"):
        resolve("abdd", ids)


def test_a_map_of_few_maps_and_one_of_any_number_have_texts_of_their_own() -> None:
    """Games of different lengths share a text; those of few maps, and of prompts, do not."""
    sources = map_source("corpus", ""), map_source("corpus", "", 2), map_source("m", "a\nprompt", 2)
    rows = [
        {"source": source, "n_tokens": tokens, "text": f"{place} {tokens}"}
        for place, source in enumerate(sources)
        for tokens in (3, 5)
    ]
    asked = ("", 0), ("", 2), ("a\nprompt", 2)
    assert list(map(asked_of, sources)) == list(asked)
    for place, (prompt, few) in enumerate(asked):
        for tokens, expected in ((2, None), (4, f"{place} 3"), (9, f"{place} 5")):
            assert longest_text(rows, StoryRequest(0, tokens, prompt, few), "a1") == expected


def test_the_maps_of_a_measure_are_those_of_each_game() -> None:
    rows = [
        {"source": measure_source("digest", game), "n_tokens": len(text), "text": text}
        for game, text in (("a1", "a cat"), ("b2", "a longer text"))
    ]
    for game, text in (("a1", "a cat"), ("b2", "a longer text"), ("c3", None)):
        assert longest_text(rows, StoryRequest(0, 99), game) == text


def test_a_member_of_a_scope_descends_from_the_seat_that_its_decision_names() -> None:
    """A game in two seats has two places (§4.1)."""
    bob, alice = (ScopeRow("a", role, None, None, 0) for role in ("bob", "alice"))
    child = ScopeRow("b", "bob", "a", 0.1, 1, "alice")
    assert parents([bob, alice, child]) == [None, None, 1]
    assert parents([bob, alice, ScopeRow("b", "bob", "a", 0.1, 1)]) == [None, None, 0]


def test_a_game_in_two_roles_is_two_games_everywhere(tmp_path: Path) -> None:
    tasks = [TaskId("aaaa11110000ffff", role) for role in ("black", "alice")]
    keys = [task.key for task in tasks]
    gains = {("f0", 0): 4.0, ("f0", 1): 3.0, ("f1", 0): 2.0, ("f1", 1): 8.0}
    scores = [
        make_row(
            "scores", policy_id=policy, **tasks[task]._asdict(), purpose="acceptance",
            map_seed=seed, play_seed=seed, score=seed % 3 + gain, raw_score=seed % 3 + gain,
        )
        for (policy, task), gain in {("base", 0): 0.0, ("base", 1): 0.0, **gains}.items()
        for seed in range(8)
    ]  # fmt: skip
    own = [task._asdict() for task in tasks]
    rows = {
        "runs": [make_row("runs", event="created")],
        "games": [make_row("games", game_id=tasks[0].game_id, dialect="xent", code="elicit(s, 9)")],
        "finetunes": [make_row("finetunes", finetune_id=f"f{n}", **own[n]) for n in (0, 1)],
        "decisions": [make_row("decisions", verdict="accepted", **each) for each in own],
        "scopes": [make_row("scopes", **each) for each in own],
        "scores": scores,
    }
    with Archive.open(write(tmp_path / "archive", **rows)) as archive:
        run = Run(archive)
        found = matrix.gather(run, kind=GainKind.TOTAL)
        assert found["games"] == keys
        measured = {(p["source"], p["target"]): p["gain"]["value"] for p in found["pairs"]}
        assert measured == {(keys[int(f[1])], keys[t]): gain for (f, t), gain in gains.items()}
        shown = printed(matrix.show, found)
        assert all(f"{gain:.1f}" in shown for gain in gains.values())
        assert "aaaa1111:alice" in shown
        graph = matrix.gather_components(run, 0.2)
        assert {each["game"] for each in graph["games"]} == set(keys)
        assert printed(matrix.show_components, graph).count("aaaa1111:alice") == 2
        assert set(inspection.gather(run)["accepted"]) == set(keys)
        answer = cover.gather(run, CoverQuestion(1.0, *run.deciding_value, False, False))
        show = partial(cover.show, programs={tasks[0].game_id: ""})
        taught = printed(lambda what, console: show(what, console=console), answer)
        assert taught.count("aaaa1111:alice") == 3
        alone = inspection.gather_game(archive, tasks[0].game_id, "alice")
        assert {each["role"] for name in ("plays", "scopes") for each in alone[name]} == {"alice"}
        sheet = inspection.gather_game(archive, tasks[0].game_id)
        means = {(row["policy_id"], row["role"]): row["mean"] for row in sheet["plays"]}
        assert means["f1", "alice"] - means["base", "alice"] == 8.0
        assert printed(inspection.show_game, sheet).count("(alice)") == 6
        assert [run.find_task(key) for key in keys] == tasks
        assert run.find_task("aaaa") == tasks[0]


IDS = {name: game_id[:8] for name, game_id in zip(("Rival", "Rival.1"), GAMES, strict=False)}
OF_GAMES = [
    (command.__name__, *([] if argument.names == ["game"] else argument.names))
    for command, accepted in COMMANDS.items()
    for argument in accepted
    if argument.options.get("metavar") == "GAME"
]


@pytest.mark.parametrize(
    ("words", "name"),
    # nothing was decided on Rival
    [(w, n) for w in OF_GAMES for n in ("Rival.1", "rival.1", IDS["Rival"])[: 2 + (not w[1:])]],
)
def test_every_command_about_a_game_takes_its_name(
    words: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *option = words
    assert main([command, str(EXAMPLE), *option, name]) == 0
    assert IDS.get(name.capitalize(), name) in capsys.readouterr().out


def test_why_says_that_games_were_compared_on_different_plays() -> None:
    [why] = decisions.explain(Run(Archive.open(EXAMPLE / "archive")), IDS["Rival.1"])
    shares = [step for step in why["steps"] if step["question"].startswith("is not taught")]
    most = max(shares, key=lambda step: step["value"])
    assert [why["gamma"][name] for name in ("value", "plays")] == [most["value"], most["plays"]]
    assert why["gamma"]["compared"] == sorted({step["plays"] for step in shares})
    why["gamma"]["compared"] = [96, 192]
    shown = " ".join(printed(decisions.show_why, [why]).split())
    assert "on 96 and 192 plays, each until a bound sufficed or the looks ended" in shown


def test_a_role_after_an_id_is_heeded(capsys: pytest.CaptureFixture[str]) -> None:
    ident = IDS["Rival.1"]
    for role, code, found in (("black", 0, ident), ("bob", 2, "found role bob, expected black")):
        for name in (ident, "RIVAL.1"):
            assert main(["decisions", str(EXAMPLE), "--why", f"{name}:{role}"]) == code
            assert found in "".join(capsys.readouterr())
            assert main(["show", str(EXAMPLE), f"{name}:{role}"]) == code
            assert (ident if code == 0 else "in the role bob") in "".join(capsys.readouterr())
    plays = notebook.Run.open(EXAMPLE, backend="pyarrow").plays
    assert len(plays(f"{ident}:black")) == len(plays(ident)) > 0
    with pytest.raises(LookupFailedError, match="found no play in the role bob"):
        plays(f"{ident}:bob")
