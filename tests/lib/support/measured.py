"""A small archive of a run whose games, maps and moves are given, to export from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.rows import row

from archive import Archive
from xgl import play
from xgl.analysis.static_facts import analyse
from xgl.language.canonical import Game, Metadata, game, metadata_json
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


def build(
    folder: Path,
    members: Sequence[Given],
    maps: int = 3,
    moves: Sequence[Sequence[str]] = MOVES,
    config: Mapping[str, Any] = CONFIG,
    judge: Judge | None = None,
) -> Path:
    """An archive of run ``r1`` whose scope is ``given``, played by two policies on ``maps``
    evaluation maps; three training maps have texts too. Returns its folder.

    Scores are those of ``judge``, all players making the same moves; 0 without one.
    """
    with Archive.create(folder) as archive:
        archive.commit(rows_of(members, maps, moves, config, judge))
    return folder


def rows_of(
    members: Sequence[Given],
    maps: int = 3,
    moves: Sequence[Sequence[str]] = MOVES,
    config: Mapping[str, Any] = CONFIG,
    judge: Judge | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """The rows of that archive."""
    seeds = [2 * index + 1 for index in range(maps)]
    rows = {"runs": [row("runs", seed=7, config_json=json.dumps(config))]}
    rows["games"] = list({g.game.game_id: game_row(g.game) for g in members}.values())
    rows["scopes"] = [row("scopes", game_id=g.game.game_id, role=g.role) for g in members]
    rows["maps"] = [_map(seed, site) for seed in (*seeds, 0, 2, 4) for site in range(4)]
    rows["scores"] = [
        _score(g, policy, seed, index, moves[(index + shift) % len(moves)])
        | _own_score(g, seed, moves[(index + shift) % len(moves)], judge)
        for g in members
        for shift, policy in enumerate(("base", "f1"))
        for index, seed in enumerate(seeds)
    ]
    return rows


class Stories:
    """The archive's texts, as a story source."""

    def story_texts(self, requests: Sequence[tuple[int, Any]]) -> list[str]:
        return [story(seed, request.site) for seed, request in requests]


def _own_score(
    member: Given, seed: int, moves: Sequence[str], judge: Judge | None
) -> dict[str, Any]:
    if judge is None:
        return {}
    score = play(member.game, list(moves), judge, seed, stories=Stories()).scores[member.role]
    return {"score": score, "raw_score": score}


def game_row(whole: Game) -> dict[str, Any]:
    """The row of a game."""
    text = {"code": whole.code, "metadata_json": metadata_json(whole.metadata)}
    facts = {"game_id": whole.game_id, "dialect": whole.dialect, **text}
    return row("games", **facts, steps=analyse(whole.program).steps)


def story(seed: int, site: int) -> str:
    """What the archive tells at a site of a map."""
    return STORIES[(seed + site) % len(STORIES)]


def _map(seed: int, site: int) -> dict[str, Any]:
    purpose = "acceptance" if seed % 2 else "training"
    text = story(seed, site)
    return row("maps", map_seed=seed, site=site, purpose=purpose, text=text, n_tokens=5)


def _score(
    member: Given, policy: str, seed: int, play: int, moves: Sequence[str]
) -> dict[str, Any]:
    own = {"policy_id": policy, "game_id": member.game.game_id, "role": member.role}
    place = {"purpose": "acceptance", "map_seed": seed, "play_seed": play}
    return row("scores", **own, **place, outcome="finished", moves=list(moves))
