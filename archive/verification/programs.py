"""Checks games that are programs: recomputes ids, references, verdicts of pairs and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import groupby
from typing import Any

from archive.schema.enums import PairPurpose
from archive.statistics.measures.win_rates import (
    bootstrap,
    confirms,
    over_answers,
    over_plays,
    selects,
    tallies_of,
)
from archive.store.archive import Archive
from archive.verification.mismatches import Mismatch

Row = Mapping[str, Any]
REFERRING = ("gg_filters", "gg_agents", "gg_pairs", "gg_plays")


def texts(archive: Archive) -> Iterator[Mismatch]:
    """Checks that the id of a game is the hash of its three texts."""
    for row in archive.rows("gg_games"):
        parts = [row[name].encode(errors="surrogatepass") for name in ("rules", "source", "moves")]
        digest = sha256(b"".join(b"%d\n%b" % (len(part), part) for part in parts)).hexdigest()
        if digest != row["program_id"]:
            yield Mismatch(f"gg_games, program_id {row['program_id']}", "another game", digest)


def references(archive: Archive) -> Iterator[Mismatch]:
    """Checks that rows name games of their run, and stored weights."""
    game_keys = {(row["run_id"], row["program_id"]) for row in archive.rows("gg_games")}
    for table in REFERRING:
        named = {(row["run_id"], row["program_id"]) for row in archive.rows(table)}
        for run_id, program in sorted(named - game_keys):
            yield Mismatch(
                f"{table}, run {run_id}, program_id {program}", "no game", "a row of gg_games"
            )
    stored_hashes = set(archive.adapters())
    for row in archive.rows("gg_agents"):
        if row["weights_sha256"] not in stored_hashes:
            name = f"gg_agents, program_id {row['program_id']}, quarter {row['quarter']}"
            yield Mismatch(name, "no weights", f"adapters/{row['weights_sha256']}.safetensors")


def pairs(archive: Archive) -> Iterator[Mismatch]:
    """Checks whether each pair passed, from its wins, and the opponents."""
    for row in archive.rows("gg_pairs"):
        rule = confirms if PairPurpose(row["purpose"]).confirms else selects
        expected = bool(rule(row["wins"], row["games"]))
        if row["passed"] != expected:
            name = f"gg_pairs, program_id {row['program_id']}, {row['winner']} and {row['loser']}"
            actual = f"passed {row['passed']} with {row['wins']} of {row['games']}"
            yield Mismatch(name, actual, f"passed {expected}")
    yield from _opponents(archive)


def _opponents(archive: Archive) -> Iterator[Mismatch]:
    """Checks that a game is ready if and only if one of its pairs was confirmed."""
    confirmed_games = {
        (row["run_id"], row["program_id"])
        for row in archive.rows("gg_pairs")
        if row["purpose"] == PairPurpose.CONFIRMATION and row["passed"]
    }
    for row in archive.rows("gg_filters"):
        if row["stage"] == "opponent":
            expected = (row["run_id"], row["program_id"]) in confirmed_games
            if row["passed"] != expected:
                name = f"gg_filters, program_id {row['program_id']}, opponent"
                yield Mismatch(name, f"passed {row['passed']}", f"passed {expected}")


def scores(archive: Archive) -> Iterator[Mismatch]:
    """Recomputes the newest score of each player from all its plays."""
    plays = archive.rows("gg_plays")
    rows = archive.rows("gg_scores")
    rows.sort(key=lambda row: (row["run_id"], row["player"]))
    for (run_id, player), group in groupby(rows, lambda row: (row["run_id"], row["player"])):
        newest = list(group)[-1]
        tallies = tallies_of((row for row in plays if row["run_id"] == run_id), player)
        name = f"gg_scores, run {run_id}, player {player}"
        if not tallies:
            yield Mismatch(name, "a score", "none: there is no play")
            continue
        rate, paper, (low, high) = over_plays(tallies), over_answers(tallies), bootstrap(tallies)
        expected = {
            "games": rate.games,
            "win_rate": rate.mean,
            "half_width": rate.half_width,
            "low": low,
            "high": high,
            "paper_rate": paper.mean if paper else None,
            "paper_half_width": paper.half_width if paper else None,
        }
        for column, value in expected.items():
            if not _same(newest[column], value):
                yield Mismatch(f"{name}, {column}", str(newest[column]), str(value))


def _same(actual: float | None, expected: float | None) -> bool:
    if actual is None or expected is None:
        return actual is expected
    return abs(actual - expected) < 1e-9
