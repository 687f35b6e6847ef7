"""Checks ratings against the rounds that they are computed from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from archive.errors import RatingError
from archive.ratings.preferences import Preference
from archive.schema import TABLES, TaskId
from archive.statistics.paired_scores import read_paired_scores
from archive.statistics.ratings import RatingQuestion, measure_ratings, rating_rows
from archive.store.archive import Archive
from archive.verification.mismatches import Mismatch, same

Row = dict[str, Any]
TOLERANCE = 1e-6
"""Tolerance of numbers near 0: a rating is a limit, and its resamples are recomputed."""
_KEY = ("kind", "policy_id", "game_id", "role")


def ratings(archive: Archive) -> Iterator[Mismatch]:
    """Recomputes every rating from the rounds of its models on its games."""
    by_id: dict[tuple[str, str], list[Row]] = {}
    for row in archive.rows("ratings"):
        by_id.setdefault((row["run_id"], row["rating_id"]), []).append(row)
    for (run_id, rating_id), rows in by_id.items():
        name = f"ratings, run {run_id}, rating_id {rating_id}"
        try:
            expected = _again(archive, run_id, rows)
        except (RatingError, ValueError) as error:
            yield Mismatch(name, "ratings", f"rounds that give some ({error})")
            continue
        yield from _differences(name, rows, expected)


def _again(archive: Archive, run_id: str, rows: Sequence[Row]) -> list[Row]:
    models = [row["policy_id"] for row in rows if row["kind"] == "model"]
    games = [TaskId.of(row) for row in rows if row["kind"] == "game"]
    first = rows[0]
    question = RatingQuestion(
        Preference(first["preference"]),
        first["confidence"],
        first["resamples"],
        first["seed"],
    )
    scores = read_paired_scores([archive], models, games, run_id)
    return rating_rows(measure_ratings(scores, question))


def _differences(name: str, rows: Sequence[Row], expected: Sequence[Row]) -> Iterator[Mismatch]:
    expected_by_key = {_key(row): row for row in expected}
    for row in rows:
        where = f"{name}, {' '.join(str(part) for part in _key(row) if part)}"
        expected_row = expected_by_key.pop(_key(row), None)
        if expected_row is None:
            yield Mismatch(where, "a row", "none: its rounds are not complete")
            continue
        for column in TABLES["ratings"].names[1:]:
            if not same(row[column], expected_row[column], TOLERANCE):
                yield Mismatch(
                    where, f"{column} {row[column]}", f"{expected_row[column]}, from the rounds"
                )
    for key in expected_by_key:
        yield Mismatch(name, "no row", f"one of {' '.join(str(part) for part in key if part)}")


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in _KEY)
