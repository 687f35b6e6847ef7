"""Benchmark configurations of the authors' package: condensed, and expanded with maps.

A configuration names the player that is measured, so games of other roles have their own.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

from archive.export.selection import ExportedGame, Map
from xgl.analysis.plain_english import in_words
from xgl.analysis.static_facts import analyse
from xgl.language.canonical import game
from xgl.language.syntax import MAIN_PLAYER
from xgl.lowering import LoweredProgram
from xgl.lowering.passes import FAILURES

XENT_VERSION = "0.5.0"
ROUNDS = 30
"""Rounds on one map in the authors' benchmark."""

Json = dict[str, Any]


def configurations(
    members: Sequence[ExportedGame], judge: str, benchmark_id: str, seed: int
) -> dict[str, Json]:
    """Configuration by file name. ``judge`` is what the package loads."""
    by_file: dict[str, Json] = {}
    for role in dict.fromkeys(member.role for member in members):
        some = [member for member in members if member.role == role]
        end = "" if role == MAIN_PLAYER else f"-{role}"
        common = _common(some, role, judge, benchmark_id + end, seed)
        by_file[f"condensed{end}.json"] = _condensed_config(common, some)
        by_file[f"expanded{end}.json"] = _expanded_config(common, some)
    return by_file


def _common(
    members: Sequence[ExportedGame], role: str, judge: str, benchmark_id: str, seed: int
) -> Json:
    chairs = {name for member in members for name in analyse(member.lowered_game.program).players}
    metadata = {
        "benchmark_id": benchmark_id,
        "xent_version": XENT_VERSION,
        "judge_model": judge,
        "num_rounds_per_game": ROUNDS,
        "seed": str(seed),
        "store_full_player_interactions": False,
        "npcs": [_player(name) for name in sorted(chairs - {role})],
    }
    games = [
        {
            "name": member.name,
            "code": member.lowered_game.text,
            "presentation_function": presentation(member.lowered_game, member.role),
        }
        for member in members
    ]
    return {"metadata": metadata, "players": [_player(role)], "games": games}


def _player(name: str) -> Json:
    """A mock player that makes one constant move, to be replaced."""
    return {"name": name, "id": f"mock-{name}", "player_type": "mock", "options": {}}


def _condensed_config(common: Json, members: Sequence[ExportedGame]) -> Json:
    tokens = max(member.lowered_game.metadata.story_tokens for member in members)
    generation = {"generator_type": "JUDGE", "generator_config": {}, "max_length": tokens}
    count = max(len(member.maps) for member in members)
    expansion = {"num_maps_per_game": count, "text_generation_config": generation}
    return {"config_type": "condensed_xent_config", **common, "expansion_config": expansion}


def _expanded_config(common: Json, members: Sequence[ExportedGame]) -> Json:
    presentations: Mapping[str, str] = {
        g["name"]: g["presentation_function"] for g in common["games"]
    }
    maps = [
        {
            "name": member.name,
            "code": with_texts(member.lowered_game.text, game_map),
            "presentation_function": presentations[member.name],
            "map_seed": str(game_map.map_seed),
        }
        for member in members
        for game_map in member.maps
    ]
    return {"config_type": "expanded_xent_config", **common, "maps": maps}


def with_texts(code: str, game_map: Map) -> str:
    """The program with each ``story()`` replaced by the map's text, as the authors' package
    expands it: a literal, escaped so that it can neither end nor break its line."""
    texts = iter(game_map.stories)
    return "\n".join(_fill_stories(line, texts) for line in code.split("\n"))


def _fill_stories(line: str, texts: Iterator[str]) -> str:
    tree = ast.parse(line, mode="eval")
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_story(node)]
    if not calls:
        return line
    # In the order written, which is that of sites; from the end, so that places stay.
    calls.sort(key=lambda node: node.col_offset)
    replacements = [(node, next(texts)) for node in calls]
    raw = line.encode()
    for node, text in reversed(replacements):
        raw = raw[: node.col_offset] + ascii(text).encode() + raw[node.end_col_offset or 0 :]
    return raw.decode()


def _is_story(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "story"


_PLACE = 'json.loads("{}")'
TEMPLATE = files("archive.export").joinpath("presentation_template.py").read_text("utf-8")


def presentation(lowered_game: LoweredProgram, role: str) -> str:
    """The presentation file of a game measured in ``role``."""
    metadata = replace(lowered_game.metadata, max_failures=FAILURES)
    rules = in_words(game(lowered_game.program, metadata), role)
    return fill_template(lowered_game.text, rules, role)


def fill_template(code: str, rules: Sequence[str], role: str) -> str:
    """The fixed file with a game's data in its place.

    Its JSON, in ASCII, is written as a JSON string; with its escapes this is a Python string of the
    same value.
    """
    data = json.dumps({"code": code, "rules": list(rules), "role": role})
    assert TEMPLATE.count(_PLACE) == 1
    head, tail = TEMPLATE.split(_PLACE)
    return f"{head}json.loads({json.dumps(data)}){tail}"
