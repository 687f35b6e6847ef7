"""Many machines in lockstep: their requests gathered, answered in batches, handed back.

Equal score and truth requests are merged before a model sees them (the unconditional xent of
a map is asked by every rollout of that map); moves and stories never are.

Repeated play (paper §4.1.3) shows earlier rounds of the same game on the same map. Seeds stay as
they are from round to round, so the others get the same random numbers each time and see no earlier
round; the main player's random numbers are new in each. In the control each map shows the rounds of
another map, made by the same player under the same seeds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

from xgl.errors import ConfigError, FlowError, OversizeError, PlayerError, check_kind, excerpt
from xgl.escaping import well_formed
from xgl.language.canonical import Game
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import PLAYERS
from xgl.random_streams import stream
from xgl.runtime import requests as req
from xgl.runtime.machine import Machine, PreparedGame
from xgl.runtime.predicates import decide
from xgl.runtime.presentation import STOP, Sight

BEYOND = 64
"""Characters of a move beyond its game's cap that a judge reads. A move that keeps one of them ends
the game as oversize, so later characters do not matter."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One game to be played with one pair of seeds. ``policy`` names the policy, for players that
    hold several; ``memory``: what players saw in earlier rounds, by their names; ``draw_seed``:
    the play seed of random draws; None: that of ``seeds``."""

    game: Game
    seeds: req.Seeds
    policy: str = ""
    memory: Mapping[str, req.Rounds] = field(default_factory=dict)
    draw_seed: int | None = None

    def __post_init__(self) -> None:
        check_kind("game", self.game, Game, "what xgl.game or xgl.read_game returns")
        check_kind("seeds", self.seeds, req.Seeds, "xgl.Seeds(map_seed, play_seed)")


@dataclass(frozen=True, slots=True)
class Cast:
    """The judge, the story source and the players by name, who answer the requests. Raises
    :class:`~xgl.errors.PlayerError` for a name that no player has, and
    :class:`~xgl.errors.ConfigError` for what cannot answer."""

    judge: req.Judge
    stories: req.StorySource
    players: Mapping[str, req.Player]

    def __post_init__(self) -> None:
        check_kind("players", self.players, Mapping, "players by name")
        check_names(self.players)
        told = {"judge": (self.judge, "score"), "stories": (self.stories, "story_texts")}
        told |= {name: (player, "moves") for name, player in self.players.items()}
        for name, (each, method) in told.items():
            if not hasattr(each, method):
                raise ConfigError(f"{name}: found {excerpt(repr(each))}, which has no {method}()")


def check_names(names: Iterable[str]) -> None:
    """Raises :class:`~xgl.errors.PlayerError` for a name that no player has."""
    for name in (each for each in names if each not in PLAYERS):
        raise PlayerError(f"found a player {name!r}, expected names from {', '.join(PLAYERS)}")


class RunningMachine:
    """A machine with its pending ``requests``, or its finished ``play``.

    ``answers`` are filled by position. Move requests to a player who is not in the cast stay
    unanswered (:attr:`open_move`).
    """

    def __init__(self, instance: Instance, cast: Cast, machine: Machine) -> None:
        self.instance, self.cast, self.machine = instance, cast, machine
        self.generator: Generator[Any, Any, req.Play] = machine.play()
        self.requests: tuple[req.Request, ...] = ()
        self.answers: list[Any] = []
        self.play: req.Play | None = None
        self.fault: FlowError | None = None
        """Why the program cannot go on; told again to who asks again."""

    @property
    def open_move(self) -> req.MoveRequest | None:
        """The open request for a move of a player who is not in the cast."""
        moves = (each for each in self.requests if isinstance(each, req.MoveRequest))
        return next((each for each in moves if each.view.player not in self.cast.players), None)

    def resume(self) -> None:
        """Begin, or hand the answers back, and run to the next question, or to the end."""
        if self.fault is not None:
            raise self.fault
        refusal = next((a for a in self.answers if isinstance(a, OversizeError)), None)
        try:
            if refusal is not None:
                self.requests = self.generator.throw(refusal)
            else:  # None begins; there is no question without requests
                self.requests = self.generator.send(tuple(self.answers) or None)
        except StopIteration as end:
            self.requests, self.play = (), end.value
        except FlowError as error:
            self.fault = error
            raise
        self.answers = [None] * len(self.requests)


def play_all(
    instances: Iterable[Instance], cast: Cast, machines: Sequence[Machine] | None = None
) -> list[req.Play]:
    """Play all instances to their end; results in the order given.

    ``machines``: machines to use instead of new ones, for callers that watch them run. Raises
    :class:`~xgl.errors.PlayerError` if a player is not in the cast.
    """
    check_kind("instances", instances, Iterable, "several xgl.Instance(…)")
    check_kind("cast", cast, Cast, "xgl.Cast(…)")
    for each in (instances := [*instances]):
        check_kind("instance", each, Instance, "xgl.Instance(…)")
    return play_together([(instances, cast)], machines)[0]


def play_together(
    groups: Sequence[tuple[Sequence[Instance], Cast]], machines: Sequence[Machine] | None = None
) -> list[list[req.Play]]:
    """The plays of several groups of instances, each with a cast of its own, all in lockstep: who
    is in several casts answers for all of them in one batch. Raises as :func:`play_all`."""
    unused = iter(machines or machines_of([each for instances, _ in groups for each in instances]))
    running = [
        [RunningMachine(instance, cast, next(unused)) for instance in instances]
        for instances, cast in groups
    ]
    advance([*chain(*running)])
    return [[_finished(each) for each in own] for own in running]


def _finished(running: RunningMachine) -> req.Play:
    if running.open_move is not None:
        name = running.open_move.view.player
        raise PlayerError(f"the program asks {name} for moves, but has no such player")
    assert running.play is not None
    return running.play


def advance(running: Sequence[RunningMachine]) -> None:
    """Run each in lockstep as far as its cast can answer: to its end, or to a move from outside."""
    for each in running:
        if each.play is None and not each.requests:  # it has not begun
            each.resume()
    while asking := [each for each in running if each.requests and each.open_move is None]:
        _answer(asking)
        for machine in asking:
            machine.resume()


def machines_of(instances: Sequence[Instance]) -> list[Machine]:
    """One machine for each instance; machines of one game share what is prepared."""
    games = {id(instance.game): instance.game for instance in instances}
    plans = {key: PreparedGame.of(game) for key, game in games.items()}
    return [Machine(instance.game, plans[id(instance.game)]) for instance in instances]


Slot = tuple[RunningMachine, int, Any]
"""A machine, the position of one of its requests, and the request."""


def _answer(running: Sequence[RunningMachine]) -> None:
    """Answer every open request, one batch for each model, in the order of the instances: batches,
    and with them the rounding of scores, are functions of the instances alone."""
    slots: dict[type, list[Slot]] = defaultdict(list)
    for machine in running:
        for position, request in enumerate(machine.requests):
            slots[type(request)].append((machine, position, request))
    for judge, group in _group_slots(slots[req.ScoreRequest], lambda each, _: each.cast.judge):
        _answer_unique(group, judge.score)
    for judge, group in _group_slots(slots[req.TruthRequest], lambda each, _: each.cast.judge):
        _answer_unique(group, judge.truths)
    for machine, place, rule in slots[req.Predicate]:
        machine.answers[place] = decide(rule, machine.cast.judge.count)
    for source, group in _group_slots(slots[req.StoryRequest], lambda each, _: each.cast.stories):
        asked = [(machine.instance.seeds.map_seed, request) for machine, _, request in group]
        _fill(group, map(well_formed, source.story_texts(asked)))
    for machine, place, request in slots[req.PrefixRequest]:
        machine.answers[place] = machine.cast.judge.first_tokens(request.text, request.tokens)
    for machine, place, request in slots[req.DrawRequest]:
        # A random order of indices: a function of the play's seeds, the same for every policy.
        seeds, own = machine.instance.seeds, machine.instance.draw_seed
        key = seeds.map_seed, seeds.play_seed if own is None else own, request.line
        rng = stream("draw", *key, request.visit, request.draw)
        machine.answers[place] = tuple(map(int, rng.permutation(request.size)))
    for player, group in _group_slots(
        slots[req.MoveRequest], lambda machine, request: machine.cast.players[request.view.player]
    ):
        turns = [turn_of(machine.instance, request) for machine, _, request in group]
        moves = zip(group, player.moves(turns), strict=True)
        _fill(group, (cut_move(move, request, each) for (each, _, request), move in moves))


def _group_slots(
    slots: list[Slot], key: Callable[[RunningMachine, Any], Any]
) -> list[tuple[Any, list[Slot]]]:
    """The slots of each model that answers them, models in the order of their first request."""
    groups: dict[int, tuple[Any, list[Slot]]] = {}
    for slot in slots:
        model = key(slot[0], slot[2])
        groups.setdefault(id(model), (model, []))[1].append(slot)
    return list(groups.values())


def _fill(slots: list[Slot], answers: Iterable[Any]) -> None:
    for (machine, position, _), answer in zip(slots, answers, strict=True):
        machine.answers[position] = answer


def _answer_unique(slots: list[Slot], answer: Callable[[list[Any]], list[Any]]) -> None:
    unique = list(dict.fromkeys(request for _, _, request in slots))
    answers = dict(zip(unique, answer(unique), strict=True))
    _fill(slots, (answers[request] for _, _, request in slots))


def turn_of(instance: Instance, request: req.MoveRequest) -> req.Turn:
    """A move request as a player gets it: with the seeds, and with earlier rounds in view where
    the game is repeated."""
    if earlier := instance.memory.get(request.view.player):
        request = replace(request, view=replace(request.view, earlier=earlier))
    return req.Turn(request, instance.seeds, instance.policy)


def cut_move(
    move: req.Move | OversizeError, request: req.MoveRequest, machine: RunningMachine
) -> req.Move | OversizeError:
    """The first line of a move, cut to its limit in judge tokens as the game's dialect cuts."""
    if isinstance(move, OversizeError):
        return move
    game, judge = machine.instance.game, machine.cast.judge
    shorten = judge.first_tokens if DIALECTS[game.dialect].cut_at_token else judge.truncate
    # Cut before tokens are counted, so that the work is bounded whatever a player sends.
    start = move.text[: game.metadata.max_characters + BEYOND]
    whole = well_formed(start.partition(STOP)[0])
    text = shorten(whole, request.max_len)
    cut_tokens = 0 if text == whole else max(1, judge.count(whole) - request.max_len)
    return replace(move, text=text, cut_tokens=cut_tokens)


class Round(NamedTuple):
    """One play of a series on one map; ``number`` counts from 1; ``control``: whether the
    earlier rounds in its view are those of another map."""

    seeds: req.Seeds
    number: int
    control: bool
    play: req.Play


def play_rounds(
    game: Game,
    role: str,
    cast: Cast,
    seeds: Sequence[req.Seeds],
    rounds: int,
    control: bool = True,
    on_round: Callable[[int], None] = lambda number: None,
) -> list[Round]:
    """``rounds`` plays on each of ``seeds``, all maps of a round in one batch; ``on_round`` is told
    the number of each that ends.

    The control begins at round 2. Its plays see the earlier rounds of the next map (a cyclic
    shift), those played with that map's own history in view. In round 1 there is no history, so it
    needs no control. Raises ``ValueError`` for a control on fewer than two maps.
    """
    if control and len(seeds) < 2:
        raise ValueError(f"found {len(seeds)} maps, expected two or more for a control")
    history: list[req.Rounds] = [()] * len(seeds)
    results: list[Round] = []
    for number in range(1, rounds + 1):
        shown = [(False, each, past) for each, past in zip(seeds, history, strict=True)]
        if control and number > 1:
            others = zip(seeds, [*history[1:], *history[:1]], strict=True)
            shown += [(True, each, past) for each, past in others]
        instances = [Instance(game, each, memory={role: past}) for _, each, past in shown]
        plays = play_all(instances, cast)
        results += [
            Round(each, number, other, play)
            for (other, each, _), play in zip(shown, plays, strict=True)
        ]
        own = plays[: len(seeds)]  # the control's plays are nobody's history
        history = [
            (*past, visible_items(game, play, role))
            for past, play in zip(history, own, strict=True)
        ]
        on_round(number)
    return results


def visible_items(game: Game, play: req.Play, role: str) -> tuple[req.Item, ...]:
    """All items of a play that ``role`` sees up to its end, the last reward too."""
    return Sight.for_game(game, role).visible_items(play.events)
