"""A benchmark configuration of the authors' engine is measured like the folder with its maps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.exported import TEXTS

from archive.export.selection import Map
from archive.export.xent import with_texts
from evo.measure.folder import read_benchmark
from xgl.runtime.requests import StoryRequest

CODE = (
    "assign(s=story(), s1=story())\nelicit(t, 3)\n"
    "ensure(len(common_word_set(s, t)) == 0)\nreward(xed(s | t))\nreward(xed(s1 | t))"
)


def benchmark(path: Path, **changes: Any) -> Path:
    """An expanded configuration as ``archive export --format xent`` writes it."""
    maps = [Map(seed, (TEXTS[seed], f'It\'s "{TEXTS[seed + 1]}"\n\u2028é')) for seed in range(3)]
    config = {
        "config_type": "expanded_xent_config",
        "metadata": {"judge_model": "embedded", "num_rounds_per_game": 30},
        "players": [{"name": "black", "player_type": "mock"}],
        "games": [{"name": "both", "code": CODE, "presentation_function": "import os"}],
        "maps": [
            {"name": "both", "code": with_texts(CODE, each), "map_seed": "x"} for each in maps
        ],
        **changes,
    }
    path.write_text(json.dumps(config))
    return path


def test_games_maps_and_judge_are_those_of_the_file(tmp_path: Path) -> None:
    found = read_benchmark(benchmark(tmp_path / "expanded.json"))
    [member] = found.members
    assert (member.name, member.task.role, found.judge) == ("both", "black", "embedded")
    assert member.maps == (1, 3, 5)
    assert member.stories.story_texts([(5, StoryRequest(0, 9)), (1, StoryRequest(1, 9))]) == [
        TEXTS[2],
        f'It\'s "{TEXTS[1]}"\n\u2028é',
    ]
