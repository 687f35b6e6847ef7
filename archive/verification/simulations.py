"""Checks simulated experiments: entropies from the vectors that entered, ranks from ratings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from archive.ratings.rating import ranks
from archive.ratings.simulations import skill_entropy
from archive.store.archive import Archive
from archive.verification.mismatches import Mismatch

Row = Mapping[str, Any]
_PATH = ("run_id", "setting", "system", "prompt_setting", "trial")
_TABLE = ("run_id", "trial", "jitter", "copies", "system")
TOLERANCE = 1e-9


def entropies(archive: Archive) -> Iterator[Mismatch]:
    """Checks the entropies of the mean of all vectors so far."""
    rows = sorted(archive.rows("improvement_paths"), key=lambda row: _key(row, _PATH))
    for key, group in groupby(rows, lambda row: _key(row, _PATH)):
        path = sorted(group, key=lambda row: row["iteration"])
        where = f"improvement_paths, {' '.join(map(str, key))}"
        if [row["iteration"] for row in path] != list(range(len(path))):
            yield Mismatch(where, "iterations that are missing or twice", "each from 0 on, once")
            continue
        for of in ("prompt", "model"):
            yield from _entropies(where, path, of)


def _entropies(where: str, path: Sequence[Row], of: str) -> Iterator[Mismatch]:
    flat: list[float] = []
    for row in path:
        flat += row[f"{of}s"] or []
        entropy, name = row[f"{of}_entropy"], f"{where}, iteration {row['iteration']}"
        if row["skills"] < 1 or len(flat) % row["skills"]:
            yield Mismatch(name, f"{len(flat)} numbers in {of}s", f"vectors of {row['skills']}")
            return
        expected = skill_entropy(np.array(flat).reshape(-1, row["skills"]))
        if not math.isclose(entropy, expected, abs_tol=TOLERANCE):
            yield Mismatch(name, f"{of}_entropy {entropy}", f"{expected}, from the vectors")


def placements(archive: Archive) -> Iterator[Mismatch]:
    """Checks that ranks are those of the ratings."""
    all_rows = sorted(archive.rows("redundancy_ratings"), key=lambda row: _key(row, _TABLE))
    for key, group in groupby(all_rows, lambda row: _key(row, _TABLE)):
        rows = [row for row in group if row["rating"] is not None]
        expected = ranks(np.array([row["rating"] for row in rows]))
        for row, rank in zip(rows, expected, strict=True):
            if row["rank"] != rank:
                where = f"redundancy_ratings, {' '.join(map(str, key))}, model {row['model']}"
                yield Mismatch(where, f"rank {row['rank']}", f"{rank}, from the ratings")


def _key(row: Row, names: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
