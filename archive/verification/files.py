"""Checks files against the records that name them, and rows against each other: rows that are
named must exist, once. A mismatch names a file or row, what was found and what is expected
there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from archive.errors import DamagedError, LookupFailedError
from archive.run import Row
from archive.schema import BASE_POLICY, SCRIPT_POLICY, TABLES, PairPurpose, PlayOutcome, TaskId
from archive.statistics.programs import passes, program_id
from archive.store.archive import Archive
from archive.store.disk import file_hash
from archive.store.files import (
    ADAPTERS,
    COMMITS,
    HEAD,
    check_size,
    read_batches,
    record_hash,
    record_path,
)


class Mismatch(NamedTuple):
    """One inconsistency; ``where`` names the file or the row."""

    where: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}, expected {self.expected}"


class Verification(NamedTuple):
    """``faults`` are inconsistencies; ``notes`` are allowed, such as files that a killed writer
    left. ``checked``: number of checked rows and files, by table or kind; ``unchecked``: number of
    decisions that were not recomputed, by their reason.
    """

    folder: str
    faults: Sequence[Mismatch]
    notes: Sequence[Mismatch]
    checked: Mapping[str, int]
    unchecked: Mapping[str, int]


def same(actual: object, expected: object, absolute: float = 1e-9) -> bool:
    """Equality; of floats up to a millionth of them, or ``absolute``: they are computed again."""
    if isinstance(actual, float) and isinstance(expected, float):
        return math.isclose(actual, expected, rel_tol=1e-6, abs_tol=absolute)
    return bool(actual == expected)


CHANGED = "a record that was changed after it was written"


def chain(archive: Archive) -> Iterator[Mismatch]:
    """Checks that each record holds the hash of the one before it."""
    for commit in archive.commits:
        if commit.previous != record_hash(archive.folder, commit.number - 1):
            before = str(record_path(archive.folder, commit.number - 1))
            expected = f"SHA-256 {commit.previous}, which record {commit.number:06d} says it had"
            yield Mismatch(before, CHANGED, expected)


def newest(archive: Archive) -> Iterator[Mismatch]:
    """Checks that the newest record is the one that was noted when it was written; a killed writer
    may have left the note before."""
    (number, digest), last = archive.head, len(archive.commits) - 1
    path = str(record_path(archive.folder, number))
    if number > last:
        yield Mismatch(path, f"no record after {last:06d}", f"the newest, which {HEAD} names")
    elif number < last - 1:
        yield Mismatch(str(archive.folder / HEAD), f"commit {number}", f"the newest, {last}")
    elif record_hash(archive.folder, number) != digest:
        yield Mismatch(path, CHANGED, f"SHA-256 {digest}, which {HEAD} says it had")


def contents(archive: Archive) -> Iterator[Mismatch]:
    """Checks that every data file that counts exists, has its hash and can be read."""
    folder = archive.folder
    for file in (file for commit in archive.commits for file in commit.files):
        path = str(folder / file.file)
        try:
            check_size(folder, file)
            if (digest := file_hash(folder / file.file)) != file.sha256:
                yield Mismatch(path, f"SHA-256 {digest}", f"{file.sha256}, as its record says")
            for _ in read_batches(folder, file, TABLES[file.table].names):
                pass
        except (DamagedError, OSError) as error:
            found = error.found if isinstance(error, DamagedError) else str(error)
            yield Mismatch(path, found, "the file that its record names")


def strays(archive: Archive) -> Iterator[Mismatch]:
    """Data files that no record names, although ``*.parquet`` matches them."""
    named = {file.file for commit in archive.commits for file in commit.files}
    for folder in (*TABLES, COMMITS, ADAPTERS):
        for path in sorted((archive.folder / folder).glob("*")):
            data = path.suffix == ".parquet" and f"{folder}/{path.name}" not in named
            if data or path.suffix == ".tmp":
                expected = "none: a killed writer left it, and the next one removes it"
                yield Mismatch(str(path), "a file that no record names", expected)


def adapters(archive: Archive) -> Iterator[Mismatch]:
    """Checks that every stored adapter has the hash that it is named by."""
    for digest in archive.adapters():
        try:
            archive.get_adapter(digest)
        except (DamagedError, LookupFailedError) as error:
            problem = error.found if isinstance(error, DamagedError) else "no such adapter"
            path = archive.folder / ADAPTERS / f"{digest}.safetensors"
            yield Mismatch(str(path), problem, f"SHA-256 {digest}")


def game_ids(archive: Archive) -> Iterator[Mismatch]:
    """Checks that the id of a game is the hash of its content: the first 16 digits of a SHA-256."""
    columns = ["game_id", "dialect", "metadata_json", "code"]
    for part in archive.batches("games", columns):
        for row in part.to_pylist():
            facts = "\n".join((row["dialect"], row["metadata_json"], row["code"]))
            digest = sha256(facts.encode()).hexdigest()[:16]
            if digest != row["game_id"]:
                yield Mismatch(f"games, game_id {row['game_id']}", "another game", f"id {digest}")


def keys(archive: Archive) -> Iterator[Mismatch]:
    """Checks that no two rows of a table have the same key."""
    for table, key in ((name, table.key) for name, table in TABLES.items() if table.key):
        keys = archive.table(table, list(key)).group_by(list(key), use_threads=False)
        counts = keys.aggregate([([], "count_all")])
        for row in counts.filter(pc.field("count_all") > 1).slice(0, 20).to_pylist():
            yield Mismatch(_name(table, row), f"{row['count_all']} rows", "one")


def names(archive: Archive) -> Iterator[Mismatch]:
    """Checks that games and runs that rows name are there. A proposal may name a game that was
    never one, and a measure one of another archive."""
    for target, key, apart in (
        ("games", "game_id", {"games", "proposals"}),
        ("runs", "run_id", {"runs"}),
    ):
        known_ids = archive.table(target, [key])[key].combine_chunks()
        for table in (table for name, table in TABLES.items() if name not in apart):
            for column in (name for name in table.names if name.endswith(key)):
                named = _distinct(archive, table.name, [column])[column].drop_null()
                if column != "exported_game_id":
                    absent = named.filter(pc.invert(pc.is_in(named, value_set=known_ids)))
                    for value in sorted(set(absent.to_pylist())):
                        yield _absent(table.name, column, value, f"a row of {target}")


def policies(archive: Archive) -> Iterator[Mismatch]:
    """Checks that every policy is the base player, a script, or a fine-tuning of the same run, and
    that decisions name fine-tunings of their game."""
    rows = archive.rows("finetunes", ["run_id", "finetune_id", "game_id", "role"])
    task_of = {(row["run_id"], row["finetune_id"]): TaskId.of(row) for row in rows}
    rows = archive.rows("curricula", ["run_id", "finetune_id"])
    curricula = {(row["run_id"], row["finetune_id"]) for row in rows}
    for row in _distinct(archive, "scores", ["run_id", "policy_id"]).to_pylist():
        policy = row["policy_id"]
        untrained = policy == BASE_POLICY or policy.startswith(SCRIPT_POLICY)
        if not untrained and (row["run_id"], policy) not in task_of.keys() | curricula:
            yield _absent("scores", "policy_id", policy, f"a fine-tuning of run {row['run_id']}")
    columns = ["run_id", "finetune_id", "game_id", "role"]
    for row in archive.rows("decisions", columns):
        task_id = task_of.get((row["run_id"], row["finetune_id"]))
        if row["finetune_id"] is not None and task_id != TaskId.of(row):
            tune = row["finetune_id"]
            yield _absent("decisions", "finetune_id", tune, "a fine-tuning of its game")


def outcomes(archive: Archive) -> Iterator[Mismatch]:
    """Checks that a finished play has its raw score, and that no other play has one."""
    columns = [*TABLES["scores"].key, "score", "raw_score", "outcome"]
    for part in archive.batches("scores", columns):
        is_finished = pc.equal(part["outcome"], PlayOutcome.FINISHED)
        expected = pc.if_else(is_finished, part["score"], float("-inf"))
        for row in part.filter(pc.not_equal(part["raw_score"], expected)).to_pylist():
            actual = f"score {row['score']:g} and raw score {row['raw_score']:g}"
            yield Mismatch(_name("scores", row), actual, f"those of a play that {row['outcome']}")


def _name(table: str, row: Row) -> str:
    """The name of a row by those columns of its table's key that were read."""
    key = (name for name in TABLES[table].key if name in row)
    return f"{table}, {', '.join(f'{name} {row[name]}' for name in key)}"


def _distinct(archive: Archive, table: str, columns: list[str]) -> pa.Table:
    """The distinct rows of some columns, read in batches."""
    pairs = archive.table(table, columns).slice(0, 0)
    for part in archive.batches(table, columns):
        pairs = pa.concat_tables([pairs, part]).group_by(columns, use_threads=False).aggregate([])
    return pairs


def _absent(table: str, column: str, value: str, expected: str) -> Mismatch:
    return Mismatch(f"{table}, {column} {value}", "nothing of that name", expected)


# -- games that are programs: ids, references, verdicts of pairs -----------------------------------

REFERRING = ("gg_filters", "gg_agents", "gg_pairs", "gg_plays")


def program_texts(archive: Archive) -> Iterator[Mismatch]:
    """Checks that the id of a game is the hash of its three texts."""
    for row in archive.rows("gg_games"):
        digest = program_id(row["rules"], row["source"], row["moves"])
        if digest != row["program_id"]:
            yield Mismatch(f"gg_games, program_id {row['program_id']}", "another game", digest)


def program_references(archive: Archive) -> Iterator[Mismatch]:
    """Checks that rows name games of their run, and stored weights."""
    game_keys = {(row["run_id"], row["program_id"]) for row in archive.rows("gg_games")}
    for table in REFERRING:
        named = {(row["run_id"], row["program_id"]) for row in archive.rows(table)}
        for run_id, program in sorted(named - game_keys):
            name = f"{table}, run {run_id}, program_id {program}"
            yield Mismatch(name, "no game", "a row of gg_games")
    stored_hashes = set(archive.adapters())
    for row in archive.rows("gg_agents"):
        if row["weights_sha256"] not in stored_hashes:
            name = f"gg_agents, program_id {row['program_id']}, quarter {row['quarter']}"
            yield Mismatch(name, "no weights", f"adapters/{row['weights_sha256']}.safetensors")


def program_pairs(archive: Archive) -> Iterator[Mismatch]:
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
