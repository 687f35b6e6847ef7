"""The games of the newest scope as a reader meets them, on the page and in the terminal: program,
family, what was learned, best plays.

A finished run has archived the bits of each token that the best plays' rewards paid (table
``scored_texts``): it plays the archived moves again before the judge that is loaded then, since
a game is a function of its map, its moves and the judge. A replay counts only if its score is
the archived one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from archive.errors import DamagedError
from archive.plays import PURPOSES
from archive.run import (
    ArchivedStories,
    Row,
    Run,
    library_title,
    names_by_descent,
    parents,
    stored_game,
    story_texts,
)
from archive.schema import BASE_POLICY, Definition, ScopeRow, TaskId
from archive.statistics.intervals import Interval
from archive.statistics.matrix import TransferMatrix, transfer_matrix
from archive.statistics.rule import OwnGain
from archive.statistics.scripts import ScriptComparison, beside_scripts, own_gain
from archive.text import listed
from xgl import Cast, Game, Instance, Seeds, analyse, play_all
from xgl.analysis.plain_english import in_words
from xgl.cli.narration import Narrator, PaidReward
from xgl.diagram import draw
from xgl.language import syntax as syn
from xgl.language.unparse import expression_text
from xgl.players import FixedMovesPlayer
from xgl.runtime.lockstep import machines_of
from xgl.runtime.machine import Machine
from xgl.runtime.presentation import token_spans
from xgl.runtime.requests import Judge

PLAYS = 3
"""Best plays of a game that a report shows."""
FEW = 60
"""With more games than this, one play of each is shown: the page stays readable and small."""
CLOSE = 0.02
"""Largest difference between the score of a replay and the archived one, relative or in bits."""
_COLUMNS = (
    *("policy_id", "game_id", "role", "map_seed", "play_seed", "score", "outcome", "purpose"),
    "moves",
)


class Token(NamedTuple):
    """A piece of a scored text; ``bits`` as they count for the player, None if unscored."""

    text: str
    bits: float | None


class ScoredText(NamedTuple):
    """One xent of a reward: the expression, what it is worth in bits, and the text by token."""

    expression: str
    bits: float
    tokens: tuple[Token, ...]


@dataclass(frozen=True)
class BestPlay:
    """A play among a game's best: who played, the map's texts, the moves, the score in bits, and
    the base player's on the same seeds; ``terms`` are empty if their bits are not known."""

    policy_id: str
    map_seed: int
    play_seed: int
    texts: tuple[str, ...]
    moves: tuple[str, ...]
    score: float
    base: float | None
    terms: tuple[ScoredText, ...] = ()


def best_plays(
    run: Run, policies: Mapping[TaskId, Sequence[str]], games: Mapping[str, Row]
) -> dict[TaskId, tuple[BestPlay, ...]]:
    """The plays of each game's own policies with the highest scores, on different maps, best first,
    with the bits that the archive holds.

    Plays on acceptance maps where there are any, else on selection maps: the first chose nothing.
    """
    ids = [BASE_POLICY, *(policy_id for several in policies.values() for policy_id in several)]
    filters = [("purpose", "in", [*PURPOSES]), ("policy_id", "in", ids)]
    rows = run.table("scores", _COLUMNS, filters).sort_by([("score", "descending")])
    best, base = _best_rows(rows, policies, PLAYS if len(policies) <= FEW else 1)
    maps = run.map_texts("map_seed", (row["map_seed"] for its in best.values() for row in its))
    scored_texts = read_scored_texts(run)
    return {
        task_id: tuple(
            BestPlay(
                row["policy_id"],
                *(seeds := (row["map_seed"], row["play_seed"])),
                story_texts(games[task_id.game_id], maps.get(row["map_seed"], {})),
                tuple(row["moves"]),
                row["score"],
                base.get((task_id, *seeds)),
                scored_texts.get((task_id, row["policy_id"], *seeds), ()),
            )
            for row in its
        )
        for task_id, its in best.items()
    }


def _best_rows(
    rows: pa.Table, policies: Mapping[TaskId, Sequence[str]], count: int
) -> tuple[dict[TaskId, list[Row]], dict[tuple[TaskId, int, int], float]]:
    """Of ``rows``, the highest scores first: ``count`` plays of each game's own policies, and the
    base player's scores by task and seeds. Only what is taken becomes Python objects whole."""
    base: dict[tuple[TaskId, int, int], float] = {}
    chosen: dict[str, dict[TaskId, dict[int, int]]] = {purpose: {} for purpose in PURPOSES}
    columns = (rows[name].to_pylist() for name in _COLUMNS[:-1])
    for index, (policy, *task, map_seed, play_seed, score, outcome, purpose) in enumerate(
        zip(*columns, strict=True)
    ):
        task_id = TaskId(*task)
        if policy == BASE_POLICY:
            base[task_id, map_seed, play_seed] = score
        elif outcome == "finished" and policy in policies.get(task_id, ()):
            by_map = chosen[purpose].setdefault(task_id, {})
            if len(by_map) < count:
                by_map.setdefault(map_seed, index)
    fresh, others = (chosen[purpose] for purpose in PURPOSES)
    best = others | fresh
    return {task: rows.take([*by_map.values()]).to_pylist() for task, by_map in best.items()}, base


def unarchived_moves(whole: Game, role: str) -> str:
    """Why the archive does not hold all moves of a play of ``role``; empty if it does."""
    others = listed([name for name in analyse(whole.program).players if name != role])
    return others and f"{others} moved too, and the archive holds the main player's moves"


# -- the archive's rows ------------------------------------------------------------------------


def read_scored_texts(run: Run) -> dict[tuple[TaskId, str, int, int], tuple[ScoredText, ...]]:
    """The scored texts that a run has archived of its best plays, by task, policy and seeds."""
    scored_texts: dict[tuple[TaskId, str, int, int], list[tuple[int, ScoredText]]] = {}
    for row in run.rows("scored_texts"):
        key = (TaskId.of(row), row["policy_id"], row["map_seed"], row["play_seed"])
        bits = [None] * (len(row["tokens"]) - len(row["token_bits"])) + row["token_bits"]
        tokens = tuple(map(Token, row["tokens"], bits))
        text = ScoredText(row["expression"], sum(row["token_bits"]), tokens)
        scored_texts.setdefault(key, []).append((row["place"], text))
    return {
        key: tuple(text for _, text in sorted(texts, key=lambda each: each[0]))
        for key, texts in scored_texts.items()
    }


def scored_text_rows(task_id: TaskId, play: BestPlay) -> list[dict[str, Any]]:
    """Rows of ``scored_texts`` of one play."""
    return [
        {
            "policy_id": play.policy_id,
            "game_id": task_id.game_id,
            "role": task_id.role,
            "map_seed": play.map_seed,
            "play_seed": play.play_seed,
            "place": index,
            "expression": term.expression,
            "tokens": [token.text for token in term.tokens],
            "token_bits": [token.bits for token in term.tokens if token.bits is not None],
        }
        for index, term in enumerate(play.terms)
    ]


# -- a replay ----------------------------------------------------------------------------------


def replayed_plays(
    whole: Game, role: str, plays: Sequence[BestPlay], judge: Judge
) -> tuple[BestPlay, ...]:
    """The plays, which are on different maps, with their terms; without them where the score is
    another. Raises XGLError and ValueError if a play cannot be repeated."""
    seeds = [Seeds(play.map_seed, play.play_seed) for play in plays]
    moves = {seed: play.moves or ("",) for seed, play in zip(seeds, plays, strict=True)}
    stories = ArchivedStories({play.map_seed: play.texts for play in plays})
    instances = [Instance(whole, seed) for seed in seeds]
    machines = machines_of(instances)
    cast = Cast(judge, stories, {role: FixedMovesPlayer(moves)})
    results = play_all(instances, cast, machines)
    return tuple(
        replace(play, terms=tuple(_terms(machine, whole, role, judge)))
        if abs(result.scores.get(role, 0.0) - play.score) <= CLOSE * (1 + abs(play.score))
        else play
        for play, machine, result in zip(plays, machines, results, strict=True)
    )


def _terms(machine: Machine, whole: Game, role: str, judge: Judge) -> Iterator[ScoredText]:
    log = zip(machine.lines, machine.events, strict=True)
    for notice in Narrator(whole, role).notices(log):
        for term in (
            notice.terms if isinstance(notice, PaidReward) and notice.player == role else ()
        ):
            texts = [f"#{number}" for number in range(1, len(term.bits) + 1)]
            if term.text is not None:
                texts = list(token_spans(judge, term.text, len(term.bits)))
            unscored = [None] * (len(texts) - len(term.bits))
            tokens = tuple(map(Token, texts, [*unscored, *term.bits]))
            yield ScoredText(term.label, sum(term.bits), tokens)


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
    """The last decision that has thresholds: α1 and α2."""
    have = (row for row in reversed(decisions) if None not in (row["alpha1"], row["alpha2"]))
    return next(have, None)


def gather_games(run: Run) -> tuple[tuple[GameFacts, ...], TransferMatrix]:
    """Facts of each member of the newest scope, oldest first, and the transfer values between all
    of them.

    Raises LookupFailedError without a scope, and for a member whose game is not archived.
    """
    members = sorted(run.newest_scope[1], key=lambda member: member.generation)
    scope, (value, kind) = [member.task_id for member in members], run.deciding_value
    rows = run.games(member.game_id for member in members)
    library_titles = [library_title(rows[member.game_id]) for member in members]
    names, parent_places = names_by_descent(members, library_titles), parents(members)
    columns = ["game_id", "sampler", "operators"]
    candidates = run.rows("proposals", columns, [("outcome", "=", "candidate")])
    proposals = {row["game_id"]: row for row in reversed(candidates)}
    finetunes = _newest_finetunes(run.finetunes, run.policies)
    matrix = transfer_matrix(run.plays, run.policies, scope, scope, kind)
    plays = best_plays(run, {task_id: run.policies.get(task_id, ()) for task_id in scope}, rows)
    teaches, taught_by = _lessons(matrix, value)
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
