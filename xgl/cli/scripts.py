"""``--moves FILE``: the moves of each player in each round, from JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xgl.errors import XGLError, excerpt

Script = Sequence[Mapping[str, Sequence[str]]]
"""For each round the moves of each player that it names."""
EXPECTED = 'a round is ["a move", …] or {"player": ["a move", …], …}; a file holds one or a list'


class ScriptError(XGLError):
    """A file of moves that is not what it should be, or not for this game."""


def read_script(path: str, role: str, players: Sequence[str]) -> Script:
    """The rounds of a file; a list of texts alone is ``role``'s moves.

    Raises :class:`ScriptError` for another shape, and for a player that is not among ``players``.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ScriptError(f"--moves {path}: no JSON ({error}); {EXPECTED}") from None
    except RecursionError:
        raise ScriptError(f"--moves {path}: lists in lists too deep to read; {EXPECTED}") from None
    rounds = [found] if isinstance(found, dict) or _texts(found) else found
    if not isinstance(rounds, list) or not rounds:
        raise ScriptError(f"--moves {path}: no moves; {EXPECTED}")
    return [_round(path, number, one, role, players) for number, one in enumerate(rounds, start=1)]


def _round(
    path: str, number: int, found: Any, role: str, players: Sequence[str]
) -> Mapping[str, Sequence[str]]:
    named = {role: found} if _texts(found) else found
    if not isinstance(named, dict) or not named or not all(map(_texts, named.values())):
        raise ScriptError(f"--moves {path}: round {number} holds no moves; {EXPECTED}")
    for player in named:
        if player not in players:
            asked = ", ".join(players)
            found = f"round {number}: no {excerpt(player)!r}"
            raise ScriptError(f"--moves {path}: {found}; expected {asked}")
    return named


def _texts(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and all(isinstance(each, str) for each in found)
