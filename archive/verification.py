"""Checks an archive for consistency: files against the records that name them, rows against each
other (those that are named must exist, once), scopes and decisions against the plays that they are
derived from. A mismatch names a file or row, what was found and what is expected there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

import pyarrow.compute as pc

from archive import schema
from archive.errors import DamagedError, LookupFailedError
from archive.run import Row, Run
from archive.statistics.replay import MissingPlaysError, cases, replay
from archive.statistics.rule import Decision, value_columns
from archive.statistics.scripts import replay_script_comparison, script_columns
from archive.store.archive import Archive
from archive.store.files import ADAPTERS, HEAD, file_hash, read_batches, record_hash, record_path
from xgl.language.canonical import content_id


class Mismatch(NamedTuple):
    """One inconsistency; ``where`` names the file or the row."""

    where: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.where}: found {self.found}, expected {self.expected}"


class Verification(NamedTuple):
    """``faults`` are inconsistencies. ``checked``: number of checked rows and files, by table or
    kind; ``unchecked``: number of decisions that were not recomputed, by their reason."""

    folder: str
    faults: Sequence[Mismatch]
    checked: Mapping[str, int]
    unchecked: Mapping[str, int]


def same(actual: object, expected: object) -> bool:
    """Equality; of floats up to a millionth of them, or 1e-9: they are computed again."""
    if isinstance(actual, float) and isinstance(expected, float):
        return math.isclose(actual, expected, rel_tol=1e-6, abs_tol=1e-9)
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
            for _ in read_batches(folder, file, schema.TABLES[file.table].schema.names):
                pass
            if (digest := file_hash(folder / file.file)) != file.sha256:
                yield Mismatch(path, f"SHA-256 {digest}", f"{file.sha256}, as its record says")
        except DamagedError as error:
            yield Mismatch(path, error.found, "the file that its record names")


def stored_adapters(archive: Archive) -> Iterator[Mismatch]:
    """Checks that every stored adapter has the hash that it is named by."""
    for digest in archive.adapters():
        try:
            archive.get_adapter(digest)
        except LookupFailedError:
            continue  # a run that goes on has dropped it since
        except DamagedError as error:
            path = archive.folder / ADAPTERS / f"{digest}.safetensors"
            yield Mismatch(str(path), error.found, f"SHA-256 {digest}")


def game_ids(archive: Archive) -> Iterator[Mismatch]:
    """Checks that the id of a game is the hash of its content: the first 16 digits of a SHA-256."""
    for row in archive.rows("games"):
        digest = content_id(row["dialect"], row["metadata_json"], row["code"])
        if digest != row["game_id"]:
            yield Mismatch(f"games, game_id {row['game_id']}", "another game", f"id {digest}")


def keys(archive: Archive) -> Iterator[Mismatch]:
    """Checks that no two rows of a table have the same key."""
    for name, table in schema.TABLES.items():
        if table.key:
            rows = archive.table(name, table.key).group_by(list(table.key), use_threads=False)
            counts = rows.aggregate([([], "count_all")])
            for row in counts.filter(pc.field("count_all") > 1).to_pylist():
                yield Mismatch(_name(name, row), f"{row['count_all']} rows", "one")


def names(archive: Archive) -> Iterator[Mismatch]:
    """Checks that games and runs that rows name are there. A proposal may name a game that was
    never one, and a measure one of another archive."""
    for target, key, apart in (
        ("games", "game_id", ("games", "proposals")),
        ("runs", "run_id", ("runs",)),
    ):
        known_ids = archive.table(target, [key])[key].combine_chunks()
        for table in (table for name, table in schema.TABLES.items() if name not in apart):
            columns = [name for name in table.schema.names if name.endswith(key)]
            rows = archive.table(table.name, columns)
            for column in columns:
                named = rows[column].unique().drop_null()
                absent = named.filter(pc.invert(pc.is_in(named, value_set=known_ids)))
                for value in sorted(absent.to_pylist()) if column != "exported_game_id" else ():
                    yield _absent(table.name, column, value, f"a row of {target}")


def policies(archive: Archive) -> Iterator[Mismatch]:
    """Checks that every policy is the base player, a script, or a fine-tuning of the same run."""
    names = ["run_id", "finetune_id"]
    rows = [row for table in ("finetunes", "curricula") for row in archive.rows(table, names)]
    trained = {(row["run_id"], row["finetune_id"]) for row in rows}
    pairs = archive.table("scores", ["run_id", "policy_id"])
    for row in pairs.group_by(pairs.column_names, use_threads=False).aggregate([]).to_pylist():
        policy = row["policy_id"]
        untrained = policy == schema.BASE_POLICY or policy.startswith(schema.SCRIPT_POLICY)
        if not untrained and (row["run_id"], policy) not in trained:
            yield _absent("scores", "policy_id", policy, f"a fine-tuning of run {row['run_id']}")


def outcomes(archive: Archive) -> Iterator[Mismatch]:
    """Checks that a finished play has its raw score, and that no other play has one."""
    rows = archive.table("scores", [*schema.TABLES["scores"].key, "score", "raw_score", "outcome"])
    is_finished = pc.equal(rows["outcome"], schema.PlayOutcome.FINISHED)
    expected = pc.if_else(is_finished, rows["score"], float("-inf"))
    for row in rows.filter(pc.not_equal(rows["raw_score"], expected)).to_pylist():
        actual = f"score {row['score']:g} and raw score {row['raw_score']:g}"
        yield Mismatch(_name("scores", row), actual, f"those of a play that {row['outcome']}")


def _name(table: str, row: Row) -> str:
    return f"{table}, {', '.join(f'{name} {row[name]}' for name in schema.TABLES[table].key)}"


def _absent(table: str, column: str, value: str, expected: str) -> Mismatch:
    return Mismatch(f"{table}, {column} {value}", "nothing of that name", expected)


# -- scopes and decisions --------------------------------------------------------------------------


def decisions(run: Run, unchecked_counts: Counter[str]) -> Iterator[Mismatch]:
    """Recomputes every decision that rests on plays of a fine-tune; the others are counted in
    ``unchecked_counts``."""
    accepted_rows = [row for row in run.decisions if row["verdict"] == schema.Verdict.ACCEPTED]
    scope_size = len(run.scopes.get(0, ()))
    accepting = set() if run.is_open_ended else {_list(row) for row in accepted_rows}
    for row, case in cases(run):
        if row["verdict"] == schema.Verdict.ACCEPTED:
            if run.is_open_ended and row["scope_size"] != scope_size:
                yield Mismatch(where(row), f"scope_size {row['scope_size']}", str(scope_size))
            scope_size += 1
        if case is None:
            yield from _without_plays(row, unchecked_counts)
            continue
        policies = run.policies_at(row)
        try:
            evidence, decision, _ = replay(case, run.plays, policies)
            scripts = replay_script_comparison(case, row, run.plays, policies)
        except (MissingPlaysError, ValueError) as error:
            yield Mismatch(where(row), "plays missing", f"what it was decided on ({error})")
            continue
        columns = value_columns(evidence, len(case.scope)) | script_columns(scripts)
        for name, value in columns.items():
            if not same(row[name], value):
                yield Mismatch(where(row), f"{name} {row[name]}", f"{value}, from the scores")
        for section, name in ((each, name) for each, its in _DECIDING.items() for name in its):
            key = name.removesuffix("_kind")
            if (setting := run.setting(section, key)) not in (row[name], None):
                yield Mismatch(where(row), f"{name} {row[name]}", f"{section}.{key}, {setting}")
        yield from _looks(run, row)
        yield from _verdict(row, decision, _list(row) in accepting)


_list = itemgetter("generation", "parent_game_id", "parent_role", "round")
_DECIDING = {"growth": ("alpha1", "alpha2"), "transfer": ("rule", "definition", "gain_kind")}
"""Columns of decisions by the section of the settings that they follow."""


def _looks(run: Run, row: Row) -> Iterator[Mismatch]:
    """Tests of one list share an error, and repeated ones have more plays."""
    least = run.setting("transfer", f"{row['purpose']}_plays")
    confidence = run.setting("transfer", "confidence")
    with suppress(TypeError, LookupError):  # of settings that no run of this version has
        is_less = row["looks"][0] != least[0] or row["looks"][-1] < least[-1]
        if is_less or row["confidence"] < confidence - 1e-9:
            found = f"looks at {row['looks']}, confidence {row['confidence']:g}"
            yield Mismatch(where(row), found, f"{least} and {confidence:g}, or more")


def where(row: Row) -> str:
    """The name of a decision by its position in the run."""
    name = f"generation {row['generation']}, parent {row['parent_game_id']}, round {row['round']}"
    return f"decisions, run {row['run_id']}, {name}, game {row['game_id']}"


def scopes(run: Run) -> Iterator[Mismatch]:
    """Checks Σ_{k+1} = Σ_k ∪ Ω_k; under the open-ended schedule Σ_k is the initial games and the
    first k accepted ones. The newest may be missing in a run that is not finished."""
    initial = [schema.ScopeRow(m.game_id, m.role, None, None, 0) for m in run.scopes.get(0, ())]
    accepted = _accepted(run)
    numbers = range(1, len(accepted) + 1) if run.is_open_ended else (a.generation for a in accepted)
    last = max(numbers, default=0) - (run.state != "finished") if accepted or run.scopes else -1
    for number in {*range(max([last, *run.scopes], default=-1) + 1)} - run.scopes.keys():
        yield _absent(f"scopes, run {run.run_id}", "scope", str(number), "its members")
    for number, members in run.scopes.items():
        if run.is_open_ended:
            expected = [*initial, *accepted][: len(initial) + number]
        else:
            new = (member for member in accepted if member.generation == number)
            expected = [*run.scopes.get(number - 1, ()), *new] if number else initial
        name = f"scopes, run {run.run_id}, scope {number}, game"
        unseen = {member.task_id: member for member in expected}
        for member in members:
            if (other := unseen.pop(member.task_id, None)) is None:
                yield Mismatch(f"{name} {member.game_id}", "a member", "no decision accepted it")
            elif member != other:
                yield Mismatch(f"{name} {member.game_id}", str(member), str(other))
        for task_id in unseen:
            yield Mismatch(f"{name} {task_id.game_id}", "no row", "a member, since it was accepted")


def _accepted(run: Run) -> list[schema.ScopeRow]:
    """Members by decisions, each once in a generation. The open-ended schedule counts generations
    from a game's parent."""
    depths = {member.task_id: 0 for member in run.scopes.get(0, ())}
    members: dict[tuple[schema.TaskId, int], schema.ScopeRow] = {}
    for row in run.decisions:
        if row["verdict"] == schema.Verdict.ACCEPTED:
            task_id, generation = schema.TaskId.of(row), row["generation"]
            if run.is_open_ended:
                parent = schema.TaskId(row["parent_game_id"], row["parent_role"])
                generation = depths[task_id] = depths.get(parent, 0) + 1
            member = schema.ScopeRow(*task_id, row["parent_game_id"], row["gamma"], generation)
            members.setdefault((task_id, generation), member)
    return list(members.values())


def kept_adapters(run: Run, stored_digests: frozenset[str]) -> Iterator[Mismatch]:
    """Checks that the adapters that stand for the games of the scope are stored."""
    members = {member.task_id for scope in run.scopes.values() for member in scope}
    needed = {policy for task_id in members for policy in run.policies.get(task_id, ())}
    for row in run.finetunes:
        digest = row["adapter_hash"]
        if row["finetune_id"] in needed and digest and digest not in stored_digests:
            name = f"finetunes, run {run.run_id}, finetune_id {row['finetune_id']}"
            yield Mismatch(name, "a missing adapter", f"adapters/{digest}.safetensors")


def _without_plays(row: Row, unchecked_counts: Counter[str]) -> Iterator[Mismatch]:
    """Checks that a decision without plays of a fine-tune is a refusal for a known reason."""
    if row["verdict"] == schema.Verdict.ACCEPTED:
        yield Mismatch(where(row), "accepted without plays", "refused")
    elif row["reason"] not in list(schema.Reason):
        yield Mismatch(
            where(row), f"reason {row['reason']!r}", f"one of {', '.join(schema.Reason)}"
        )
    elif row["verdict"] != (verdict := schema.Reason(row["reason"]).verdict):
        yield Mismatch(where(row), f"{row['verdict']}, {row['reason']!r}", verdict)
    else:
        unchecked_counts[row["reason"]] += 1


def _verdict(row: Row, decision: Decision | None, list_accepted: bool) -> Iterator[Mismatch]:
    """``decision`` is None of a ranked candidate that no test accepted or refused."""
    rivals = schema.Reason.RIVAL_ACCEPTED if list_accepted else schema.Reason.RIVALS_TESTED
    untested = [Decision(reason, decided=False) for reason in (rivals, schema.Reason.UNLIKELY)]
    possible = [decision] if decision else untested
    expected = [(each.verdict, each.reason, each.decided) for each in possible]
    actual = (row["verdict"], row["reason"], row["decided"])
    if actual not in expected:
        found, wanted = (
            f"{verdict}, {str(reason)!r}, {'' if decided else 'not '}decided by the intervals"
            for verdict, reason, decided in (actual, expected[0])
        )
        yield Mismatch(where(row), found, wanted)


LIMIT = 200
"""Faults after which a check stops: one broken column breaks every row."""
_FILES = (chain, newest, contents, stored_adapters)
_ROWS = (game_ids, keys, names, policies, outcomes)


def verify(archive: Archive) -> Verification:
    """Recomputes every hash, follows every reference, and recomputes scopes and decisions.

    Rows are checked only if all files are intact. Raises LookupFailedError for an archive without
    runs, and DamagedError for a commit record that cannot be read, and looks that no run can have.
    """
    faults = [each for check in _FILES for each in islice(check(archive), LIMIT)]
    unchecked_counts: Counter[str] = Counter()
    stored_adapters = frozenset(archive.adapters())
    counts = {"commits": len(archive.commits), "adapters": len(stored_adapters)}
    if not faults:
        runs = [*Run.all(archive)] or [Run(archive)]  # which raises without a run
        counts |= {name: archive.count(name) for name in schema.TABLES} | {"runs": len(runs)}
        faults = [each for check in _ROWS for each in islice(check(archive), LIMIT)]
        for run in runs:
            if run.experiment != "toy_growth":  # it archives no decisions
                faults += islice(scopes(run), LIMIT)
            faults += islice(decisions(run, unchecked_counts), LIMIT)
            with Archive.open(archive.folder) as now:  # a run that goes on drops some
                faults += kept_adapters(Run(now, run.run_id), stored_adapters | {*now.adapters()})
    return Verification(str(archive.folder), faults, counts, dict(unchecked_counts))
