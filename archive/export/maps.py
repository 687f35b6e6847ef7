"""Maps of a run as texts: which seeds its plays had, and what each ``story()`` told there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from archive.schema import Purpose
from archive.store.archive import Archive

EVALUATED = (Purpose.ACCEPTANCE, Purpose.SELECTION, Purpose.CALIBRATION)
"""What plays on evaluation maps serve, the most careful first."""


@dataclass(frozen=True)
class Map:
    """One map of a game: its seed and the texts of its ``story()`` sites, in order."""

    map_seed: int
    stories: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        told = [{"site": site, "text": text} for site, text in enumerate(self.stories)]
        return {"map_seed": self.map_seed, "stories": told}


class Texts:
    """The archived texts of maps, by seed and site."""

    def __init__(self, archive: Archive, purposes: Sequence[str]) -> None:
        columns = ["map_seed", "site", "text", "n_tokens"]
        rows = archive.rows("maps", columns, [("purpose", "in", list(purposes))])
        self._told: defaultdict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
        for row in rows:
            self._told[row["map_seed"], row["site"]].append((row["n_tokens"], row["text"]))

    @property
    def seeds(self) -> tuple[int, ...]:
        """Every map seed that has a text, in the order of the archive."""
        return tuple(dict.fromkeys(seed for seed, _ in self._told))

    def map(self, seed: int, limits: Sequence[int]) -> Map | None:
        """The map of a game whose sites ask for at most ``limits`` tokens; None where a text is
        not archived.

        A seed's text at a site is one text, cut to what each game asks for: the longest that fits
        is the game's own.
        """
        stories = []
        for site, limit in enumerate(limits):
            fitting = [told for told in self._told.get((seed, site), ()) if told[0] <= limit]
            if not fitting:
                return None
            stories.append(max(fitting)[1])
        return Map(seed, tuple(stories))


def played_seeds(
    archive: Archive, run_id: str, game_id: str, role: str
) -> dict[str, tuple[int, ...]]:
    """Map seeds that a game was evaluated on, by purpose, in the order of play seeds."""
    filters = [("run_id", "=", run_id), ("game_id", "=", game_id), ("role", "=", role)]
    rows = archive.rows("scores", ["purpose", "map_seed", "play_seed"], filters)
    found: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        found[row["purpose"]].setdefault(row["map_seed"], row["play_seed"])
    return {
        purpose: tuple(sorted(found[purpose], key=found[purpose].__getitem__))
        for purpose in EVALUATED
        if purpose in found
    }
