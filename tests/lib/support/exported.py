"""An exported Xent Measure as docs/how-to/measure.md describes it, written by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TEXTS = (
    "The old dog slept near the warm fire.",
    "Anna lost her red ball in the tall grass.",
    "Rain fell on the small boat all night.",
    "A bird sang above the quiet river.",
    "The baker made a cake for the king.",
    "Tom found a shiny key under the bed.",
)
GAMES = {
    "first": "assign(s=story())\nelicit(t, 4)\nreward(xed(s | t))\n",
    "second": "assign(s=story(), s1=story())\nelicit(t, 3)\nreward(xed(s | t) + xed(s1 | t))\n",
}
METADATA = {"story_tokens": 16, "max_len": 8, "max_failures": 2, "constants": {}}
METADATA |= {"max_characters": 4096}


def write_measure(
    folder: Path,
    games: Mapping[str, str] = GAMES,
    maps: int = 3,
    thresholds: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Path:
    """Write the folder; ``thresholds`` by game name, ``changes`` of keys of measure.json."""
    folder.mkdir(parents=True)
    for name, code in games.items():
        (folder / f"{name}.xent").write_text(code)
    members = [
        _member(name, code, range(1, 2 * maps, 2), (thresholds or {}).get(name))
        for name, code in games.items()
    ]
    manifest = {
        "format": "xent-measure",
        "version": 1,
        "judge": {"model": "embedded", "folder": None, "dtype": "float32", "sha256": None},
        "members": members,
        **changes,
    }
    (folder / "measure.json").write_text(json.dumps(manifest))
    return folder


def _member(name: str, code: str, maps: Sequence[int], thresholds: Any) -> dict[str, Any]:
    sites = code.count("story(")
    texts = {seed: [TEXTS[(seed + site) % len(TEXTS)] for site in range(sites)] for seed in maps}
    stories = [
        {"map_seed": seed, "stories": [{"site": n, "text": t} for n, t in enumerate(its)]}
        for seed, its in texts.items()
    ]
    return {
        "game_id": "0" * 16,
        "role": "black",
        "name": name,
        "file": f"{name}.xent",
        "metadata": METADATA,
        "code_sha256": hashlib.sha256(code.encode()).hexdigest(),
        "thresholds": thresholds,
        "maps": stories,
    }
