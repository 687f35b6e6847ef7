"""Repeated play of an exported measure by an asynchronous model, one map at a time, for evaluation
frameworks. Plays and scores are those of ``+experiment=measure``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from archive.schema import PlayOutcome
from archive.statistics.rounds import ScoreLevels, arms, narms
from evo.jobs.evaluation import Task
from evo.measure.folder import ExportedMeasure, MeasureGame, read
from xgl.analysis.plain_english import in_words
from xgl.analysis.static_facts import analyse
from xgl.chat.answers import missing_text, parse_move
from xgl.chat.client import follow_up
from xgl.errors import OversizeError
from xgl.escaping import code_span
from xgl.files import user_path
from xgl.language.syntax import Reward
from xgl.runtime.episode import Episode, EpisodeQueue
from xgl.runtime.lockstep import Memory, visible_items
from xgl.runtime.presentation import Message, first_messages
from xgl.runtime.requests import Item, Judge, Move, Play, Player, Rewarded, Seeds, Turn

ASK_AGAIN = 2
"""Further requests for a move, as for chat players of ``+experiment=measure``."""


@dataclass(frozen=True)
class ChatAnswer:
    """A model's answer to messages. ``cut``: it ended at the token limit; ``full``: the messages do
    not fit the model's window."""

    text: str
    cut: bool = False
    full: bool = False


Ask = Callable[[list[Message]], Awaitable[ChatAnswer]]


@dataclass(frozen=True)
class RoundPlayed:
    """One round: bits of the measured role (:meth:`Play.score_for`), and the play."""

    score: float
    play: Play


class MeasureHost:
    """The judge of a measure, its games, and the player of all roles except the measured one."""

    def __init__(self, export: ExportedMeasure, judge: Judge, others: Player) -> None:
        self.export, self.judge, self.others = export, judge, others
        self.members = {member.name: member for member in export.members}
        self.queue = EpisodeQueue()

    async def rounds(self, name: str, seeds: Seeds, count: int, ask: Ask) -> list[RoundPlayed]:
        """``count`` rounds of a game on one map."""
        member = self.members[name]
        task = member.task
        plays: list[Play] = []
        earlier: tuple[tuple[Item, ...], ...] = ()
        for number in range(1, count + 1):
            play = await self._play(member, seeds, Memory(task.role, number, earlier), ask)
            plays.append(play)
            earlier = (*earlier, visible_items(task.game, play, task.role))
        floor = _floor(task, plays)
        return [RoundPlayed(play.score_for(task.role, floor), play) for play in plays]

    async def _play(self, member: MeasureGame, seeds: Seeds, memory: Memory, ask: Ask) -> Play:
        game, role = member.task.game, member.task.role
        names = analyse(game.program).players
        episode = Episode(
            game,
            seeds.map_seed,
            self.judge,
            self.export.stories[member.name],
            play_seed=seeds.play_seed,
            players={name: self.others for name in names if name != role},
            memory=memory,
        )
        await self.queue.start(episode)
        while episode.turn is not None:
            await self.queue.step(episode, await move_of(episode.turn, ask))
        return episode.play


def _floor(task: Task, plays: Sequence[Play]) -> float:
    """The game's floor; where the folder has no levels, a bit less than 0 for each token of the
    role's moves, and at most the lowest of these plays' scores."""
    if np.isfinite(task.floor):
        return task.floor
    tokens = analyse(task.game.program, task.game.metadata, task.role).move_tokens
    return min([-float(tokens), *(play.scores.get(task.role, 0.0) for play in plays)])


async def move_of(turn: Turn, ask: Ask) -> Move | OversizeError:
    """One move; a view too long for the model loses its oldest rounds, a quarter at a time."""
    rounds = len(turn.request.view.earlier)
    while True:
        view = turn.request.view.latest(rounds)
        move = await _attempt(first_messages(replace(turn.request, view=view)), ask)
        if isinstance(move, Move):
            return replace(move, rounds_shown=rounds)
        if not rounds:
            return move
        rounds -= max(1, rounds // 4)


async def _attempt(messages: list[Message], ask: Ask) -> Move | OversizeError:
    for attempt in range(1 + ASK_AGAIN):
        answer = await ask(messages)
        if answer.full:
            if attempt == 0:
                return OversizeError("the view is longer than the model's window")
            break
        text = parse_move(answer.text)
        if text is not None:
            return Move(text)
        messages = follow_up(messages, answer.text, missing_text(answer.text, answer.cut))
    return Move("", format_failure=True)


def at_round(levels: ScoreLevels | None, rounds: int) -> int:
    """ℓ: the round at which a game is scored."""
    return rounds if levels is None else min(levels.k_m, rounds)


def round_facts(member: MeasureGame, rounds: Sequence[RoundPlayed]) -> dict[str, Any]:
    """Details of a sample's score: for each round its score, outcome, moves, bits of each token and
    counts of failures."""
    role = member.task.role
    return {
        "scores": [each.score for each in rounds],
        "outcomes": [each.play.outcome_for(role) for each in rounds],
        "moves": [each.play.accepted_moves(role) for each in rounds],
        "bits": [token_bits(each.play, role) for each in rounds],
        "counts": [asdict(each.play.move_counts(role)) for each in rounds],
    }


def explanation(member: MeasureGame, facts: Mapping[str, Any], last: int) -> str:
    """Markdown: what the game pays for, and of each round the bits, the moves and the bits of each
    token, as :func:`round_facts` describes them; the score is the best of the first ``last``."""
    game, scores = member.task.game, facts["scores"]
    sentences = zip(game.program.instructions, in_words(game, member.task.role), strict=True)
    lines = [
        f"{max(scores[:last]):.1f} bits: the best of rounds 1 to {last}.",
        "",
        *(f"* {code_span(text)}" for line, text in sentences if isinstance(line, Reward)),
        "",
    ]
    rounds = zip(scores, facts["outcomes"], facts["moves"], facts["bits"], strict=True)
    for number, (score, outcome, moves, bits) in enumerate(rounds, 1):
        outcome = "" if outcome == PlayOutcome.FINISHED else f", {outcome}"
        written = " / ".join(map(code_span, moves)) or "no move"
        terms = "; ".join(" ".join(f"{bit:.1f}" for bit in term) for term in bits)
        paid = f" ({terms})" if terms else ""
        lines.append(f"{number}. {score:.1f} bits{outcome}: {written}{paid}")
    return "\n".join(lines)


def news(asked: Sequence[Message], messages: Sequence[Message]) -> Sequence[Message]:
    """What a conversation has not shown of the messages of a request. A retry goes on where the
    request before, ``asked``, was answered; any other repeats the rules."""
    if asked and len(messages) > len(asked) and messages[: len(asked)] == asked:
        return messages[len(asked) + 1 :]  # without the answer
    return [each for each in messages if not (asked and each["role"] == "system")]


def token_bits(play: Play, role: str) -> list[list[float]]:
    """Bits of each token of each term that the role was paid."""
    rewards = [e for e in play.events if isinstance(e, Rewarded) and e.player == role]
    return [[sign * bit for bit in s.bits] for each in rewards for sign, _, s in each.terms]


def failures_per_round(samples: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Means over all rounds of samples, each as :func:`round_facts` describes it."""
    outcomes = [outcome for each in samples for outcome in each["outcomes"]]
    counts = [count for each in samples for count in each["counts"]]
    if not outcomes:
        return {}
    every = {"forfeits": [each == PlayOutcome.FORFEIT for each in outcomes]}
    names = ("failed_ensures", "format_failures", "cut_moves")
    every |= {name: [each[name] for each in counts] for name in names}
    return {f"{name} a round": float(np.mean(values)) for name, values in every.items()}


def game_narms(
    samples: Sequence[tuple[str, list[float], dict[str, Any] | None]],
) -> dict[str, float]:
    """Normalised score (Def. 42) of each game from its samples: game, scores of the rounds, levels.

    The maps of a game are its samples; a game without levels has no such score.
    """
    by_game: defaultdict[str, list[list[float]]] = defaultdict(list)
    levels_by_game: dict[str, ScoreLevels] = {}
    for game, scores, levels in samples:
        by_game[game].append(scores)
        if levels is not None:
            levels_by_game[game] = ScoreLevels(**levels)
    return {
        game: narms(arms(np.array(by_game[game])), levels, at_round(levels, len(by_game[game][0])))
        for game, levels in levels_by_game.items()
    }


def sample_facts(member: MeasureGame, seeds: Seeds) -> dict[str, Any]:
    """Metadata of a sample: its game, its map and the levels that normalise it."""
    return {
        "game": member.name,
        "role": member.task.role,
        "map_seed": seeds.map_seed,
        "play_seed": seeds.play_seed,
        "levels": None if member.levels is None else asdict(member.levels),
    }


def host_of(folder: str, judge: str = "") -> MeasureHost:
    """The measure with its judge loaded (or another), whose model plays the others.

    Raises :class:`~xgl.errors.ConfigError` and ModelNotFoundError.
    """
    from xgl.judge.loading import load_judge
    from xgl.players.local import LocalPolicy

    export = read(user_path(folder), judge or None)
    scorer = load_judge(export.judge)
    return MeasureHost(export, scorer, LocalPolicy(scorer.lm))
