"""Rows of games that are programs, of one run, and facts derived from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from archive.schema.enums import PairPurpose
from archive.store.archive import Archive

Rows = Sequence[Mapping[str, Any]]
TABLES = ("gg_games", "gg_filters", "gg_pairs", "gg_plays", "gg_scores")


def gather(archive: Archive, run_id: str) -> dict[str, Rows]:
    """The rows of one run that the tables are made of."""
    run_filter = [("run_id", "=", run_id)]
    return {name: archive.table(name, filters=run_filter).to_pylist() for name in TABLES}


def stage_of(game: Mapping[str, Any], verdicts: Rows) -> str:
    """The state of a game: ready, waiting, or refused with the reason."""
    if game["failed"]:
        return f"no text: {game['failed']}"
    if not verdicts:
        return "waiting"
    last = verdicts[-1]
    return "ready" if last["passed"] else f"refused: {last['stage']}: {last['reason']}"


def confirmed_pair(pairs: Rows, program_id: str) -> Mapping[str, Any] | None:
    """The first pair of a game that passed confirmation; its loser is the game's opponent."""
    confirmations = (
        p
        for p in pairs
        if p["program_id"] == program_id and p["purpose"] == PairPurpose.CONFIRMATION
    )
    return next((pair for pair in confirmations if pair["passed"]), None)


def null_counts(pairs: Rows) -> list[tuple[str, int, int]]:
    """For the paper's rule and for fresh games: name, number of pairs of equal agents that passed,
    and number of all such pairs."""
    rules = (
        ("the paper's: best of the pairs", PairPurpose.NULL_SELECTION),
        ("fresh games", PairPurpose.NULL_CONFIRMATION),
    )
    nulls = [(name, [p for p in pairs if p["purpose"] == purpose]) for name, purpose in rules]
    return [(name, sum(p["passed"] for p in rows), len(rows)) for name, rows in nulls if rows]


def newest_scores(scores: Rows) -> dict[str, Mapping[str, Any]]:
    """The last row of each player."""
    return {row["player"]: row for row in scores}
