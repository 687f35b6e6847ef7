"""Archives of models measured on games: rounds whose scores are given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from support.rows import game_row, row, write

from xgl.language.canonical import Game, game
from xgl.language.parser import parse

CODE = "assign(s=story())\nelicit(t, {})\nreward(xed(s | t))"
SETTINGS = {
    "digest": "d",
    "seed": 0,
    "measure": {"judge": None, "dtype": "auto", "base": None, "m": 4},
}
RUN = "measured"
ROUNDS = 2

Scores = Mapping[str, Sequence[np.ndarray]]
"""By model, for each game its score on every map, bits."""


def games(count: int) -> list[Game]:
    """So many different games, in the order of their ids."""
    game_list = [game(parse(CODE.format(4 + index), "xent")) for index in range(count)]
    return sorted(game_list, key=lambda each: each.game_id)


def build(
    folder: Path,
    scores: Scores,
    levels: Sequence[int] = (),
    run_id: str = RUN,
    first_map: int = 0,
    exported: Sequence[str] = (),
    m: int = 4,
    **changes: Any,
) -> Path:
    """The archive of a measuring run in ``folder``; games in ``levels`` have levels. The second
    round scores as given, the first less, in the other order. Maps are numbered from ``first_map``;
    games were exported from the games ``exported`` of a scope; ``changes`` of the run's settings.
    """
    many = max(len(each) for each in scores.values())
    rows: dict[str, list[dict[str, Any]]] = {
        "runs": [row("runs", run_id=run_id, config_json=json.dumps({**SETTINGS, **changes}))],
        "games": [game_row(each) for each in games(many)],
        "rounds": [],
        "measures": [],
    }
    for model, game_scores in scores.items():
        for place, (game_, each) in enumerate(zip(games(many), game_scores, strict=False)):
            ids = {"run_id": run_id, "policy_id": model, "game_id": game_.game_id, "role": "black"}
            rows["rounds"] += _rounds(ids, each, first_map)
            if place in levels and len(each):
                origin = exported[place] if exported else f"scope{game_.game_id[:4]}"
                level = {"m": m, "theta": 0.5, "at_round": 2, "narms": float(np.mean(each))}
                level |= {"rounds": ROUNDS, "k_m": ROUNDS, "maps": len(each), "base": "base"}
                rows["measures"].append(row("measures", **ids, exported_game_id=origin, **level))
    return write(folder, **rows)


def _rounds(ids: Mapping[str, str], scores: np.ndarray, first_map: int) -> list[dict[str, Any]]:
    return [
        row("rounds", **ids, purpose="measure", map_seed=2 * place + 1, play_seed=place)
        | {
            "round": number,
            "control": False,
            "score": float(score if number == ROUNDS else -99 - score),
        }
        for place, score in enumerate(scores, start=first_map)
        for number in range(1, ROUNDS + 1)
    ]


def draw_scores(seed: int, skills: Mapping[str, Sequence[float]], maps: int = 6) -> Scores:
    """Scores of models with a skill for each game, and noise of one bit."""
    random = np.random.default_rng(seed)
    return {
        name: [skill + random.normal(0, 1, maps) for skill in each] for name, each in skills.items()
    }


THREE = {"ann": (3.0, 0.0, 1.0), "bob": (2.0, 2.0, 1.0), "cid": (0.0, 1.0, 0.0)}
"""Models of different skill for three games."""
