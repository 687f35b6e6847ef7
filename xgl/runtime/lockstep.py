"""Many machines in lockstep: their requests gathered, answered in batches, handed back.

Equal score and truth requests are merged before a model sees them (the unconditional xent of
a map is asked by every rollout of that map); moves and stories never are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from xgl.errors import OversizeError
from xgl.language.canonical import Game
from xgl.language.characters import well_formed
from xgl.language.dialects import DIALECTS
from xgl.random_streams import stream
from xgl.runtime.machine import Machine
from xgl.runtime.plan import PreparedProgram
from xgl.runtime.requests import (
    DrawRequest,
    Item,
    Judge,
    MoveRequest,
    Play,
    Player,
    PrefixRequest,
    Request,
    ScoreRequest,
    Seeds,
    StoryRequest,
    StorySource,
    TruthRequest,
    Turn,
)

Question = TypeVar("Question")
BEYOND = 64
"""Characters of a move beyond its game's cap that a judge reads; a move that keeps one of them
ends the game as oversize, so what follows them does not matter."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What ``player`` brings to ``round`` of a repeated game: what it was shown in the earlier
    ones, the oldest first. All others play as if it were the first."""

    player: str
    round: int
    earlier: tuple[tuple[Item, ...], ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """One game to be played from one pair of seeds, by one ``policy`` of a player that is
    several; ``memory`` where the game is repeated."""

    game: Game
    seeds: Seeds
    policy: str = ""
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Cast:
    """Who answers: the judge, the story source, and the player behind each name."""

    judge: Judge
    stories: StorySource
    players: dict[str, Player]


@dataclass(slots=True)
class _Running:
    """A machine in flight with what it asks now; ``answers`` fill up by position."""

    index: int
    instance: Instance
    generator: Generator[tuple[Request, ...], tuple[Any, ...], Play]
    requests: tuple[Request, ...] = ()
    answers: list[Any] = None  # type: ignore[assignment]  # set with each question


def play_all(
    instances: Sequence[Instance], cast: Cast, machines: Sequence[Machine] | None = None
) -> list[Play]:
    """Play all instances to their end; results in the order given.

    ``machines``: their machines, where somebody wants to watch them run.
    """
    machines = machines or _machines(instances)
    plays: list[Play | None] = [None] * len(instances)
    running = []
    for index, (instance, fresh) in enumerate(zip(instances, machines, strict=True)):
        machine = _Running(index, instance, fresh.play())
        if _resume(machine, lambda m=machine: next(m.generator), plays):  # type: ignore[misc]
            running.append(machine)
    while running:
        _answer(running, cast)
        running = [machine for machine in running if _resume(machine, _reply(machine), plays)]
    return [play for play in plays if play is not None]


def _machines(instances: Sequence[Instance]) -> list[Machine]:
    """One for each instance; those of one game share what its program says of them all."""
    games = {id(instance.game): instance.game for instance in instances}
    plans = {key: PreparedProgram.of(game.program) for key, game in games.items()}
    return [Machine(instance.game, plans[id(instance.game)]) for instance in instances]


def _resume(
    machine: _Running, ask: Callable[[], tuple[Request, ...]], plays: list[Play | None]
) -> bool:
    try:
        machine.requests = ask()
    except StopIteration as end:
        plays[machine.index] = end.value
        return False
    machine.answers = [None] * len(machine.requests)
    return True


def _reply(machine: _Running) -> Callable[[], tuple[Request, ...]]:
    refusal = next((a for a in machine.answers if isinstance(a, OversizeError)), None)
    if refusal is not None:
        return lambda: machine.generator.throw(refusal)
    return lambda: machine.generator.send(tuple(machine.answers))


def _answer(running: list[_Running], cast: Cast) -> None:
    """Answer every open request, one batch for each model."""
    slots: dict[type, list[tuple[_Running, int]]] = defaultdict(list)
    for machine in running:
        for position, request in enumerate(machine.requests):
            slots[type(request)].append((machine, position))
    _fill(slots[ScoreRequest], lambda questions: _merged(questions, cast.judge.score))
    _fill(slots[TruthRequest], lambda questions: _merged(questions, cast.judge.truths))
    _answer_stories(slots[StoryRequest], cast.stories)
    _answer_each(slots[PrefixRequest], lambda _, r: cast.judge.first_tokens(r.text, r.tokens))
    _answer_each(slots[DrawRequest], _order)
    by_player: dict[int, list[tuple[_Running, int]]] = defaultdict(list)
    for machine, position in slots[MoveRequest]:
        name = machine.requests[position].view.player  # type: ignore[union-attr]
        by_player[id(cast.players[name])].append((machine, position))
    for player in {id(p): p for p in cast.players.values()}.values():
        _move(by_player[id(player)], player, cast.judge)


def _fill(slots: list[tuple[_Running, int]], answer: Callable[[list[Any]], list[Any]]) -> None:
    if not slots:
        return
    answers = answer([machine.requests[position] for machine, position in slots])
    for (machine, position), reply in zip(slots, answers, strict=True):
        machine.answers[position] = reply


def _merged(questions: list[Question], answer: Callable[[list[Question]], list[Any]]) -> list[Any]:
    unique = list(dict.fromkeys(questions))
    answers = dict(zip(unique, answer(unique), strict=True))
    return [answers[request] for request in questions]


def _answer_each(slots: list[tuple[_Running, int]], answer: Callable[[_Running, Any], Any]) -> None:
    for machine, position in slots:
        machine.answers[position] = answer(machine, machine.requests[position])


def _order(machine: _Running, request: DrawRequest) -> tuple[int, ...]:
    """Chance in a game: a function of the play's seeds, the same for every policy."""
    seeds = machine.instance.seeds
    place = (request.line, request.visit, request.draw)
    drawn = stream("draw", seeds.map_seed, seeds.play_seed, *place)
    return tuple(map(int, drawn.permutation(request.size)))


def _answer_stories(slots: list[tuple[_Running, int]], stories: StorySource) -> None:
    asked = []
    for machine, position in slots:
        request = machine.requests[position]
        assert isinstance(request, StoryRequest)
        asked.append((machine.instance.seeds.map_seed, request))
    texts = stories.story_texts(asked) if asked else []
    for (machine, position), text in zip(slots, texts, strict=True):
        machine.answers[position] = well_formed(text)


def _turn(instance: Instance, request: Request) -> Turn:
    assert isinstance(request, MoveRequest)
    memory = instance.memory
    if memory is None or memory.player != request.view.player:
        return Turn(request, instance.seeds, instance.policy)
    seen = replace(request, view=replace(request.view, earlier=memory.earlier))
    return Turn(seen, instance.seeds, instance.policy, memory.round)


def _move(slots: list[tuple[_Running, int]], player: Player, judge: Judge) -> None:
    if not slots:
        return
    turns = [_turn(machine.instance, machine.requests[position]) for machine, position in slots]
    for (machine, position), turn, move in zip(slots, turns, player.moves(turns), strict=True):
        dialect = DIALECTS[machine.instance.game.dialect]
        shorten = judge.first_tokens if dialect.cut_at_token else judge.truncate
        if not isinstance(move, OversizeError):
            most = machine.instance.game.metadata.max_characters + BEYOND
            text = shorten(well_formed(move.text[:most]), turn.request.max_len)
            move = replace(move, text=text)
        machine.answers[position] = move
