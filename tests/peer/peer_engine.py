"""One program on both engines, and what happened there in one vocabulary."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, cycle
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from xgl import Cast, Instance, ProgramError, Seeds, game, parse, play_all
from xgl.errors import FlowError, OversizeError
from xgl.judge.transformer_judge import TransformerJudge
from xgl.language import syntax as syn
from xgl.language.canonical import Game
from xgl.language.visitors import mentions
from xgl.runtime import requests as ask
from xgl.runtime.machine import Machine

SEEDS = Seeds(7, 0)
STORIES = (
    "Once upon a time a small red hen lived by the river. She baked bread every day.",
    "The old sailor mended his net while the rain fell on the harbour.",
    "Two children found a key in the garden, but no door that it opened.",
    "A fox ran over the hill and the dog ran after it.",
)
MOVES = ("the hen and the river", "rain on a red boat", "a key", "bread, bread and bread", "dogs")

Event = tuple[Any, ...]
"""("move", player, register, text), ("reveal", player, texts), ("failed", player) or
("reward", player, per-token bits)."""


@dataclass
class Outcome:
    """``ending`` is finished, forfeit or refused; ``sights`` holds what each asked player could
    read in registers, by name, at each request."""

    ending: str
    why: str = ""
    registers: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    sights: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    score: float = 0.0
    orders: list[tuple[int, ...]] = field(default_factory=list)


def stub_truth(statement: str) -> bool:
    """Both engines' truth where a test is not about the model's own."""
    return "rain" not in statement


def script(moves: Mapping[str, Sequence[str]], player: str, turn: int) -> str:
    lines = moves.get(player, MOVES)
    return lines[turn % len(lines)]


# -- this project ------------------------------------------------------------------------------


class BelievingJudge(TransformerJudge):
    """The transformer judge, but statements are believed by rule."""

    def truths(self, requests: list[ask.TruthRequest]) -> list[bool | OversizeError]:
        return [stub_truth(request.statement) for request in requests]


class FixedStories:
    def story_texts(self, requests: list[tuple[int, ask.StoryRequest]]) -> list[str]:
        return [STORIES[request.site % len(STORIES)] for _, request in requests]


@dataclass
class Script:
    """Says each player's lines in turn; keeps what each could see."""

    moves_of: Mapping[str, Sequence[str]]
    turn_counts: dict[str, int] = field(default_factory=dict)
    turns: list[ask.Turn] = field(default_factory=list)

    def moves(self, turns: list[ask.Turn]) -> list[ask.Move | OversizeError]:
        self.turns += turns
        return [ask.Move(self._next(turn.request.view.player)) for turn in turns]

    def _next(self, player: str) -> str:
        turn = self.turn_counts.get(player, 0)
        self.turn_counts[player] = turn + 1
        return script(self.moves_of, player, turn)


class Noting(Machine):
    """A machine that notes the random orders that it was given."""

    def __init__(self, game_: Game) -> None:
        super().__init__(game_)
        self.orders: list[tuple[int, ...]] = []

    def play(self) -> Generator[tuple[ask.Request, ...], tuple[ask.Answer, ...], ask.Play]:
        play = super().play()
        answers: Any = None
        while True:
            try:
                requests = play.send(answers)
            except StopIteration as end:
                return end.value
            answers = yield requests
            is_draw = [isinstance(request, ask.DrawRequest) for request in requests]
            self.orders += compress(answers, is_draw)


def play_here(code: str, moves: Mapping[str, Sequence[str]], judge: TransformerJudge) -> Outcome:
    """Registers keep the names that the text gives them."""
    player = Script(moves)
    try:
        program = parse(code, "xent")
        game_ = game(program)
        cast = Cast(judge, FixedStories(), dict.fromkeys(syn.PLAYERS, player))
        machine = Noting(game_)
        with patch("xgl.runtime.machine.predicate", return_value=None):  # a model decides rules
            [play] = play_all([Instance(game_, SEEDS)], cast, [machine])
    except (ProgramError, FlowError) as error:
        return Outcome("refused", str(error))
    names = _names(program, game_.program)
    events = [event for each in play.events for event in _event(each, names)]
    if play.outcome == "forfeit":
        events.pop()  # there the failure beyond the limit is no event but an error
    return Outcome(
        play.outcome,
        registers={names[name]: text for name, text in play.registers.items()},
        events=events,
        sights=[_sight(turn, names, play) for turn in player.turns],
        score=play.scores.get("black", 0.0),
        orders=machine.orders,
    )


def _names(source: syn.Program, canonical: syn.Program) -> dict[str, str]:
    """From canonical names to those of the text."""
    pairs = zip(source.instructions, canonical.instructions, strict=True)
    both = (zip(mentions(new), mentions(old), strict=True) for old, new in pairs)
    return dict(pair for each in both for pair in each)


def _event(event: Any, names: Mapping[str, str]) -> list[Event]:
    match event:
        case ask.Moved(player, register, move):
            return [("move", player, names[register], move.text)]
        case ask.Revealed(player, values):
            return [("reveal", player, tuple(text for _, text in values))]
        case ask.Ensured(player, False):
            return [("failed", player)]
        case ask.Rewarded(player, bits, terms):
            vectors = [[sign * bit for bit in scores.bits] for sign, _, scores in terms]
            alike = len({len(vector) for vector in vectors}) == 1
            sums = [sum(column) for column in zip(*vectors, strict=True)] if alike else [bits]
            return [("reward", player, tuple(sums))]
    return []


def _sight(turn: ask.Turn, names: Mapping[str, str], play: ask.Play) -> tuple[str, dict[str, str]]:
    view = turn.request.view
    texts = {names[item.label]: item.text for item in view.items if item.label in names}
    return view.player, {name: text for name, text in texts.items() if text not in ("", "[]")}


# -- the authors' engine -----------------------------------------------------------------------


class SameChance:
    """Draws what was drawn here, in the same order, where the other engine draws unseeded."""

    def __init__(self, orders: Sequence[tuple[int, ...]]) -> None:
        self.orders = iter(orders)

    def choice(self, items: Sequence[Any]) -> Any:
        return items[self._order(len(items))[0]]

    def shuffle(self, items: list[Any]) -> None:
        items[:] = [items[place] for place in self._order(len(items))]

    def _order(self, size: int) -> list[int]:
        """What was drawn here; as they stand where nothing was, as of a program refused here."""
        order = list(next(self.orders, range(size)))
        assert len(order) == size, f"drawn among {size}, here among {len(order)}"
        return order


class Peer:
    """The authors' engine, version 0.5.0, with one judge for all programs."""

    def __init__(self, model_folder: Any, dtype: Any) -> None:
        from xent.runtime.judge import Judge

        folder, name = str(model_folder.parent), model_folder.name
        self.judge = Judge(name, hf_dir_path=folder, model_params={"dtype": dtype})

    def play(
        self,
        code: str,
        moves: Mapping[str, Sequence[str]],
        orders: Sequence[tuple[int, ...]] = (),
        own_truth: bool = False,
    ) -> Outcome:
        """``orders``: what its chance gives. ``own_truth``: its ``is_true`` asks the model; else
        :func:`stub_truth` decides."""
        from xent.benchmark.expand_benchmark import preprocess_dsl_code
        from xent.runtime.execution import play_game

        self.judge.rng = SameChance(orders)
        teller: Any = SimpleNamespace(generate_text=cycle(STORIES).__next__)
        outcome = Outcome("finished")
        runtime = self._runtime(outcome, moves, own_truth)
        try:
            expansion = preprocess_dsl_code(code, teller)
            [result] = asyncio.run(play_game(expansion, runtime, num_rounds=1))
            outcome.score = result["score"]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is how that engine refuses
            forfeit = "Ensure limit exceeded" in str(error)
            outcome.ending, outcome.why = "forfeit" if forfeit else "refused", str(error)
        if not outcome.registers:
            outcome.registers = _register_texts(runtime)
        return outcome

    def _runtime(
        self, outcome: Outcome, moves: Mapping[str, Sequence[str]], own_truth: bool
    ) -> Any:
        from xent.runtime.runtime import XentRuntime
        from xent.runtime.variables import build_globals, build_locals

        class Watched(XentRuntime):
            def get_results_and_reset(self) -> Any:
                outcome.registers = _register_texts(self)
                return super().get_results_and_reset()

        player, *others = _scripted_players(outcome, moves)
        globals_ = build_globals(self.judge)
        if not own_truth:
            globals_["is_true"] = lambda statement: stub_truth(str(statement))
            globals_["is_false"] = lambda statement: not stub_truth(str(statement))
        return Watched(player, others, build_locals(player, others, player.map), globals_)


def _scripted_players(outcome: Outcome, moves: Mapping[str, Sequence[str]]) -> list[Any]:
    from xent.common.constants import ALL_PLAYERS
    from xent.runtime.players.base_player import XGP, MoveResult

    class Scripted(XGP):
        def __init__(self, name: str) -> None:
            self.map: Any = {"metadata": {}, "game_map": {"code": ""}}
            super().__init__(name, name, {}, self.map)
            self.turn, self.asked_register = 0, ""

        def serialize(self) -> dict[str, Any]:
            return {}

        @classmethod
        def deserialize(cls, data: dict[str, Any]) -> Any:
            return cls(data["name"])

        def add_score(self, score: float) -> None:
            self.score += score

        def get_score(self) -> float:
            return self.score

        def reset_score(self) -> None:
            self.score = 0.0

        async def make_move(self, var_name: str, register_states: Mapping[str, Any]) -> Any:
            texts = {name: _text_of(value) for name, value in register_states.items()}
            nonempty = {name: text for name, text in texts.items() if text not in ("", "[]")}
            outcome.sights.append((self.name, nonempty))
            self.turn, self.asked_register = self.turn + 1, var_name
            move = script(moves, self.name, self.turn - 1)
            return MoveResult(move, {"input_tokens": 0, "output_tokens": 0}, [], [])

        async def post(self, event: Any) -> None:
            # Now: the event holds registers, not values, and they change.
            outcome.events += _peer_event(event, self.asked_register, outcome.events)

    return [Scripted(name) for name in ALL_PLAYERS]


def _peer_event(event: Any, register: str, before: list[Event]) -> list[Event]:
    match event["type"]:
        case "elicit_response":
            return [("move", event["player"], register, event["response"])]
        case "reveal":
            return [("reveal", event["player"], tuple(map(_text_of, event["values"].values())))]
        case "failed_ensure":
            return [("failed", event["player"])]
        case "reward":
            value = event["value"]
            bits = tuple(value.scale * bit for _, bit in value.pairs)
            return [("reward", event["player"], bits)]
    return []


def _text_of(value: Any) -> str:
    if hasattr(value, "items"):
        return json.dumps([str(item) for item in value.items], ensure_ascii=False)
    return str(value)


def _register_texts(runtime: Any) -> dict[str, str]:
    from xent.common.x_list import XList
    from xent.common.x_string import XString

    registers = {
        name: _text_of(value)
        for name, value in runtime.local_vars.items()
        if isinstance(value, XString | XList)
    }
    return {name: text for name, text in registers.items() if text not in ("", "[]")}
