"""The measure of a run as a folder: what it holds, and how an export fails."""

from __future__ import annotations

import ast
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from support.doubles import WordJudge
from support.measured import Given, build, story
from support.rows import row as make_row

from archive import Archive, Run
from archive.errors import ExportError
from archive.export.folder import Options, export
from archive.export.selection import Map, choose
from archive.export.xent import TEMPLATE, fill_template, with_texts
from archive.run import ArchivedStories
from xgl import Cast, Game, Instance, Metadata, Seeds, analyse, game, parse, play_all, read_game
from xgl.library import find
from xgl.players import FixedMovesPlayer

PAPER = Given(find("missing_link").text, "paper")
ECHO = Given(find("echo").text)
BOB = Given(find("fig_3_13_message").text, "paper", "bob")
QUICK = Options("xent", scores=False)


def outcome(played: Game, role: str, one: Map) -> str:
    """How a play on a map ends for the role, when every player makes one move."""
    seeds = Seeds(one.map_seed, 0)
    player, names = FixedMovesPlayer({seeds: ("owl light",)}), analyse(played.program).players
    cast = Cast(WordJudge(), ArchivedStories(dict([one])), dict.fromkeys(names, player))
    return play_all([Instance(played, seeds)], cast)[0].outcome_for(role)


def test_the_folder_is_what_measure_json_says(tmp_path: Path) -> None:
    """Each member plays from its file, its metadata and its maps."""
    folder = tmp_path / "measure"
    options = Options("inspect", scores=False)
    export(Run(Archive.open(build(tmp_path / "archive", [PAPER, ECHO, BOB]))), folder, options)
    assert "\ninspect eval task.py " in (folder / "README.md").read_text()
    facts: dict[str, Any] = json.loads((folder / "measure.json").read_text())
    assert (facts["format"], facts["version"]) == ("xent-measure", 1)
    names = {path.name for path in folder.iterdir()}
    assert names == {"measure.json", *facts["files"]}
    assert {"task.py", "expanded.json", "condensed.json", "expanded-bob.json"} <= names
    for name, digest in facts["files"].items():
        assert sha256((folder / name).read_bytes()).hexdigest() == digest
    assert [member["role"] for member in facts["members"]] == ["black", "black", "bob"]
    for member, of in zip(facts["members"], (PAPER, ECHO, BOB), strict=True):
        raw = (folder / member["file"]).read_bytes()
        assert sha256(raw).hexdigest() == member["code_sha256"]
        member_game = game(parse(raw.decode(), "xent"), Metadata(**member["metadata"]))
        assert member["game_id"] == of.game.game_id
        assert member["covers"] == [of.game.game_id]
        maps = [
            Map(each["map_seed"], tuple(text["text"] for text in each["stories"]))
            for each in member["maps"]
        ]
        assert [each.map_seed for each in maps] == [1, 3, 5]
        assert maps[1].stories[0] == story(3, 0)
        assert {outcome(member_game, member["role"], one) for one in maps} == {"finished"}


@given(st.text())
def test_any_text_is_one_literal(text: str) -> None:
    """The presentation differs from the fixed file in one string, which holds the data."""
    source = fill_template(text, [text], "black")
    tree, template_tree = ast.parse(source), ast.parse(TEMPLATE)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    [data] = [node for node in calls if ast.unparse(node.func) == "json.loads"]
    assert json.loads(data.args[0].value) == {"code": text, "rules": [text], "role": "black"}
    data.args[0].value = "{}"
    assert ast.dump(tree) == ast.dump(template_tree)


@given(st.text(), st.text())
def test_a_map_s_text_is_one_literal_in_its_line(first: str, second: str) -> None:
    code = 'assign(s="story() é", t="é" + story())\nassign(x=story() + s)'
    filled_in = with_texts(code, Map(1, (first, second)))
    lines = filled_in.split("\n")
    assert len(lines) == len(filled_in.splitlines()) == 2
    nodes = (ast.walk(ast.parse(line)) for line in lines)
    values = [[node.value for node in own if isinstance(node, ast.Constant)] for own in nodes]
    assert values == [["story() é", "é", first], [second]]


def test_playable_games_are_drawn_from_all_that_were_learned(tmp_path: Path) -> None:
    """The initial games, and what a fine-tune surely learned, accepted or refused."""
    many = [Given(f"assign(s=story())\nelicit(t, {n})\nreward(xed(s | t))") for n in range(4, 9)]
    folder = build(tmp_path / "archive", many)
    lows = {4: (1.0, 1.0), 5: (1.0, -1.0), 6: (0.5, 0.5)}
    decisions = []
    for n, (own, total) in lows.items():
        ids = {"run_id": "r1", "game_id": f"g{n}", "role": "black"}
        decisions.append(make_row("decisions", **ids, own_gain_low=own, total_gain_low=total))
    with Archive.open(folder, "a") as archive:
        archive.commit({"decisions": decisions})
        run = Run(archive, "r1")
        selection = choose(run, Options(playable=7))
        everything = {each.game_id for each in selection.covers}
        assert {"g4", "g6"} < everything
        assert "g5" not in everything
        assert selection.how == "7 games drawn at random from its 7 initial and learned ones"
        drawn = [choose(run, Options(playable=3)).covers for _ in range(2)]
        assert (len(drawn[0]), drawn[0]) == (3, drawn[1])
        with pytest.raises(ExportError, match="--playable: found 8, expected a number from 1 to 7"):
            choose(run, Options(playable=8))


REFUSED = {
    Options("peft", scores=False): "--no-scores: found --format peft, .*, expected xent or inspect",
    Options(maps=3): "--maps: found --format xgl, where it has no effect, expected xent or ins",
    Options("xent", eta=0.3, playable=1): "found --playable and --eta, expected one way",
    Options("games", skip_unplayable=True): "--skip-unplayable: found no --eta, expected",
    Options("xent", maps=1): "--maps: found 1, expected 2 or more for a measure",
}


def test_games_that_cannot_be_expressed_are_refused_by_name(tmp_path: Path) -> None:
    judged_member = Given('elicit(s, 5)\nensure("It rains: " + s)\nreward(xent(s))', "paper")
    run = Run(Archive.open(build(tmp_path / "archive", [ECHO, judged_member])))
    with pytest.raises(ExportError) as error:
        export(run, tmp_path / "out", QUICK)
    assert "cannot play 1 of 2 games" in str(error.value)
    assert f"{judged_member.game.game_id} (black): line 2: a model judges" in str(error.value)
    assert not (tmp_path / "out").exists()
    export(run, tmp_path / "out", Options("xent", scores=False, allow_inexact=True))
    manifest = json.loads((tmp_path / "out" / "measure.json").read_text())
    assert len(manifest["members"][1]["conversion"]["inexact"]) == 1
    for refused, message in REFUSED.items():
        with pytest.raises(ExportError, match=message):
            export(run, tmp_path / "other", refused)
    assert "**not exact**" in (tmp_path / "out" / "README.md").read_text()


def test_one_file_for_each_game_of_the_newest_scope(run_folder: Path, tmp_path: Path) -> None:
    export(Run(Archive.open(run_folder)), tmp_path / "new" / "out", Options())
    first, second = sorted((tmp_path / "new" / "out").iterdir())
    assert (first.name, second.name) == ("aaaa11110000-black.xent", "bbbb22220000-black.xgl")
    facts = {"game_id": "bbbb22220000ffff", "role": "black", "scope": "1", "generation": "1"}
    facts |= {"gamma": "0.125", "parent": "aaaa11110000ffff", "metadata": ""}
    head = [f"# {name}: {value}" for name, value in facts.items()]
    assert second.read_text().splitlines() == [*head, "reward(xed(s | t))"]
    assert "# gamma: none (initial scope)" in first.read_text()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]


def test_a_game_with_metadata_of_its_own_is_read_back_with_them(tmp_path: Path) -> None:
    own = Metadata(prompts={"a": "a city\n# no"}, constants={"b": "it's"}, judge="weak", npc="weak")
    given = Given("elicit(t, 8)\nreward(xent(t | a + b))", metadata=own)
    export(Run(Archive.open(build(tmp_path / "a", [given]))), tmp_path / "games", Options())
    [path] = (tmp_path / "games").iterdir()
    assert read_game(path) == given.game
