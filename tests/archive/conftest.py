"""Rows that fit the schema, and one small archive whose content is known by heart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.example import EXAMPLE
from support.measured import Given
from support.rows import AT, game_row, row, write

from archive import Archive
from xgl import Metadata

ATTACKS = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "\u2028document.title='owned'//\u202e",
    "{{ 7*7 }}{% raw %}&lt;b&gt;]]>--><svg onload=\"document.title='owned'\">",
    "'\"><a href=javascript:document.title='owned'>",
)
"""Texts that would run, break out or mislead if they were taken for markup."""


def _decision(game_id: str, verdict: str, reason: str, **changes: object) -> dict[str, Any]:
    roles = {"role": "black", "parent_game_id": "aaaa11110000ffff", "parent_role": "black"}
    facts = {"game_id": game_id, "verdict": verdict, "reason": reason, "tokens": 100}
    return row("decisions", **roles, **facts, **changes)


def _member(scope: int, game_id: str, **changes: object) -> dict[str, Any]:
    return row("scopes", scope=scope, game_id=game_id, role="black", **changes)


def _play(policy_id: str, seed: int, score: float, permuted_score: float) -> dict[str, Any]:
    place = {"game_id": "aaaa11110000ffff", "role": "black", "purpose": "acceptance"}
    play = {"policy_id": policy_id, "map_seed": seed, "play_seed": seed, "moves": ["a cat"]}
    bits = {"score": score, "raw_score": score, "permuted_score": permuted_score}
    return row("scores", **place, **play, **bits)


def _populate(archive: Archive) -> None:
    initial, child = "aaaa11110000ffff", "bbbb22220000ffff"
    games = [
        row("games", game_id=initial, dialect="xent", code="elicit(s, 9)"),
        row("games", game_id=child, dialect="paper", code="reward(xed(s | t))\n"),
    ]
    runs = [row("runs", event="created", at=AT, seed=7)]
    archive.commit({"runs": runs, "games": games, "scopes": [_member(0, initial)]})
    scores = [
        ("base", 1, 1.0, 0.5),
        ("base", 2, 2.0, 0.5),
        ("f1", 2, 5.0, 1.5),
        ("f1", 1, 3.0, 1.5),
    ]
    captured = {"captured": 0.5, "captured_low": 0.25, "captured_high": float("inf")}
    accepted = {"finetune_id": "f1", "gamma": 0.125, "purpose": "acceptance", "decided": True}
    decisions = [
        _decision("cccc33330000ffff", "refused", "covered by the scope", finetune_id="f0"),
        _decision(child, "accepted", "helps and is new", **captured, **accepted),
        _decision("dddd44440000ffff", "refused", "covered by the scope"),
    ]
    joined = _member(1, child, parent_game_id=initial, gamma=0.125, generation=1)
    archive.commit(
        {
            "finetunes": [row("finetunes", finetune_id="f1", game_id=child, role="black")],
            "scores": [_play(*each) for each in scores],
            "decisions": decisions,
            "scopes": [_member(1, initial), joined],
        }
    )
    archive.commit({"runs": [row("runs", event="finished", at=AT, seed=7)]})


@pytest.fixture(scope="session")
def small_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of one run of two generations; tests copy it, since every flush takes time."""
    folder = tmp_path_factory.mktemp("small") / "archive"
    with Archive.create(folder) as archive:
        _populate(archive)
    return folder


@pytest.fixture
def run_folder(tmp_path: Path, small_archive: Path) -> Path:
    """A run folder of its own whose archive holds a run of two generations, closed."""
    folder = tmp_path / "runs" / "small"
    shutil.copytree(small_archive, folder / "archive")
    return folder


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose every string is an attack: a valid game, and one that is no program at all."""
    folder = tmp_path_factory.mktemp("hostile")
    printable = ["".join(filter(str.isprintable, text)) for text in ATTACKS]
    texts = [json.dumps(text) for text in printable]
    source = (
        f"assign(s=story(), t={texts[0]} + {texts[1]})\nelicit(x, 8)\n"
        f"ensure({texts[2]} + x)\nassign(y={texts[3]} + {texts[4]})\nreward(xed(s | x + t + y))"
    )
    hostile, bad_id = Given(source, metadata=Metadata(max_len=8)), "broken" + ATTACKS[0]
    attack = " ".join(ATTACKS)
    place = {"game_id": hostile.game.game_id, "role": "black"}
    own = {**place, "policy_id": attack, "outcome": "finished", "purpose": "acceptance"}
    plays = [
        row("scores", **own | {"policy_id": policy}, map_seed=seed, play_seed=seed)
        | {"score": score + 0.1 * seed, "raw_score": score, "moves": list(ATTACKS)}
        for policy, score in (("base", 1.0), (attack, 5.0))
        for seed in (1, 3, 5)
    ]
    decision = {"alpha1": 0.3, "alpha2": 0.2, "captured": 0.5, "gamma": 0.1, "detail": attack}
    proposal = {"outcome": "candidate", "sampler": attack, "operators": [attack]}
    refused = row("decisions", game_id=attack, role=attack, verdict="refused") | decision
    child = {"parent_game_id": bad_id, "generation": 1, "gamma": 0.1}
    bad_game = row("games", game_id=bad_id, dialect=attack, code=attack)
    maps = [row("maps", map_seed=seed, text=attack, n_tokens=9) for seed in (1, 3, 5)]
    rows = {
        "runs": [row("runs", config_json=json.dumps({attack: attack}))],
        "games": [game_row(hostile.game), bad_game],
        "maps": maps,
        "finetunes": [row("finetunes", **place, finetune_id=attack, curve=[1.0, 2.0, 4.0])],
        "scores": plays,
        "proposals": [row("proposals", **place, **proposal), row("proposals", outcome=attack)],
        "decisions": [row("decisions", **place, verdict="accepted", **decision), refused],
        "scopes": [row("scopes", game_id=bad_id, role=attack), row("scopes", **place, **child)],
    }
    return write(folder / "archive", **rows).parent


@pytest.fixture(scope="session")
def grown_run() -> Path:
    """A finished run of several games."""
    return EXAMPLE
