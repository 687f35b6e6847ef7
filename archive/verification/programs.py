"""Checks games that are programs: recomputes ids, references, and verdicts of pairs."""

from __future__ import annotations

from collections.abc import Iterator

from archive.schema.enums import PairPurpose
from archive.statistics.programs import passes, program_id
from archive.store.archive import Archive
from archive.verification.mismatches import Mismatch

REFERRING = ("gg_filters", "gg_agents", "gg_pairs", "gg_plays")


def texts(archive: Archive) -> Iterator[Mismatch]:
    """Checks that the id of a game is the hash of its three texts."""
    for row in archive.rows("gg_games"):
        digest = program_id(row["rules"], row["source"], row["moves"])
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
    """Checks whether each pair passed, from its wins, and that a game has an opponent if and only
    if one of its pairs was confirmed."""
    rows = archive.rows("gg_pairs")
    for row in rows:
        expected = passes(PairPurpose(row["purpose"]), row["wins"], row["games"])
        if row["passed"] != expected:
            name = f"gg_pairs, program_id {row['program_id']}, {row['winner']} and {row['loser']}"
            actual = f"passed {row['passed']} with {row['wins']} of {row['games']}"
            yield Mismatch(name, actual, f"passed {expected}")
    confirmed = {
        (row["run_id"], row["program_id"])
        for row in rows
        if row["purpose"] == PairPurpose.CONFIRMATION and row["passed"]
    }
    for row in archive.rows("gg_filters"):
        expected = (row["run_id"], row["program_id"]) in confirmed
        if row["stage"] == "opponent" and row["passed"] != expected:
            name = f"gg_filters, program_id {row['program_id']}, opponent"
            yield Mismatch(name, f"passed {row['passed']}", f"passed {expected}")
