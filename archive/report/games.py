"""The games of the newest scope as a reader meets them, on the page and in the terminal: program,
family, what was learned, best plays.

A finished run has archived the bits of each token that the best plays' rewards paid (table
``scored_texts``): it plays the archived moves again before the judge that is loaded then, since
a game is a function of its map, its moves and the judge. A replay counts only if its score is
the archived one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from archive.errors import DamagedError
from archive.plays import PURPOSES
from archive.run import ArchivedStories, Row, Run, parents, stored_game, story_texts
from archive.schema import BASE_POLICY, ScopeRow, TaskId
from archive.statistics.matrix import TransferMatrix, transfer_matrix
from archive.statistics.scripts import beside_scripts, own_gain
from archive.text import listed
from xgl import Cast, Game, Instance, Seeds, analyse, play_all
from xgl.analysis.plain_english import in_words
from xgl.cli.narration import Narrator
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
    *("policy_id", "game_id", "role", "map_seed", "play_seed"),
    *("score", "outcome", "purpose", "moves"),
)


class ScoredText(NamedTuple):
    """One xent of a reward: the expression, the text by token, and the bits of its last tokens, as
    they count for the player: a dialect may not score the first one."""

    expression: str
    tokens: tuple[str, ...]
    token_bits: tuple[float, ...]

    @property
    def pieces(self) -> Iterator[tuple[str, float | None]]:
        """Each token with its bits, None if unscored."""
        unscored = [None] * (len(self.tokens) - len(self.token_bits))
        return zip(self.tokens, [*unscored, *self.token_bits], strict=True)


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
    filters.append(("game_id", "in", [task_id.game_id for task_id in policies]))
    rows = run.table("scores", _COLUMNS, filters).sort_by([("score", "descending")])
    best, base = _best_rows(rows, policies, PLAYS if len(policies) <= FEW else 1)
    maps = run.map_texts("map_seed", (row["map_seed"] for its in best.values() for row in its))
    scored_texts = read_scored_texts(run)

    def play(task_id: TaskId, row: Row) -> BestPlay:
        policy, seeds = row["policy_id"], (row["map_seed"], row["play_seed"])
        texts: tuple[str, ...] = ()
        with suppress(DamagedError):
            texts = story_texts(stored_game(games[task_id.game_id]), maps.get(seeds[0], {}))
        terms = scored_texts.get((task_id, policy, *seeds), ())
        before = base.get((task_id, *seeds))
        return BestPlay(policy, *seeds, texts, tuple(row["moves"]), row["score"], before, terms)

    return {task_id: tuple(play(task_id, row) for row in its) for task_id, its in best.items()}


def _best_rows(
    rows: pa.Table, policies: Mapping[TaskId, Sequence[str]], count: int
) -> tuple[dict[TaskId, list[Row]], dict[tuple[TaskId, int, int], float]]:
    """Of ``rows``, the highest scores first: ``count`` plays of each game's own policies, and the
    base player's scores by task and seeds."""
    base: dict[tuple[TaskId, int, int], float] = {}
    chosen: dict[str, dict[TaskId, dict[int, Row]]] = {purpose: {} for purpose in PURPOSES}
    for row in rows.to_pylist():
        task_id, policy = TaskId.of(row), row["policy_id"]
        if policy == BASE_POLICY:
            base[task_id, row["map_seed"], row["play_seed"]] = row["score"]
        elif row["outcome"] == "finished" and policy in policies.get(task_id, ()):
            by_map = chosen[row["purpose"]].setdefault(task_id, {})
            if len(by_map) < count:
                by_map.setdefault(row["map_seed"], row)
    fresh, others = (chosen[purpose] for purpose in PURPOSES)
    return {task: [*by_map.values()] for task, by_map in (others | fresh).items()}, base


def unarchived_moves(whole: Game, role: str) -> str:
    """Why the archive does not hold all moves of a play of ``role``; empty if it does."""
    others = listed([name for name in analyse(whole.program).players if name != role])
    return others and f"{others} moved too, and the archive holds the main player's moves"


def read_scored_texts(run: Run) -> dict[tuple[TaskId, str, int, int], tuple[ScoredText, ...]]:
    """The scored texts that a run has archived of its best plays, by task, policy and seeds."""
    scored_texts: dict[tuple[TaskId, str, int, int], tuple[ScoredText, ...]] = {}
    for row in sorted(run.rows("scored_texts"), key=lambda row: row["place"]):
        key = (TaskId.of(row), row["policy_id"], row["map_seed"], row["play_seed"])
        text = ScoredText(row["expression"], tuple(row["tokens"]), tuple(row["token_bits"]))
        if (found := len(text.token_bits)) > len(text.tokens):
            where = f"scored_texts of {row['game_id']}"
            raise DamagedError(where, f"bits of {found} tokens", f"at most {len(text.tokens)}")
        scored_texts[key] = (*scored_texts.get(key, ()), text)
    return scored_texts


def scored_text_rows(task_id: TaskId, play: BestPlay) -> list[dict[str, Any]]:
    play_facts = {"policy_id": play.policy_id, **task_id._asdict()}
    play_facts |= {"map_seed": play.map_seed, "play_seed": play.play_seed}
    return [play_facts | {"place": n} | term._asdict() for n, term in enumerate(play.terms)]


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
    for _, _, _, terms in Narrator(whole, role).tell(log):
        for term in terms:
            if term.text is None:
                texts = [f"#{number}" for number in range(1, len(term.bits) + 1)]
            else:
                texts = token_spans(judge, term.text, len(term.bits))
            yield ScoredText(term.label, tuple(texts), term.bits)


class GameFacts:
    """One game of the newest scope, at its ``place`` in the report's list; ``parent`` and
    ``children`` are places there.

    ``title``: what it pays for. ``own``: what training on it gains, in all and about the map, as
    the decision on it says. ``rules``: in words, empty where this version of the language cannot
    read the program, for the reason ``faults``; ``rewards``: places of the rules that say what is
    paid; ``pay``: its reward lines, for one line of a list; ``seat``: the role that is learned,
    where other players move too. ``no_bits``: why the plays show no bits for each token; empty if
    they do.
    """

    def __init__(
        self,
        run: Run,
        place: int,
        member: ScopeRow,
        row: Row,
        parent: int | None,
        training: Row | None,
        plays: Sequence[BestPlay],
    ) -> None:
        self.place, self.member, self.row, self.parent = place, member, row, parent
        self.task_id = task_id = member.task_id
        self.name, self.title = run.names[task_id], run.titles.get(task_id, "")
        self.children: list[int] = []
        self.decision, self.training, self.plays = run.accepted.get(task_id), training, plays
        self.own, self.scripts = own_gain(run, task_id), beside_scripts(run, task_id)
        self.rules: Sequence[str] = ()
        self.seat = ""
        self.rewards: Sequence[int] = ()
        self.pay, self.faults = (row["code"].strip().splitlines() or [""])[-1], ""
        try:
            whole, role = stored_game(row), member.role
        except DamagedError as error:
            silent = self.faults = f"this version of the language cannot read it: {error.found}"
        else:
            lines = enumerate(whole.program.instructions)
            rewards = {n: line for n, line in lines if isinstance(line, syn.Reward)}
            own = [expression_text(line.amount) for line in rewards.values() if line.player == role]
            self.rules, self.rewards = in_words(whole, role), [*rewards]
            self.seat = f" as {role}" if len(analyse(whole.program).players) > 1 else ""
            self.pay = " + ".join(own) or self.pay
            silent = unarchived_moves(whole, role) or "the run scores them when it finishes"
        self.no_bits = "" if all(play.terms for play in plays) else silent


def gather_games(run: Run) -> tuple[tuple[GameFacts, ...], TransferMatrix]:
    """Facts of each member of the newest scope, oldest first, and the transfer values between all
    of them.

    Raises LookupFailedError without a scope, and for a member whose game is not archived.
    """
    members = run.newest_scope[1]
    scope = [member.task_id for member in members]
    rows = run.games(member.game_id for member in members)
    finetunes = _newest_finetunes(run)
    plays = best_plays(run, {task_id: run.policies.get(task_id, ()) for task_id in scope}, rows)
    games: list[GameFacts] = []
    for place, (member, parent) in enumerate(zip(members, parents(members), strict=True)):
        own = finetunes.get(member.task_id), plays.get(member.task_id, ())
        games.append(GameFacts(run, place, member, rows[member.game_id], parent, *own))
        if parent is not None:
            games[parent].children.append(place)
    kind = run.deciding_value[1]
    return tuple(games), transfer_matrix(run.plays, run.policies, scope, scope, kind)


def _newest_finetunes(run: Run) -> dict[TaskId, Row]:
    """Of each game the newest fine-tune that represents it, with what it took before it paused."""
    ids = {policy_id for several in run.policies.values() for policy_id in several}
    by_id = {row["finetune_id"]: row for row in run.finetunes}
    newest = dict[TaskId, Row]()
    for row in (row for row in run.finetunes if row["finetune_id"] in ids):
        before = by_id.get(row["continues"], {})
        costs = {name: row[name] + before.get(name, 0) for name in ("tokens", "seconds")}
        newest[TaskId.of(row)] = {**row, **costs}
    return newest
