"""Archives to report on: one as small as they come, and one with games that attack the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from archive import Archive
from xgl import Game, Metadata, game, parse

ATTACKS = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\u2028document.title='owned'//\u202e",
    "{{ 7*7 }}{% raw %}&lt;b&gt;]]>--><svg onload=\"document.title='owned'\">",
    "'\"><a href=javascript:document.title='owned'>",
)
"""Texts that would run, break out or mislead if they were taken for markup."""
METADATA = {"story_tokens": 24, "max_len": 8, "max_failures": 10, "max_characters": 4096}
MakeRow = Callable[..., dict[str, Any]]


def attacking_game() -> Game:
    """A valid program whose literals are the attacks, as far as the language lets them in."""
    printable = ["".join(filter(str.isprintable, text)) for text in ATTACKS]
    texts = [json.dumps(text) for text in printable]
    source = (
        f"assign(s=story(), t={texts[0]} + {texts[1]})\nelicit(x, 8)\n"
        f"ensure({texts[2]} + x)\nassign(y={texts[3]} + {texts[4]})\nreward(xed(s | x + t + y))"
    )
    return game(parse(source, "xent"), Metadata(**METADATA))  # type: ignore[arg-type]


def game_row(make_row: MakeRow, one_game: Game) -> dict[str, Any]:
    return make_row(
        "games",
        game_id=one_game.game_id,
        dialect=one_game.dialect,
        code=one_game.code,
        metadata_json=json.dumps(METADATA),
    )


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory, make_row: MakeRow) -> Path:
    """A run whose every string is an attack: a valid game, and one that is no program at all."""
    folder = tmp_path_factory.mktemp("hostile")
    hostile_game, bad_id = attacking_game(), "broken" + ATTACKS[0]
    attack = " ".join(ATTACKS)
    place = {"game_id": hostile_game.game_id, "role": "black"}
    own = {**place, "policy_id": attack, "outcome": "finished", "purpose": "acceptance"}
    plays = [
        make_row("scores", **own | {"policy_id": policy}, map_seed=seed, play_seed=seed)
        | {"score": score + 0.1 * seed, "raw_score": score, "moves": list(ATTACKS)}
        for policy, score in (("base", 1.0), (attack, 5.0))
        for seed in (1, 3, 5)
    ]
    decision = {"alpha1": 0.3, "alpha2": 0.2, "captured": 0.5, "gamma": 0.1, "detail": attack}
    proposal = {"outcome": "candidate", "sampler": attack, "operators": [attack]}
    refused = make_row("decisions", game_id=attack, role=attack, verdict="refused") | decision
    child = {"parent_game_id": bad_id, "generation": 1, "gamma": 0.1}
    bad_game = make_row("games", game_id=bad_id, dialect=attack, code=attack)
    maps = [make_row("maps", map_seed=seed, text=attack, n_tokens=9) for seed in (1, 3, 5)]
    rows = {
        "runs": [make_row("runs", config_json=json.dumps({attack: attack}))],
        "games": [game_row(make_row, hostile_game), bad_game],
        "maps": maps,
        "finetunes": [make_row("finetunes", **place, finetune_id=attack, curve=[1.0, 2.0, 4.0])],
        "scores": plays,
        "proposals": [
            make_row("proposals", **place, **proposal),
            make_row("proposals", outcome=attack),
        ],
        "decisions": [make_row("decisions", **place, verdict="accepted", **decision), refused],
        "scopes": [
            make_row("scopes", game_id=bad_id, role=attack),
            make_row("scopes", **place, **child),
        ],
    }
    with Archive.create(folder / "archive") as archive:
        archive.commit(rows)
    return folder


@pytest.fixture(scope="session")
def grown_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of sixteen games."""
    from support.archives import write_large

    return write_large(tmp_path_factory.mktemp("grown"), 16, 4)
