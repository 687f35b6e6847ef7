"""An exported measure in the authors' package: it loads, it plays, and it scores as ours does."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from peer_benchmark import one_round_config, run
from peer_engine import Peer
from support.measured import Given, build

from archive import Archive, Run
from archive.export.folder import Options, export
from archive.export.selection import Map
from archive.run import ArchivedStories
from xgl import Cast, Instance, Metadata, Play, Seeds, game, parse, play_all
from xgl.judge.transformer_judge import TransformerJudge
from xgl.library import find
from xgl.players import FixedMovesPlayer

pytestmark = pytest.mark.long

BITS_A_TOKEN = 1e-3
MOVES = ("owl light at noon", "seven lamps, one moon and a long sentence beyond any limit at all")
GAMES = (
    Given(find("contrast").text),
    Given(find("echo").text),
    Given(find("fig_3_01_single_text").text, "paper"),
    Given(find("fig_3_01_missing_link").text, "paper"),
    Given(find("fig_3_03_one_way_cut").text, "paper"),
    Given(find("fig_3_03_unexpected_prefix").text, "paper"),
    Given(find("fig_3_03_unrelated_prefixes").text, "paper"),
    Given(find("fig_3_05_derailment").text, "paper"),
    Given(find("fig_3_13_message").text, "paper", "bob"),
    Given(find("fig_3_13_censor").text, "paper", "alice"),
    Given(
        "elicit(white, s1, s0)\nassign(t=s1, s=t + b)\nreveal(carol, s1 + s0)\n"
        'ensure(is_false("no common words", s, a), is_true("num_tokens<30", s))\n'
        "elicit(carol, x, 5)\nreplay(flag_2, 2)\nreward(env, xed(s | x))\nassign(l=[x, s])\n"
        "ensure(xent(s) - 3 < 900, 1 + xed(x | s) <= 900 + xed(x | b))\n"
        'reward(carol, xed(s | x) - xent(x // "a") + nex(" ".join(l)))',
        "paper",
        "carol",
        Metadata(constants={"a": "the lamps", "b": "seven lamps"}),
    ),
    Given(
        'assign(l=[story(), "x"])\nelicit(x)\nreveal(first_n_tokens(x, 2))\n'
        'assign(s=x % "o")\nensure("only uses words" in x or num_words(x) > 0)\n'
        'reward(xent(" ".join(l) | x) + xent("") - dex(s | x))'
    ),
    Given(
        "assign(s=story())\nbeacon(flag_1)\nelicit(x, 5)\nreward(xed(y | x) + xed(s | x))\n"
        'assign(y=x // x)\nreward(xed(y | s, ""))\nreplay(flag_1, 1)'
    ),
)


@pytest.fixture(scope="module")
def measure_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measure")
    run = Run(Archive.open(build(folder / "archive", GAMES)))
    export(run, folder / "out", Options("xent", scores=False, with_judge=True))
    return folder / "out"


@pytest.fixture(scope="module")
def measure(measure_folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((measure_folder / "measure.json").read_text())
    return facts


def configs(measure_folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    for path in sorted(measure_folder.glob(f"{kind}*.json")):
        yield json.loads(path.read_text())


def test_its_discovery_finds_every_game_with_its_presentation(
    measure_folder: Path, measure: dict[str, Any], peer: Peer
) -> None:
    from xent.common.game_discovery import discover_games_in_dir
    from xent.presentation.executor import PresentationFunction

    games = {each["name"]: each for each in discover_games_in_dir(measure_folder)}
    assert set(games) == {member["name"] for member in measure["members"]}
    for config in configs(measure_folder, "condensed"):
        for each in config["games"]:
            same = games[each["name"]]
            assert same["code"].rstrip("\n") == each["code"]
            assert same["presentation_function"] == each["presentation_function"]
            assert PresentationFunction(each["presentation_function"]).validate()


def test_every_map_scores_there_as_here(
    measure_folder: Path,
    measure: dict[str, Any],
    peer: Peer,
    judge: TransformerJudge,
    tmp_path: Path,
) -> None:
    members = {each["name"]: each for each in measure["members"]}
    count = 0
    for config in configs(measure_folder, "expanded"):
        results = run(one_round_config(config, MOVES), peer.judge, tmp_path)
        assert len(results) == len(config["maps"])
        for (name, seed), result in results.items():
            member = members[name]
            play = played_here(measure_folder, member, int(seed), judge)
            history = result["round_results"][0]["history"]
            rewards = [event for event in history if event["type"] == "reward"]
            tokens = sum(len(event["value"]["pairs"]) for event in rewards)
            assert play.outcome == "finished", member["code"]
            assert play.scores[member["role"]] == pytest.approx(
                result["score"], abs=BITS_A_TOKEN * tokens
            ), member["code"]
            count += 1
    assert count == 3 * len(GAMES)


def played_here(
    measure_folder: Path, member: dict[str, Any], seed: int, judge: TransformerJudge
) -> Play:
    """The exported file itself, on the map that measure.json tells, all chairs scripted."""
    text = (measure_folder / member["file"]).read_text()
    game_ = game(parse(text, "xent"), Metadata(**member["metadata"]))
    [row] = [one for one in member["maps"] if one["map_seed"] == seed]
    one = Map(seed, tuple(story["text"] for story in row["stories"]))
    seeds = Seeds(seed, 0)
    players = {name: FixedMovesPlayer({seeds: MOVES * 50}) for name in ALL}
    [play] = play_all([Instance(game_, seeds)], Cast(judge, ArchivedStories(dict([one])), players))
    return play


ALL = ("black", "white", "alice", "bob", "carol", "env")


def test_a_player_reads_rules_texts_and_rewards(
    measure_folder: Path, measure: dict[str, Any], peer: Peer, tmp_path: Path
) -> None:
    config = json.loads((measure_folder / "expanded.json").read_text())
    script_config = one_round_config(config, MOVES)
    script_config["maps"] = script_config["maps"][:1]
    script_config["metadata"] |= {"num_rounds_per_game": 2, "store_full_player_interactions": True}
    [result] = run(script_config, peer.judge, tmp_path).values()
    answers = [
        event
        for each in result["round_results"]
        for event in each["history"]
        if event["type"] == "elicit_response"
    ]
    first, *_, last = (message["content"] for message in answers[-1]["prompts"])
    [name] = {each["name"] for each in script_config["maps"]}
    [member] = [each for each in measure["members"] if each["name"] == name]
    assert "writes x, at most 8 tokens." in first
    assert "The game is played 2 times on the same texts" in first
    assert all(story["text"] in first for story in member["maps"][0]["stories"])
    assert "You wrote: owl" in last
    assert "Your best round so far:" in last
    assert member["maps"][0]["stories"][0]["text"] not in last


def test_its_own_expansion_of_the_condensed_games_gives_the_expanded_ones(
    measure_folder: Path, measure: dict[str, Any], peer: Peer
) -> None:
    from xent.benchmark.expand_benchmark import expand_game_config

    members = {each["name"]: each for each in measure["members"]}
    pairs = zip(
        configs(measure_folder, "condensed"), configs(measure_folder, "expanded"), strict=True
    )
    for condensed_config, expanded_config in pairs:
        games = {each["name"]: each for each in condensed_config["games"]}
        for expanded_map in expanded_config["maps"]:
            maps = members[expanded_map["name"]]["maps"]
            [one] = [each for each in maps if str(each["map_seed"]) == expanded_map["map_seed"]]
            texts = iter([story["text"] for story in one["stories"]])
            teller: Any = SimpleNamespace(generate_text=texts.__next__)
            theirs = expand_game_config(
                games[expanded_map["name"]], expanded_map["map_seed"], teller
            )
            assert syntax_of(theirs["code"]) == syntax_of(expanded_map["code"])
            assert {**theirs, "code": ""} == {**expanded_map, "code": ""}


def syntax_of(code: str) -> list[str]:
    return [ast.dump(ast.parse(line)) for line in code.split("\n")]
