"""The benchmark that the authors' own code makes of their packaged games is a measure here."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from evo.measure.folder import read_benchmark

TEXTS = ('It\'s "a" day\n# no comment', "plain text", " é\u2028 x\\n", "", "a\ttab")
MAPS = 3

pytestmark = pytest.mark.long


@pytest.mark.usefixtures("peer")
def test_its_expanded_configuration_is_read_with_its_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from xent.benchmark import expand_benchmark
    from xent.common.game_discovery import discover_packaged_games
    from xent.common.util import dumps

    texts, games = cycle(TEXTS), discover_packaged_games()
    generator = SimpleNamespace(set_seed=lambda *_: None, generate_text=texts.__next__)
    monkeypatch.setattr(expand_benchmark, "Judge", lambda *_, **__: generator)
    generation = {"generator_type": "JUDGE", "generator_config": {}, "max_length": 40}
    condensed = {
        "config_type": "condensed_xent_config",
        "metadata": {
            "benchmark_id": "theirs",
            "xent_version": "0.5.0",
            "judge_model": "embedded",
            "num_rounds_per_game": 30,
            "seed": "s",
        },
        "expansion_config": {"num_maps_per_game": MAPS, "text_generation_config": generation},
        "players": [{"name": "black", "id": "m", "player_type": "default", "options": {}}],
        "games": games,
    }
    path = tmp_path / "expanded.json"
    path.write_text(dumps(expand_benchmark.expand_benchmark_config(condensed), indent=2))
    found = read_benchmark(path)
    assert [member.name for member in found.members] == [each["name"] for each in games]
    by_map = [each for member in found.members for each in member.stories.texts.values()]
    read = [text for texts in by_map for text in texts]
    assert read == [*islice(cycle(TEXTS), len(read))]
    assert ({len(member.maps) for member in found.members}, found.judge) == ({MAPS}, "embedded")
