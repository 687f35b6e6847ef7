"""What the sampler has been told of its proposals: whose child was accepted, what was refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any

from meta_sampler.base import Outcome, SamplerError
from meta_sampler.chat.prompt import Refused
from xgl import Game
from xgl.errors import excerpt
from xgl.random_streams import stream

MOST_REFUSED = 200
"""Refusals that are remembered; the oldest are forgotten first."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    game_id: str
    parent_id: str
    code: str
    reason: str


class Memory:
    """A function of the outcomes told so far."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self._refused: list[_Refusal] = []

    def observe(self, outcomes: Sequence[Outcome]) -> None:
        """Remember each outcome, oldest first."""
        for each in outcomes:
            if each.accepted:
                self._parents[each.game_id] = each.parent_id
            elif each.code:
                refusal = _Refusal(
                    each.game_id, each.parent_id, each.code, excerpt(each.explanation)
                )
                self._refused.append(refusal)
        self._refused = self._refused[-MOST_REFUSED:]

    def relatives(self, parent: Game, scope: Sequence[Game], most: int, seed: int) -> list[Game]:
        """Games of the scope to show: the parent's children, its own parent and siblings, then
        others by chance."""
        others = [g for g in scope if g.dialect == parent.dialect and g.game_id != parent.game_id]
        order = stream("relatives", parent.game_id, seed).permutation(len(others))
        shuffled = [others[int(place)] for place in order]
        return sorted(shuffled, key=lambda each: self._kinship(each.game_id, parent))[:most]

    def _kinship(self, game_id: str, parent: Game) -> int:
        above = self._parents.get(parent.game_id)
        own = self._parents.get(game_id)
        if own == parent.game_id:
            return 0
        return 1 if above is not None and above in (own, game_id) else 2

    def refused(self, parent: Game, most: int) -> list[Refused]:
        """Refused games to show: the parent's, then others; the newest first."""
        newest = self._refused[::-1]
        own = [each for each in newest if each.parent_id == parent.game_id]
        others = [each for each in newest if each.parent_id != parent.game_id]
        return [Refused(each.code, each.reason) for each in (own + others)[:most]]

    def state(self) -> dict[str, Any]:
        return {"accepted": dict(self._parents), "refused": [astuple(r) for r in self._refused]}

    def restore(self, state: dict[str, Any]) -> None:
        """Raises :class:`SamplerError` for the state of another sampler."""
        accepted, refused = state.get("accepted"), state.get("refused")
        if not isinstance(accepted, dict) or not isinstance(refused, list):
            raise SamplerError("the state is not of chat: it names no accepted and refused games")
        self._parents = {str(k): str(v) for k, v in accepted.items()}
        self._refused = [_Refusal(*each) for each in refused]
