"""A small archive of a run whose games, maps and moves are given, to export from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.rows import game_row, row, write

from xgl import play
from xgl.language.canonical import Game, Metadata, game
from xgl.language.parser import parse
from xgl.runtime.requests import Judge

CONFIG = {"judge": {"model": "embedded"}, "seed": 7}
STORIES = (
    "Once upon a time a small red hen lived by the river.",
    "The old sailor mended his net while the rain fell.",
    "Two children found a key in the garden, but no door.",
    "A fox ran over the hill and the dog ran after it.",
    'She said: "It\'s late" \\ and left — naïve, 10% of them.',
)
MOVES = (("a hen by the river",), ("rain, nets and boats in the harbour",), ("key",), ("dogs",))


@dataclass(frozen=True)
class Given:
    """One game of the scope: its text in a dialect, and the role it is played in."""

    text: str
    dialect: str = "xent"
    role: str = "black"
    metadata: Metadata = field(default_factory=Metadata)

    @property
    def game(self) -> Game:
        return game(parse(self.text, self.dialect), self.metadata)


def build(folder: Path, members: Sequence[Given], **options: Any) -> Path:
    """The folder, now an archive of :func:`rows_of` with these options."""
    return write(folder, **rows_of(members, **options))


def rows_of(
    members: Sequence[Given],
    maps: int = 3,
    moves: Sequence[Sequence[str]] = MOVES,
    config: Mapping[str, Any] = CONFIG,
    judge: Judge | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """Rows of run ``r1`` whose scope is ``members``, played by two policies on ``maps`` evaluation
    maps; three training maps have texts too.

    Scores are those of ``judge``, all players making the same moves; 0 without one.
    """
    seeds = [2 * index + 1 for index in range(maps)]
    return {
        "runs": [row("runs", seed=7, config_json=json.dumps(config))],
        "games": list({g.game.game_id: game_row(g.game) for g in members}.values()),
        "scopes": [row("scopes", game_id=g.game.game_id, role=g.role) for g in members],
        "maps": [_map(seed, site) for seed in (*seeds, 0, 2, 4) for site in range(4)],
        "scores": [
            _score(g, policy, seed, index, list(moves[(index + shift) % len(moves)]), judge)
            for g in members
            for shift, policy in enumerate(("base", "f1"))
            for index, seed in enumerate(seeds)
        ],
    }


class Stories:
    """The archive's texts, as a story source."""

    def story_texts(self, requests: Sequence[tuple[int, Any]]) -> list[str]:
        return [story(seed, request.site) for seed, request in requests]


def story(seed: int, site: int) -> str:
    """What the archive tells at a site of a map."""
    return STORIES[(seed + site) % len(STORIES)]


def _map(seed: int, site: int) -> dict[str, Any]:
    purpose = "acceptance" if seed % 2 else "training"
    text = story(seed, site)
    return row("maps", map_seed=seed, site=site, purpose=purpose, text=text, n_tokens=5)


def _score(
    member: Given, policy: str, seed: int, play_seed: int, moves: list[str], judge: Judge | None
) -> dict[str, Any]:
    who = {"policy_id": policy, "game_id": member.game.game_id, "role": member.role}
    place = {"purpose": "acceptance", "map_seed": seed, "play_seed": play_seed}
    score = 0.0
    if judge is not None:
        score = play(member.game, moves, judge, seed, stories=Stories()).scores[member.role]
    bits = {"score": score, "raw_score": score, "outcome": "finished"}
    return row("scores", **who, **place, **bits, moves=moves)
