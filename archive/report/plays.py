"""The best plays of each game's trained player, and the bits of each token that their rewards paid.

A finished run has archived the bits (table ``scored_texts``): it plays the archived moves again
before the judge that is loaded then, since a game is a function of its map, its moves and the
judge. A replay counts only if its score is the archived one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from archive.plays import PURPOSES
from archive.run import Row, Run, story_texts
from archive.schema import BASE_POLICY, TaskId
from archive.text import listed
from xgl import Cast, Game, Instance, Seeds, analyse, play_all
from xgl.cli.narration import Narrator, PaidReward, Term, WatchedMachine
from xgl.players import FixedMovesPlayer
from xgl.runtime.presentation import token_spans
from xgl.runtime.requests import Judge, StoryRequest

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


@dataclass(frozen=True)
class Token:
    """A piece of a scored text; ``bits`` as they count for the player, None if unscored."""

    text: str
    bits: float | None


@dataclass(frozen=True)
class ScoredText:
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
    maps = run.map_texts(row["map_seed"] for its in best.values() for row in its)
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
    others = [name for name in analyse(whole.program).players if name != role]
    if not others:
        return ""
    return f"{listed(others)} moved too, and the archive holds the main player's moves"


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
    stories = _ArchivedStories({play.map_seed: play.texts for play in plays})
    machines = [WatchedMachine(whole) for _ in plays]
    cast = Cast(judge, stories, {role: FixedMovesPlayer(moves)})
    results = play_all([Instance(whole, seed) for seed in seeds], cast, machines)
    return tuple(
        replace(play, terms=tuple(_terms(machine, whole, role, judge)))
        if abs(result.scores.get(role, 0.0) - play.score) <= CLOSE * (1 + abs(play.score))
        else play
        for play, machine, result in zip(plays, machines, results, strict=True)
    )


def _terms(machine: WatchedMachine, whole: Game, role: str, judge: Judge) -> Iterator[ScoredText]:
    for notice in Narrator(whole, role).notices(machine.log()):
        if isinstance(notice, PaidReward) and notice.player == role:
            yield from (_scored_text(term, judge) for term in notice.terms)


def _scored_text(term: Term, judge: Judge) -> ScoredText:
    bits = term.bits
    texts = [f"#{number}" for number in range(1, len(bits) + 1)]
    if term.text is not None:
        texts = list(token_spans(judge, term.text, len(bits)))
    unscored = [None] * (len(texts) - len(bits))
    return ScoredText(term.label, sum(bits), tuple(map(Token, texts, [*unscored, *bits])))


class _ArchivedStories:
    """A story source that answers with the archived texts of the map."""

    def __init__(self, texts: Mapping[int, tuple[str, ...]]) -> None:
        self.texts = texts

    def story_texts(self, requests: list[tuple[int, StoryRequest]]) -> list[str]:
        for map_seed, request in requests:
            if request.site >= len(self.texts[map_seed]):
                raise ValueError(f"the archive holds no text for story {request.site + 1} of a map")
        return [self.texts[map_seed][request.site] for map_seed, request in requests]
