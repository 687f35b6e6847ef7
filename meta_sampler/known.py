"""Games that a proposal must not repeat."""

from __future__ import annotations

from collections.abc import Sequence

from meta_sampler.screening.normal_form import meaning
from xgl import Game


class Known:
    """Games that a proposal must not repeat, in text or in meaning."""

    def __init__(self, games: Sequence[Game]) -> None:
        self._meanings = {meaning(each.program) for each in games}
        self._ids = {each.game_id for each in games}

    def add(self, other: Game) -> None:
        self._meanings.add(meaning(other.program))
        self._ids.add(other.game_id)

    def __contains__(self, other: Game) -> bool:
        return other.game_id in self._ids or meaning(other.program) in self._meanings
