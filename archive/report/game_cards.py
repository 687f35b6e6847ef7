"""The games of the newest scope: program, family, what was learned, best plays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from archive.errors import DamagedError
from archive.names import library_title, names_by_descent, parents
from archive.report.contents import BestPlay, GameFacts, GameTransfer, RunThresholds
from archive.run import Row, Run, stored_game, story_texts
from archive.schema import BASE_POLICY, Definition, GainKind, Purpose, TaskId
from archive.statistics.matrix import TransferMatrix, transfer_matrix
from archive.statistics.scripts import beside_scripts, own_gain
from xgl.analysis.plain_english import in_words
from xgl.diagram import draw
from xgl.language import syntax as syn
from xgl.language.unparse import expression_text

# -- the best plays of each game's own fine-tuned player -------------------------------------------

PLAYS = 3
"""Best plays of a game that a report shows."""
FEW = 60
"""With more games than this, one play of each is shown: the page stays readable and small."""
_COLUMNS = (
    "policy_id",
    "game_id",
    "role",
    "map_seed",
    "play_seed",
    "score",
    "outcome",
    "purpose",
    "moves",
)


def best_plays(
    run: Run,
    policies: Mapping[TaskId, Sequence[str]],
    games: Mapping[str, Row],
) -> dict[TaskId, tuple[BestPlay, ...]]:
    """The plays with the highest scores by task, on different maps, best first.

    Plays on acceptance maps where there are any, else on selection maps: the first chose nothing.
    """
    count = PLAYS if len(policies) <= FEW else 1
    own = {policy: task_id for task_id, several in policies.items() for policy in several}
    purposes = [str(Purpose.SELECTION), str(Purpose.ACCEPTANCE)]
    filters = [("purpose", "in", purposes), ("policy_id", "in", [BASE_POLICY, *own])]
    rows = run.table("scores", _COLUMNS, filters)
    best: dict[TaskId, list[Row]] = {}
    for purpose in (Purpose.SELECTION, Purpose.ACCEPTANCE):
        its = _own_plays(rows, own, purpose)
        for task_id, indices in _by_task(its).items():
            best[task_id] = _best_rows(its, indices, count)
    maps = run.map_texts([row["map_seed"] for rows in best.values() for row in rows])
    base = _base_scores(rows)
    return {
        task_id: tuple(_play(row, task_id, maps, base, games[task_id.game_id]) for row in rows)
        for task_id, rows in best.items()
    }


def _own_plays(rows: pa.Table, own: Mapping[str, TaskId], purpose: str) -> pa.Table:
    """Finished plays of games by their own policies, highest scores first."""
    rows = rows.filter((pc.field("purpose") == str(purpose)) & (pc.field("outcome") == "finished"))
    policy, game_id, role = (rows[name].to_pylist() for name in _COLUMNS[:3])
    is_own = [own.get(p) == (g, r) for p, g, r in zip(policy, game_id, role, strict=True)]
    return rows.filter(pa.array(is_own, pa.bool_())).sort_by([("score", "descending")])


def _by_task(rows: pa.Table) -> dict[TaskId, list[int]]:
    indices: dict[TaskId, list[int]] = defaultdict(list)
    task_ids = map(TaskId, rows["game_id"].to_pylist(), rows["role"].to_pylist())
    for index, task_id in enumerate(task_ids):
        indices[task_id].append(index)
    return indices


def _best_rows(rows: pa.Table, indices: Sequence[int], count: int) -> list[Row]:
    """The first ``count`` rows among ``indices``, each with another map."""
    seeds: list[int] = []
    chosen_indices = []
    for index in indices:
        seed = rows["map_seed"][index].as_py()
        if seed not in seeds:
            seeds.append(seed)
            chosen_indices.append(index)
        if len(chosen_indices) == count:
            break
    return [dict(row) for row in rows.take(pa.array(chosen_indices, pa.int64())).to_pylist()]


def _base_scores(rows: pa.Table) -> dict[tuple[TaskId, int, int], float]:
    """The base player's scores by task and seeds."""
    by_base = rows.filter(pc.field("policy_id") == BASE_POLICY)
    columns = by_base.select(["game_id", "role", "map_seed", "play_seed", "score"])
    return {
        (TaskId.of(row), row["map_seed"], row["play_seed"]): row["score"]
        for row in columns.to_pylist()
    }


def _play(
    row: Row,
    task_id: TaskId,
    maps: Mapping[int, Mapping[int, Sequence[Row]]],
    base: Mapping[tuple[TaskId, int, int], float],
    game: Row,
) -> BestPlay:
    return BestPlay(
        row["policy_id"],
        row["map_seed"],
        row["play_seed"],
        story_texts(game, maps.get(row["map_seed"], {})),
        tuple(row["moves"]),
        row["score"],
        base.get((task_id, row["map_seed"], row["play_seed"])),
    )


# -- the cards -------------------------------------------------------------------------------------

LESSONS = 3
"""How many of the games that teach, or are taught, most a card names."""


def gather_games(
    run: Run, thresholds: RunThresholds | None
) -> tuple[tuple[GameFacts, ...], TransferMatrix]:
    """Facts of each member of the newest scope, oldest first, and the transfer values between all
    of them.

    Raises LookupFailedError without a scope, and for a member whose game is not archived.
    """
    members = sorted(run.newest_scope[1], key=lambda member: member.generation)
    scope = [member.task_id for member in members]
    rows = run.games(member.game_id for member in members)
    titles = [library_title(rows[member.game_id]) for member in members]
    names, parent_places = names_by_descent(members, titles), parents(members)
    columns = ["game_id", "outcome", "sampler", "operators"]
    candidates = run.rows("proposals", columns, [("outcome", "=", "candidate")])
    proposals = {row["game_id"]: row for row in reversed(candidates)}
    finetunes = _newest_finetunes(run.finetunes, run.policies)
    kind = GainKind.TOTAL if thresholds is None else thresholds.gain_kind
    matrix = transfer_matrix(run.plays, run.policies, scope, scope, kind)
    plays = best_plays(run, {task_id: run.policies.get(task_id, ()) for task_id in scope}, rows)
    teaches, taught_by = _lessons(matrix, scope, thresholds)
    cards = []
    for place, (member, task_id) in enumerate(zip(members, scope, strict=True)):
        row, proposal = rows[member.game_id], proposals.get(member.game_id, {})
        title = titles[place]
        card = GameFacts(
            place=place,
            task_id=task_id,
            name=names[place],
            title=run.titles.get(task_id, ""),
            known_as="" if title == names[place] else title,
            code=row["code"],
            dialect=row["dialect"],
            metadata_json=row["metadata_json"],
            **_read(row, member.role, names[place]),
            steps=row["steps"],
            generation=member.generation,
            parent=parent_places[place],
            children=tuple(k for k, parent in enumerate(parent_places) if parent == place),
            gamma=member.gamma,
            decision=run.accepted.get(task_id),
            sampler=proposal.get("sampler", ""),
            operators=tuple(proposal.get("operators", ())),
            training=finetunes.get(task_id),
            own=own_gain(run, task_id),
            scripts=beside_scripts(run, task_id),
            plays=plays.get(task_id, ()),
            no_bits="",
            teaches=teaches.get(place, ()),
            taught_by=taught_by.get(place, ()),
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
    the reason."""
    code: str = row["code"]
    try:
        whole = stored_game(row)
    except DamagedError as error:
        faults = f"this version of the language cannot read it: {error.found}"
        last = (code.strip().splitlines() or [""])[-1]
        return {"rules": (), "rewards": (), "faults": faults, "drawing": "", "pay": last}
    lines = list(enumerate(whole.program.instructions))
    rewards = [(place, line) for place, line in lines if isinstance(line, syn.Reward)]
    own = [expression_text(line.amount) for _, line in rewards if line.player == role]
    return {
        "rules": in_words(whole, role),
        "rewards": tuple(place for place, _ in rewards),
        "faults": "",
        "drawing": draw(whole.program, name),
        "pay": " + ".join(own) or (code.strip().splitlines() or [""])[-1],
    }


Lessons = dict[int, tuple[GameTransfer, ...]]


def _lessons(
    matrix: TransferMatrix, scope: Sequence[TaskId], thresholds: RunThresholds | None
) -> tuple[Lessons, Lessons]:
    """The largest known values by place, without those on a game itself: what it teaches, and what
    teaches it."""
    definition = thresholds.definition if thresholds else Definition.CAPTURED
    places = {task_id: place for place, task_id in enumerate(scope)}
    teaches: defaultdict[int, list[GameTransfer]] = defaultdict(list)
    taught_by: defaultdict[int, list[GameTransfer]] = defaultdict(list)
    for (source, target), cell in matrix.cells.items():
        value = cell.values.of(definition)
        if source != target and value.value is not None:
            teaches[places[source]].append(GameTransfer(places[target], value))
            taught_by[places[target]].append(GameTransfer(places[source], value))
    best, best_by = (
        {of: _largest(some) for of, some in each.items()} for each in (teaches, taught_by)
    )
    return best, best_by


def _largest(lessons: Iterable[GameTransfer]) -> tuple[GameTransfer, ...]:
    largest_first = sorted(lessons, key=lambda lesson: (-(lesson.value.value or 0.0), lesson.game))
    return tuple(largest_first[:LESSONS])
