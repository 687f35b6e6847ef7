"""The games of the newest scope as a reader meets them, on the page and in the terminal: program,
family, what was learned, best plays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from archive.errors import DamagedError
from archive.report.plays import BestPlay, best_plays, unarchived_moves
from archive.run import Row, Run, library_title, names_by_descent, parents, stored_game
from archive.schema import Definition, GainKind, ScopeRow, TaskId
from archive.statistics.intervals import Interval
from archive.statistics.matrix import TransferMatrix, transfer_matrix
from archive.statistics.rule import OwnGain
from archive.statistics.scripts import ScriptComparison, beside_scripts, own_gain
from xgl.analysis.plain_english import in_words
from xgl.diagram import draw
from xgl.language import syntax as syn
from xgl.language.unparse import expression_text

LESSONS = 3
"""How many of the games that teach, or are taught, most a card names."""
Lessons = tuple[tuple[int, Interval], ...]
"""Games by place, with how much of what playing one teaches is learned by playing another."""


@dataclass(frozen=True)
class GameFacts:
    """One game of the newest scope; ``parent`` and ``children`` are places in the report's list.

    ``title``: what it pays for. ``known_as``: the title of the library's game that it equals, if
    any. ``faults``: why the program that is archived cannot be read. ``rewards``: places of the
    rules that say what is paid; ``pay``: its reward lines, for one line of a list. ``own``: what
    training on it gains, in all and about the map, as the decision on it says. ``no_bits``: why
    the plays show no bits for each token; empty if they do.
    """

    place: int
    member: ScopeRow
    name: str
    title: str
    known_as: str
    row: Row
    rules: tuple[str, ...]
    rewards: tuple[int, ...]
    faults: str
    drawing: str
    pay: str
    parent: int | None
    children: tuple[int, ...]
    decision: Row | None
    sampler: str
    operators: tuple[str, ...]
    training: Row | None
    own: OwnGain
    scripts: ScriptComparison | None
    plays: tuple[BestPlay, ...]
    no_bits: str
    teaches: Lessons
    taught_by: Lessons

    @property
    def task_id(self) -> TaskId:
        """The game in its role."""
        return self.member.task_id


def deciding(decisions: Sequence[Row]) -> Row | None:
    """The last decision that has thresholds: α1 and α2, the value that decides, its gain."""
    have = (row for row in reversed(decisions) if None not in (row["alpha1"], row["alpha2"]))
    return next(have, None)


def definition(limits: Row | None) -> Definition:
    """The value that decides; C where nothing was decided."""
    return Definition.CAPTURED if limits is None else Definition(limits["definition"])


def gather_games(run: Run) -> tuple[tuple[GameFacts, ...], TransferMatrix]:
    """Facts of each member of the newest scope, oldest first, and the transfer values between all
    of them.

    Raises LookupFailedError without a scope, and for a member whose game is not archived.
    """
    members = sorted(run.newest_scope[1], key=lambda member: member.generation)
    scope, limits = [member.task_id for member in members], deciding(run.decisions)
    rows = run.games(member.game_id for member in members)
    library_titles = [library_title(rows[member.game_id]) for member in members]
    names, parent_places = names_by_descent(members, library_titles), parents(members)
    columns = ["game_id", "sampler", "operators"]
    candidates = run.rows("proposals", columns, [("outcome", "=", "candidate")])
    proposals = {row["game_id"]: row for row in reversed(candidates)}
    finetunes = _newest_finetunes(run.finetunes, run.policies)
    kind = GainKind.TOTAL if limits is None else GainKind(limits["gain_kind"])
    matrix = transfer_matrix(run.plays, run.policies, scope, scope, kind)
    plays = best_plays(run, {task_id: run.policies.get(task_id, ()) for task_id in scope}, rows)
    teaches, taught_by = _lessons(matrix, definition(limits))
    cards = []
    for place, (member, task_id) in enumerate(zip(members, scope, strict=True)):
        row, proposal = rows[member.game_id], proposals.get(member.game_id, {})
        best, library = plays.get(task_id, ()), library_titles[place]
        read = _read(row, member.role, names[place])
        silent = read.pop("silent") or "the run scores them when it finishes"
        card = GameFacts(
            place=place,
            member=member,
            name=names[place],
            title=run.titles.get(task_id, ""),
            known_as="" if library == names[place] else library,
            row=row,
            **read,
            parent=parent_places[place],
            children=tuple(k for k, parent in enumerate(parent_places) if parent == place),
            decision=run.accepted.get(task_id),
            sampler=proposal.get("sampler", ""),
            operators=tuple(proposal.get("operators", ())),
            training=finetunes.get(task_id),
            own=own_gain(run, task_id),
            scripts=beside_scripts(run, task_id),
            plays=best,
            no_bits="" if all(play.terms for play in best) else silent,
            teaches=_largest(teaches[place]),
            taught_by=_largest(taught_by[place]),
        )
        cards.append(card)
    return tuple(cards), matrix


def _newest_finetunes(
    finetunes: Sequence[Row], policies: Mapping[TaskId, Sequence[str]]
) -> dict[TaskId, Row]:
    """Of each game the newest of the fine-tunes that represent it, with what it took before it
    paused."""
    ids = {policy_id for several in policies.values() for policy_id in several}
    by_id = {row["finetune_id"]: row for row in finetunes}
    newest = dict[TaskId, Row]()
    for row in (row for row in finetunes if row["finetune_id"] in ids):
        before = by_id.get(row["continues"], {})
        costs = {name: row[name] + before.get(name, 0) for name in ("tokens", "seconds")}
        newest[TaskId.of(row)] = {**row, **costs}
    return newest


def _read(row: Row, role: str, name: str) -> dict[str, Any]:
    """The facts that follow from a program; of one that this version of the language cannot read,
    the reason. ``silent``: why its plays can have no bits by token."""
    last = (row["code"].strip().splitlines() or [""])[-1]
    try:
        whole = stored_game(row)
    except DamagedError as error:
        faults = f"this version of the language cannot read it: {error.found}"
        facts = {"rules": (), "rewards": (), "drawing": "", "pay": last}
        return facts | {"faults": faults, "silent": faults}
    lines = list(enumerate(whole.program.instructions))
    rewards = [(place, line) for place, line in lines if isinstance(line, syn.Reward)]
    own = [expression_text(line.amount) for _, line in rewards if line.player == role]
    return {
        "rules": in_words(whole, role),
        "rewards": tuple(place for place, _ in rewards),
        "faults": "",
        "drawing": draw(whole.program, name),
        "pay": " + ".join(own) or last,
        "silent": unarchived_moves(whole, role),
    }


def _lessons(
    matrix: TransferMatrix, definition: Definition
) -> tuple[Mapping[int, list[tuple[int, Interval]]], Mapping[int, list[tuple[int, Interval]]]]:
    """The known values by place, without those on a game itself: what it teaches, and what
    teaches it."""
    places = {task_id: place for place, task_id in enumerate(matrix.sources)}
    teaches, taught_by = defaultdict(list), defaultdict(list)
    for (source, target), cell in matrix.cells.items():
        value = cell.values.of(definition)
        if source != target and value.value is not None:
            teaches[places[source]].append((places[target], value))
            taught_by[places[target]].append((places[source], value))
    return teaches, taught_by


def _largest(lessons: Sequence[tuple[int, Interval]]) -> Lessons:
    largest_first = sorted(lessons, key=lambda lesson: (-(lesson[1].value or 0.0), lesson[0]))
    return tuple(largest_first[:LESSONS])
