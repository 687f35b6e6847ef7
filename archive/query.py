"""Queries of the command line; every function only reads."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from archive.errors import ArchiveError, DamagedError, LookupFailedError, NotAnArchiveError
from archive.schema import Definition, GainKind, Reason, TaskId
from archive.store.archive import MARKER, Archive, locate
from archive.store.commits import COMMITS

GROWTH = "scope_growth"
"""The experiment whose runs have a scope."""


@dataclass(frozen=True)
class RunHistory:
    """One run with its (event, time in UTC) pairs in order."""

    run_id: str
    seed: int
    config_hash: str
    code_version: str | None
    events: tuple[tuple[str, datetime], ...]


@dataclass(frozen=True)
class ScopeRow:
    """One member of a scope; `parent_game_id` and `gamma` are None for the initial scope."""

    game_id: str
    role: str
    parent_game_id: str | None
    gamma: float | None
    accepted_in: int

    @property
    def task_id(self) -> TaskId:
        """The game in its role."""
        return TaskId(self.game_id, self.role)


@dataclass(frozen=True)
class VerdictCount:
    """Number of candidates with this verdict for this reason."""

    verdict: str
    reason: str
    count: int


def newest_run(experiment: str | None = None) -> Path:
    """The run whose archive was written last: the current folder if it is a run or an archive,
    else one of ``runs/`` here or in the nearest folder above that has any. ``experiment``: only
    runs of this kind. Raises NotAnArchiveError if there is none."""
    here, of_others = Path.cwd(), set[str]()
    for folder in (here, *here.parents):
        found = [marker.parent.parent for marker in folder.glob(f"runs/*/archive/{MARKER}")]
        found += [here] if folder == here and (locate(here) / MARKER).is_file() else []
        found.sort(key=lambda run: (locate(run) / COMMITS).stat().st_mtime)
        found.sort(key=lambda run: run == here)
        for run in reversed(found):
            if experiment is None or experiment == (kind := _last_experiment(run)):
                return Path(os.path.relpath(run, here))
            of_others.add(kind)
    kinds = f"only runs of {', '.join(sorted(of_others))}" if of_others else "no run"
    wanted = f"one of +experiment={experiment}" if experiment else "one"
    raise NotAnArchiveError(
        f"found {kinds} in ./runs or above, expected {wanted} there, or the run to be named"
    )


def _last_experiment(run: Path) -> str:
    """The kind of the last touched run of an archive."""
    try:
        with Archive.open(run) as archive:
            return experiment_of(run_config(archive, find_run(archive).run_id))
    except ArchiveError:
        return "an archive that cannot be read"


def runs(archive: Archive) -> list[RunHistory]:
    """Every run of the archive, in the order in which they were last touched."""
    rows = archive.rows("runs")
    # Re-inserting moves a run that was resumed to the end.
    by_run: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_run[row["run_id"]] = [*by_run.pop(row["run_id"], []), row]
    return [
        RunHistory(
            run_id,
            events[0]["seed"],
            events[-1]["config_hash"],
            events[-1]["code_version"],
            tuple((event["event"], event["at"]) for event in events),
        )
        for run_id, events in by_run.items()
    ]


def find_run(archive: Archive, run_id: str | None = None) -> RunHistory:
    """The run that `run_id`, possibly shortened, names; the last touched one by default.

    Raises LookupFailedError when the archive holds no run, or not that one.
    """
    by_id = {run.run_id: run for run in runs(archive)}
    if not by_id:
        raise LookupFailedError(f"{archive.folder} is empty: found no run, expected at least one")
    return by_id[next(reversed(by_id)) if run_id is None else resolve(run_id, by_id)]


def resolve(id_prefix: str, known_ids: Iterable[str], names: Iterable[str] = ()) -> str:
    """The one known id that is, or begins with, `id_prefix`; `names`: what else might be said.

    Raises LookupFailedError, naming the matches or the nearest id, when there is not exactly one.
    """
    ids = list(dict.fromkeys(known_ids))
    if "/" in id_prefix and Path(id_prefix).exists():
        raise LookupFailedError(f"found the path {id_prefix} in place of an id, expected RUN GAME")
    if id_prefix in ids:
        return id_prefix
    matches = [known_id for known_id in ids if id_prefix and known_id.startswith(id_prefix)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise LookupFailedError(
            f"found {len(matches)} ids that begin with {id_prefix!r}, expected one: "
            f"{', '.join(sorted(matches)[:5])}"
        )
    length = max(len(id_prefix), 1)
    near = get_close_matches(id_prefix, [known_id[:length] for known_id in ids], n=1, cutoff=0.0)
    hint = next((known_id for known_id in ids if near and known_id.startswith(near[0])), None)
    expected = f"an id such as {hint}" if hint else "an id, of which there are none"
    if names := list(names):
        expected += f", or a name such as {(get_close_matches(id_prefix, names, n=1) or names)[0]}"
    raise LookupFailedError(f"found no id {id_prefix!r}, expected {expected}")


def run_config(archive: Archive, run_id: str) -> Mapping[str, Any]:
    """The configuration at the first start of a run; empty if it is no JSON object."""
    rows = archive.rows("runs", ["config_json"], [("run_id", "=", run_id)])
    try:
        config = json.loads(rows[0]["config_json"]) if rows else {}
    except (ValueError, RecursionError):
        return {}
    return config if isinstance(config, dict) else {}


def experiment_of(config: Mapping[str, Any]) -> str:
    """The kind of a run, ``scope_growth`` for one, by its configuration."""
    return str(config.get("experiment", "an unknown experiment"))


def needed_run(config: Mapping[str, Any]) -> str:
    """What is expected where a run, by its configuration, holds nothing of a scope growth."""
    if (kind := experiment_of(config)) == GROWTH:
        return "one that got as far as its first scope: this run ended before, and can be resumed"
    return f"a run of +experiment={GROWTH}, not of {kind}"


def is_open_ended(config: Mapping[str, Any]) -> bool:
    """Whether a run grew by the open-ended schedule; older settings do not name a schedule."""
    section = config.get("growth")
    return isinstance(section, Mapping) and section.get("schedule") == "open_ended"


def replicates(config: Mapping[str, Any]) -> int:
    """Number of fine-tunes of each game under different training seeds, ``finetune.replicates``; 1
    if the run's settings do not say."""
    section = config.get("finetune")
    count = section.get("replicates") if isinstance(section, Mapping) else None
    return count if isinstance(count, int) and count > 0 else 1


def deciding_value(config: Mapping[str, Any]) -> tuple[Definition, GainKind]:
    """The value and the gain that decide in a run, by its configuration; by default C and total."""
    try:
        transfer = config["transfer"]
        return Definition(transfer["definition"]), GainKind(transfer["gain"])
    except (KeyError, TypeError, ValueError):
        return Definition.CAPTURED, GainKind.TOTAL


def scopes(archive: Archive, run_id: str) -> dict[int, list[ScopeRow]]:
    """The scope of the run at each generation, generations ascending, members as archived."""
    by_generation: dict[int, list[ScopeRow]] = {}
    for row in archive.rows("scopes", filters=[("run_id", "=", run_id)]):
        member = ScopeRow(
            row["game_id"], row["role"], row["parent_game_id"], row["gamma"], row["accepted_in"]
        )
        by_generation.setdefault(row["generation"], []).append(member)
    return dict(sorted(by_generation.items()))


def newest_scope(archive: Archive, run_id: str) -> tuple[int, list[ScopeRow]]:
    """The last generation of the run and its scope. Raises LookupFailedError if there is none."""
    by_generation = scopes(archive, run_id)
    if not by_generation:
        expected = needed_run(run_config(archive, run_id))
        raise LookupFailedError(
            f"{archive.folder}: found no scope of run {run_id}, expected {expected}"
        )
    generation = max(by_generation)
    return generation, by_generation[generation]


def games(archive: Archive, game_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Rows of games by game id. Raises LookupFailedError for a game that is not archived."""
    ids = list(dict.fromkeys(game_ids))
    rows = archive.rows("games", filters=[("game_id", "in", ids)]) if ids else []
    by_id = {row["game_id"]: row for row in rows}
    for game_id in ids:
        if game_id not in by_id:
            raise LookupFailedError(
                f"{archive.folder}: found no game {game_id}, expected a row of games"
            )
    return by_id


def reason_of(row: Mapping[str, Any]) -> Reason:
    """The reason of a decision. Raises DamagedError for one that is not known."""
    try:
        return Reason(row["reason"])
    except ValueError:
        where, expected = f"the decision on game {row['game_id']}", f"one of {', '.join(Reason)}"
        raise DamagedError(where, f"reason {row['reason']!r}", expected) from None


def explanation(row: Mapping[str, Any]) -> str:
    """The reason of a decision, with its detail where it has one."""
    return f"{row['reason']}: {row['detail']}" if row["detail"] else str(row["reason"])


def verdict_counts(archive: Archive, run_id: str) -> list[VerdictCount]:
    """Verdicts of the run by reason, the most frequent first within each verdict."""
    columns = ["verdict", "reason"]
    rows = archive.table("decisions", columns, [("run_id", "=", run_id)])
    counter = Counter(zip(*(rows[name].to_pylist() for name in columns), strict=True))
    counts = [VerdictCount(names[0], names[1], count) for names, count in counter.items()]
    return sorted(counts, key=lambda each: (each.verdict, -each.count, each.reason))


def recent_decisions(archive: Archive, run_id: str, limit: int = 10) -> list[dict[str, Any]]:
    """The last `limit` decisions of the run, newest first, as rows of decisions."""
    newest: list[dict[str, Any]] = []
    for file in archive.files("decisions")[::-1]:
        if len(newest) >= limit:
            break
        parts = list(archive.batches("decisions", filters=[("run_id", "=", run_id)], files=[file]))
        for part in reversed(parts):
            remaining = limit - len(newest)
            newest += part.slice(max(part.num_rows - remaining, 0)).to_pylist()[::-1]
    return newest[:limit]


MapTexts = Mapping[int, Sequence[Mapping[str, Any]]]
"""Archived texts of one map by site, each with its length in judge tokens (``n_tokens``)."""


def map_texts(archive: Archive, map_seeds: Iterable[int]) -> dict[int, MapTexts]:
    """The texts of maps, by seed."""
    seeds = sorted(set(map_seeds))
    columns = ["map_seed", "site", "text", "n_tokens"]
    rows = archive.rows("maps", columns, [("map_seed", "in", seeds)]) if seeds else []
    texts: dict[int, dict[int, list[Mapping[str, Any]]]] = {}
    for row in rows:
        texts.setdefault(row["map_seed"], {}).setdefault(row["site"], []).append(row)
    return dict(texts)


def story_texts(game: Mapping[str, Any], texts: MapTexts) -> tuple[str, ...]:
    """The stories of a game (a row of games) on a map, one for each ``story(`` of its program.

    One map serves games whose stories have different lengths: for each site this is the longest
    text that is no longer than a story of the game.
    """
    try:
        limit = int(json.loads(game["metadata_json"])["story_tokens"])
    except (ValueError, KeyError, TypeError):
        limit = 1 << 30
    stories = (texts.get(site, ()) for site in range(str(game["code"]).count("story(")))
    short = ([row for row in rows if row["n_tokens"] <= limit] for rows in stories)
    return tuple(max(rows, key=lambda row: row["n_tokens"])["text"] for rows in short if rows)
