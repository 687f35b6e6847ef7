"""Questions to the small archive, whose answers are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.rows import row as make_row

from archive import Archive, LookupFailedError, Run, resolve, runs
from archive.__main__ import COMMANDS, main
from archive.run import asked_of, longest_text, map_source, newest_run, parents
from archive.schema import ScopeRow
from archive.store.archive import MARKER
from xgl.runtime.requests import StoryRequest


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
            assert longest_text(rows, StoryRequest(0, tokens, prompt, few)) == expected


def test_a_member_of_a_scope_descends_from_the_seat_that_its_decision_names() -> None:
    """A game in two seats has two places (§4.1)."""
    bob, alice = (ScopeRow("a", role, None, None, 0) for role in ("bob", "alice"))
    child = ScopeRow("b", "bob", "a", 0.1, 1, "alice")
    assert parents([bob, alice, child]) == [None, None, 1]
    assert parents([bob, alice, ScopeRow("b", "bob", "a", 0.1, 1)]) == [None, None, 0]


# -- A game's name in the report is accepted wherever a game is named ------------------------------


EXAMPLE = Path(__file__).parents[2] / "docs" / "example"
IDS = {"Rival": "81fbe478", "Rival.1": "334f5179", "Rival.2": "2fa2a3a5"}
OF_GAMES = [
    (command.__name__, *([] if argument.names == ["game"] else argument.names))
    for command, accepted in COMMANDS.items()
    for argument in accepted
    if argument.options.get("metavar") == "GAME"
]


@pytest.mark.parametrize("words", OF_GAMES, ids="-".join)
@pytest.mark.parametrize("name", ["Rival.1", "rival.2", IDS["Rival"]])
def test_every_command_about_a_game_takes_its_name(
    words: tuple[str, ...], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command, *option = words
    if option and name == IDS["Rival"]:
        return  # nothing was decided on it
    assert main([command, str(EXAMPLE / "run"), *option, name]) == 0
    assert IDS.get(name.capitalize(), name) in capsys.readouterr().out
