"""A run as read from its archive: the one way in which views, reports, exports, checks and
notebooks read what a run has recorded.

Games have names by descent, as the report gives them, beside their ids.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import get_close_matches
from functools import cache, cached_property
from itertools import chain, count
from pathlib import Path
from shlex import quote
from string import ascii_uppercase
from typing import Any, NamedTuple, Self

import pyarrow as pa

import xgl.library
from archive.errors import ArchiveError, DamagedError, LookupFailedError, NotAnArchiveError
from archive.plays import SCORE_COLUMNS, Plays, plays_of, policies_of, representative_policies
from archive.schema import TABLES, Definition, GainKind, PlaysKey, Reason, ScopeRow, TaskId
from archive.store.archive import MARKER, Archive, Filter, locate
from archive.store.files import COMMITS
from xgl.analysis.plain_english import title, unique
from xgl.errors import ProgramError, StoryError, XGLError, check_kind
from xgl.files import may_use, not_yours, read_json
from xgl.language.canonical import Game, game as make_game, read_metadata
from xgl.language.parser import parse
from xgl.language.syntax import MAIN_PLAYER
from xgl.runtime.machine import asked_stories
from xgl.runtime.requests import StoryRequest


@cache
def library_titles() -> Mapping[tuple[str, str], str]:
    """Titles of the library's games by (dialect, canonical text)."""
    entries = reversed([*xgl.library.entries()])  # of equal games the first gives the title
    return {(e.dialect, make_game(parse(e.text, e.dialect)).code): e.title for e in entries}


def parents(members: Sequence[ScopeRow]) -> list[int | None]:
    """The place of each member's parent, a game in a role; None if it has none, or none that came
    before it. A parent without a role is the first member of its game."""
    places: list[int | None] = []
    first: dict[tuple[str, str | None], int] = {}
    for place, member in enumerate(members):
        parent = member.parent_game_id
        places.append(None if parent is None else first.get((parent, member.parent_role)))
        first.setdefault((member.game_id, member.role), place)
        first.setdefault((member.game_id, None), place)
    return places


def names_by_descent(members: Sequence[ScopeRow], titles: Sequence[str]) -> list[str]:
    """``Rival.2`` is the second game that was accepted from ``Rival``, in any of its roles; a game
    without a parent has its library title or a letter. If roles differ, each name ends with its."""
    letters, child_counts = chain(ascii_uppercase, map(str, count(27))), Counter[str]()
    names: list[str] = []
    several = len({member.role for member in members}) > 1
    roles = [f" ({member.role})" if several and member.role else "" for member in members]
    for place, parent in enumerate(parents(members)):
        if parent is None:
            known = {f"{name}{role}" for name, role in zip(names, roles, strict=False)}
            name = titles[place] if f"{titles[place]}{roles[place]}" not in known else ""
            names.append(name or f"Game {next(letters)}")
        else:
            child_counts[names[parent]] += 1
            names.append(f"{names[parent]}.{child_counts[names[parent]]}")
    return [f"{name}{role}" for name, role in zip(names, roles, strict=True)]


GROWTH = "scope_growth"
"""The experiment whose runs have a scope."""
Row = Mapping[str, Any]


class RunHistory(NamedTuple):
    """One run with its (event, time in UTC) pairs in order."""

    run_id: str
    seed: int
    config_hash: str
    code_version: str | None
    events: tuple[tuple[str, datetime], ...]


MapTexts = Mapping[int, Sequence[Mapping[str, Any]]]
"""Archived texts of one map by site, each with its length in judge tokens (``n_tokens``)."""


class Run:
    """One run of an archive, as the archive was when it was opened.

    What most readers need is read once: events, configuration, scopes, fine-tunes, decisions,
    plays. Everything else is a table, of which only this run's rows are seen. Raises
    :class:`archive.ArchiveError` where the archive does not hold what it should.
    """

    def __init__(self, archive: Archive, run_id: str | None = None) -> None:
        """The run that ``run_id``, possibly shortened, names; the last touched one by default.
        Raises LookupFailedError when the archive holds no run, or not that one."""
        self.archive = archive
        by_id = {run.run_id: run for run in runs(archive)}
        if not by_id:
            raise LookupFailedError(
                f"{archive.folder} is empty: found no run, expected at least one"
            )
        self.history = by_id[next(reversed(by_id)) if run_id is None else resolve(run_id, by_id)]
        self.run_id = self.history.run_id

    @classmethod
    def all(cls, archive: Archive) -> Iterator[Self]:
        """Every run of an archive, in the order in which they were last touched."""
        return (cls(archive, history.run_id) for history in runs(archive))

    @property
    def folder(self) -> Path:
        """The run folder; the archive's own where it is in none."""
        folder = self.archive.folder
        return folder.parent if folder.name == "archive" else folder

    # -- tables ------------------------------------------------------------------------------

    def table(
        self, name: str, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()
    ) -> pa.Table:
        """The run's rows of a table; all rows of a table that runs share (games, maps). Raises
        LookupFailedError for an unknown table."""
        shared = name in TABLES and "run_id" not in TABLES[name].schema.names
        mine: list[Filter] = [] if shared else [("run_id", "=", self.run_id)]
        return self.archive.table(name, columns, [*mine, *filters])

    def rows(
        self, name: str, columns: Sequence[str] | None = None, filters: Sequence[Filter] = ()
    ) -> list[dict[str, Any]]:
        """Like ``table``, as one dict for each row."""
        return list(self.table(name, columns, filters).to_pylist())

    def rows_of(
        self, task_id: TaskId, name: str, columns: Sequence[str], *filters: Filter
    ) -> list[dict[str, Any]]:
        """The run's rows of a table about one game in one role."""
        its: list[Filter] = [("game_id", "=", task_id.game_id), ("role", "=", task_id.role)]
        return self.rows(name, columns, [*its, *filters])

    @cached_property
    def finetunes(self) -> Sequence[Row]:
        """Its fine-tunes, the oldest first."""
        return self.rows("finetunes")

    @cached_property
    def decisions(self) -> Sequence[Row]:
        """Its decisions, the oldest first."""
        return self.rows("decisions")

    @cached_property
    def accepted(self) -> Mapping[TaskId, Row]:
        """The decision that accepted each game of the scope but the initial ones."""
        return {TaskId.of(row): row for row in self.decisions if row["verdict"] == "accepted"}

    @cached_property
    def plays(self) -> Mapping[PlaysKey, Plays]:
        """Evaluated plays by policy, game, role and purpose; about 100 bytes each."""
        return plays_of(self.table("scores", SCORE_COLUMNS, [("purpose", "!=", "training")]))

    # -- configuration -----------------------------------------------------------------------

    @cached_property
    def config_json(self) -> str:
        """The configuration that it was last started with."""
        return str(self.rows("runs", ["config_json"])[-1]["config_json"])

    def judge_refusal(self, reference: str, named: str | None, otherwise: str = "") -> str:
        """Why a judge of the configuration is not used, and what to add; empty if it may be: this
        user has begun the run, or has ``named`` the judge. Raises LookupFailedError for another."""
        if named not in (None, reference):
            raise LookupFailedError(f"--judge: found {named}, expected {reference}, the run's own")
        if may_use(reference, self.config_json, named):
            return ""
        way = f"add --judge {quote(reference)}{otherwise and f', otherwise {otherwise}'}"
        return not_yours(self.archive.folder, f"the judge {reference}", way)

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The configuration that it began with; empty if it is no JSON object."""
        return read_settings(self.rows("runs", ["config_json"])[0]["config_json"])

    def setting(self, section: str, key: str) -> Any:
        """One setting, or None."""
        settings = self.config.get(section)
        return settings.get(key) if isinstance(settings, Mapping) else None

    @property
    def experiment(self) -> str:
        """Its kind, ``scope_growth`` for one."""
        return str(self.config.get("experiment", "an unknown experiment"))

    @property
    def is_measured(self) -> bool:
        """Whether models were measured on named games or on an exported measure."""
        return self.experiment == "measure"

    @property
    def is_open_ended(self) -> bool:
        """Whether it grew by the open-ended schedule."""
        return bool(self.setting("growth", "schedule") == "open_ended")

    @property
    def replicates(self) -> int:
        """Number of fine-tunes of each game under different training seeds; 1 if the settings do
        not say."""
        count = self.setting("finetune", "replicates")
        return count if isinstance(count, int) and count > 0 else 1

    @property
    def deciding_value(self) -> tuple[Definition, GainKind]:
        """The value and the gain that decide; by default C and total."""
        try:
            transfer = self.config["transfer"]
            return Definition(transfer["definition"]), GainKind(transfer["gain"])
        except (KeyError, TypeError, ValueError):
            return Definition.CAPTURED, GainKind.TOTAL

    @property
    def state(self) -> str:
        """Its last event: ``finished`` if it came to its end, ``out_of_budget`` at a budget."""
        return self.history.events[-1][0]

    # -- scope and games ---------------------------------------------------------------------

    @cached_property
    def scopes(self) -> Mapping[int, Sequence[ScopeRow]]:
        """The scopes by number, ascending, members as archived."""
        *columns, _ = ScopeRow.__annotations__
        by_number: dict[int, list[ScopeRow]] = {}
        for row in self.rows("scopes"):
            facts = {name: row[name] for name in columns}
            if row["parent_game_id"] and (decision := self.accepted.get(TaskId.of(row))):
                facts["parent_role"] = decision["parent_role"]
            by_number.setdefault(row["scope"], []).append(ScopeRow(**facts))
        return dict(sorted(by_number.items()))

    @property
    def newest_scope(self) -> tuple[int, Sequence[ScopeRow]]:
        """The last scope, after its number. Raises LookupFailedError if there is none."""
        if self.scopes:
            return max(self.scopes), self.scopes[max(self.scopes)]
        raise LookupFailedError(
            f"{self.archive.folder}: found no scope of run {self.run_id}, expected a run of "
            f"+experiment={GROWTH} that learned a game"
            + (f", not of {self.experiment}" if self.experiment != GROWTH else "")
        )

    def games(self, game_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Rows of games by game id. Raises LookupFailedError for a game that is not archived."""
        return games(self.archive, game_ids)

    @cached_property
    def _newest_games(self) -> list[tuple[ScopeRow, Row]]:
        """The newest scope's members with their games; none without a scope."""
        *_, newest = [[], *self.scopes.values()]
        rows = self.games(member.game_id for member in newest)
        return [(member, rows[member.game_id]) for member in newest]

    @cached_property
    def names(self) -> Mapping[TaskId, str]:
        """Names of the newest scope's members in the order of acceptance; none without a scope."""
        members = [member for member, _ in self._newest_games]
        programs = [(row["dialect"], row["code"]) for _, row in self._newest_games]
        names = names_by_descent(members, [library_titles().get(each, "") for each in programs])
        return {member.task_id: name for member, name in zip(members, names, strict=True)}

    @cached_property
    def titles(self) -> Mapping[TaskId, str]:
        """What each member of the newest scope pays for, in a few words
        (:mod:`xgl.analysis.plain_english`); none for a game that this version cannot read."""
        found: dict[TaskId, str] = {}
        for member, row in self._newest_games:
            with suppress(DamagedError):
                found[member.task_id] = title(stored_game(row), member.role)
        return dict(zip(found, unique(found.values()), strict=True))

    def find_game(self, text: str, known_ids: Iterable[str] | None = None) -> tuple[str, str]:
        """The id of the game that ``text`` names, and the role ("": any): an id, which may be
        short, or its name in the newest scope, in any case of letters, with or without ``:role``.
        A name alone means the role that has it.

        Raises LookupFailedError unless it is one of ``known_ids``, by default those of the archive.
        """
        check_kind("game", text, str, "an id or a name")
        tasks = {name.casefold(): task_id for task_id, name in self.names.items()}
        game_id, role = tasks.get(text.casefold(), ("", ""))
        if not game_id:
            name, _, role = text.partition(":")
            game_id = tasks[name.casefold()].game_id if name.casefold() in tasks else name
        if known_ids is None:
            known_ids = self.table("games", ["game_id"])["game_id"].to_pylist()
        return resolve(game_id, known_ids, self.names.values()), role

    def find_task(self, text: str) -> TaskId:
        """The fine-tuned game in a role that ``text`` names, as for :meth:`find_game`; by default
        the role that was trained first."""
        game_id, role = self.find_game(text)
        roles = (task_id.role for task_id in self.policies if task_id.game_id == game_id)
        return TaskId(game_id, role or next(roles, MAIN_PLAYER))

    # -- policies ----------------------------------------------------------------------------

    @cached_property
    def policies(self) -> Mapping[TaskId, tuple[str, ...]]:
        """The policies that stand for each fine-tuned game (:func:`representative_policies`): Υ, in
        the order of fine-tuning."""
        return representative_policies(self.finetunes, self.decisions, self.replicates)

    def policies_at(self, decision: Row) -> dict[TaskId, tuple[tuple[str, ...], ...]]:
        """The policies that represented each game at a decision, the best first: those that its row
        names, else the oldest of the whole budget; for its candidate those from the named fine-tune
        on."""
        policies = dict[TaskId, tuple[tuple[str, ...], ...]]()
        for task_id, ids in self.whole_finetunes.items():
            named = [each for each in decision["scope_finetunes"] if each in ids] or ids[:1]
            policies[task_id] = tuple(self._attempts[each] for each in named)
        if (first := decision["finetune_id"]) is not None:
            policies[TaskId.of(decision)] = (self._attempts.get(first, (first,)),)
        return policies

    @cached_property
    def _attempts(self) -> Mapping[str, tuple[str, ...]]:
        """Each fine-tune with the next ones of its game, one for each training seed."""
        by_game, size = policies_of(self.finetunes).values(), self.replicates
        return {ids[at]: ids[at : at + size] for ids in by_game for at in range(len(ids))}

    @cached_property
    def whole_finetunes(self) -> Mapping[TaskId, tuple[str, ...]]:
        return policies_of(row for row in self.finetunes if row["state_hash"] is None)

    # -- decisions and maps ------------------------------------------------------------------

    def verdict_counts(self) -> list[dict[str, Any]]:
        """Verdicts by reason, the most frequent first within each verdict."""
        counts = Counter((row["verdict"], row["reason"]) for row in self.decisions).items()
        rows = [{"verdict": v, "reason": reason, "count": n} for (v, reason), n in counts]
        return sorted(rows, key=lambda row: (row["verdict"], -row["count"], row["reason"]))

    def map_texts(self, column: str, values: Iterable[Any]) -> dict[int, MapTexts]:
        """The texts of the maps whose ``column`` is one of the values, by seed, in the order of the
        archive."""
        wanted: list[Filter] = [(column, "in", sorted(set(values)))]
        columns = ["map_seed", "site", "source", "text", "n_tokens"]
        texts: dict[int, dict[int, list[Row]]] = {}
        for row in self.rows("maps", columns, wanted) if wanted[0][2] else ():
            texts.setdefault(row["map_seed"], {}).setdefault(row["site"], []).append(row)
        return dict(texts)


def newest_run(experiment: str | None = None) -> Path:
    """The run whose archive was written last: the current folder if it is a run or an archive,
    else one of ``runs/`` here or in the nearest folder above that has any. ``experiment``: only
    runs of this kind. Raises NotAnArchiveError if there is none."""
    here = Path.cwd()

    def is_kind(archive: Path) -> bool:
        with suppress(ArchiveError), Archive.open(archive) as found:
            return experiment in (None, Run(found).experiment)
        return experiment is None  # it cannot be read

    if (locate(here) / MARKER).is_file() and is_kind(here):
        return Path()
    for folder in (here, *here.parents):
        commits = [each for each in folder.glob(f"runs/*/archive/{COMMITS}") if each.is_dir()]
        for archive in (each.parent for each in sorted(commits, key=lambda c: -c.stat().st_mtime)):
            if is_kind(archive):
                return Path(os.path.relpath(archive.parent, here))
    kind = f"run of +experiment={experiment}" if experiment else "run"
    raise NotAnArchiveError(
        f"found no {kind} in ./runs or above, expected one there, or the run to be named"
    )


def runs(archive: Archive) -> list[RunHistory]:
    """Every run of the archive, in the order in which they were last touched."""
    check_kind("archive", archive, Archive, "archive.Archive.open(FOLDER)")
    by_run: dict[str, RunHistory] = {}
    for row in archive.rows("runs"):
        # Re-inserting moves a run that was resumed to the end.
        before = by_run.pop(row["run_id"], None)
        events = (*(before.events if before else ()), (row["event"], row["at"]))
        facts = {name: row[name] for name in RunHistory._fields if name != "events"}
        by_run[row["run_id"]] = RunHistory(**facts, events=events)
    return [*by_run.values()]


def resolve(id_prefix: str, known_ids: Iterable[str], names: Iterable[str] = ()) -> str:
    """The one known id that is, or begins with, `id_prefix`; `names`: what else might be said.

    Raises LookupFailedError, naming the matches or the nearest id, when there is not exactly one.
    """
    ids = list(dict.fromkeys(known_ids))
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
    near = get_close_matches(id_prefix, [*ids, *names], n=1, cutoff=0.0)
    expected = f"an id such as {near[0]}" if near else "an id, of which there are none"
    raise LookupFailedError(f"found no id {id_prefix!r}, expected {expected}")


def games(archive: Archive, game_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Rows of games by game id. Raises LookupFailedError for a game that is not archived."""
    ids = list(dict.fromkeys(game_ids))
    rows = archive.rows("games", filters=[("game_id", "in", ids)]) if ids else []
    by_id = {row["game_id"]: row for row in rows}
    if absent := [game_id for game_id in ids if game_id not in by_id]:
        problem = f"found no game {absent[0]}, expected a row of games"
        raise LookupFailedError(f"{archive.folder}: {problem}")
    return by_id


def read_settings(config_json: str) -> dict[str, Any]:
    """The configuration of a row of runs; empty if it is no JSON object."""
    try:
        config = read_json(config_json)
    except ValueError:
        return {}
    return config if isinstance(config, dict) else {}


def stored_game(row: Mapping[str, Any]) -> Game:
    """The game of a row of games. Raises DamagedError for a row that this version of the language
    cannot read: another dialect, a program with faults, metadata that no game has."""
    try:
        return make_game(parse(row["code"], row["dialect"]), read_metadata(row["metadata_json"]))
    except ProgramError as error:
        problem = error.problems[0]
        found, expected = f"line {problem.line}: {problem.found}", problem.expected
    except XGLError as error:
        found, expected = str(error), "a game"
    raise DamagedError(f"game {row['game_id']}", found, expected)


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


def story_texts(game: Game, texts: MapTexts) -> tuple[str, ...]:
    """The stories of a game on a map, in the order of their sites, without those not archived.

    One map serves games whose stories have different lengths: for each site this is the longest
    text that is no longer than a story of the game, of those that its prompt asked for.
    """
    sites = ((texts.get(each.site, ()), each) for each in asked_stories(game))
    found = (longest_text(*site, game.game_id) for site in sites)
    return tuple(text for text in found if text is not None)


class ArchivedStories(NamedTuple):
    """A story source with the texts of maps, by map seed and site."""

    texts: Mapping[int, Sequence[str] | Mapping[int, str]]

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        """Raises :class:`~xgl.errors.StoryError` for a text that is not there."""
        try:
            return [self.texts[map_seed][request.site] for map_seed, request in requests]
        except LookupError as missing:
            raise StoryError(f"no text is archived for map or site {missing}") from None


def longest_text(
    rows: Iterable[Mapping[str, Any]], request: StoryRequest, game_id: str
) -> str | None:
    """The text of a site that answered a request of a game, of the rows of maps there; None if none
    did."""
    asked, others = (request.prompt, request.count), re.compile(rf"measure \S+ (?!{game_id}\b)\w")
    own = (each for each in rows if asked_of(each["source"]) == asked)
    found = ((each["n_tokens"], each["text"]) for each in own if not others.match(each["source"]))
    return max((each for each in found if each[0] <= request.tokens), default=(0, None))[1]


def map_source(reference: str, prompt: str, count: int = 0) -> str:
    """How a row of maps names its source: by its reference, the number of maps of a game that has
    few, and below it the prompt."""
    of_few = f" ({count} maps)" if count else ""
    return f"{reference}{of_few}\n{prompt}" if prompt else f"{reference}{of_few}"


def measure_source(digest: str, game_id: str) -> str:
    """The source of the maps of a measured game: the measure, in which each game has its own."""
    return f"measure {digest} {game_id}"


def asked_of(source: str) -> tuple[str, int]:
    """The prompt that asked for the text of a row of maps, empty for none, and the number of maps
    of a game that has few, or 0."""
    first, _, prompt = source.partition("\n")
    of_few = re.search(r" \((\d+) maps\)$", first)
    return prompt, int(of_few[1]) if of_few else 0
