"""Models at play: prompts, answers that count and that do not, nothing paid twice."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from support import hostile
from support.chat_server import ChatServer, Received, Sent, refusal, reply
from support.purse_game import PURSE

from evo.ggbench import benchmark as bench
from evo.ggbench.box import Box, BoxLimits
from evo.ggbench.filters import model_timeout
from evo.ggbench.game import packaged
from xgl.chat.settings import ChatSettings
from xgl.judge.loading import load_model

GAME = PURSE
RANDOM = {"kind": "random"}


def first_legal(request: Received) -> Sent:
    match = re.search(r"Allowed moves: (\d+)", request.last)
    assert match
    return reply(match[1])


def chat_mover(url: str, folder: Path) -> bench.ChatMover:
    return bench.ChatMover(ChatSettings(model="m", base_url=url, retries=1), folder)


def played(player: Any, plays: int, opponent: Any = RANDOM) -> list[bench.ProgramPlay]:
    play_list = bench.new_plays(GAME.game_id, plays, 0)
    return bench.play_in_box(GAME, BoxLimits(), {}, opponent, play_list, player)


def test_a_chat_model_plays_whole_games_and_is_told_rules_board_and_moves(tmp_path: Path) -> None:
    refused = iter([refusal(429)])  # which neither costs nor counts, now or when answers are stored
    with ChatServer(lambda request: next(refused, None) or first_legal(request)) as server:
        plays, again = (played(chat_mover(server.url, tmp_path), 4) for _ in range(2))
        system, user = server.received[0].body["messages"]
    assert {play.outcome for play in plays} <= {"win", "loss"}
    assert [play.usage for play in plays] == [play.usage for play in again]
    assert [play.seat for play in plays] == [0, 1, 0, 1]
    assert GAME.rules.strip() in system["content"]
    assert GAME.moves.strip() in system["content"]
    assert "Purse: " in user["content"]
    assert all(play.usage.tokens == 35 * play.usage.requests for play in plays)


@pytest.mark.parametrize("answer", ["six", "99", "1 or 2"])
def test_an_answer_without_a_legal_number_is_a_fault(answer: str, tmp_path: Path) -> None:
    with ChatServer(lambda request: reply(answer)) as server:
        (play,) = played(chat_mover(server.url, tmp_path), 1)
        assert len(server.received) == 5
    assert play.outcome == "fault"
    assert "no legal number in 5 answers" in str(play.reason)


def test_a_model_is_told_what_is_allowed(tmp_path: Path) -> None:
    def answers(request: Received) -> Sent:
        again = len(request.body["messages"]) > 2
        return reply(request.last.split()[-1]) if again else reply("0 or 1")

    with ChatServer(answers) as server:
        (play,) = played(chat_mover(server.url, tmp_path), 1)
        again = next(r for r in server.received if len(r.body["messages"]) == 4)
    assert play.outcome in ("win", "loss")
    assert "Your answer did not name one of the allowed moves." in again.last
    assert re.search(r"these numbers, and nothing else: \d(, \d)+\.", again.last)


def test_a_local_model_draws_legal_moves_and_commits_no_fault() -> None:
    mover = bench.LocalMover(load_model("embedded", "float32", "cpu"), 0)
    plays, again = played(mover, 2), played(mover, 2)
    assert {play.outcome for play in plays} <= {"win", "loss"}
    assert [play.moves for play in plays] == [play.moves for play in again]


@pytest.mark.parametrize("name", packaged())
def test_every_turn_of_a_game_that_ships_fits_the_embedded_model(name: str) -> None:
    lm, game = load_model("embedded", "float32", "cpu"), packaged()[name]
    rng, longest = random.Random(name), 0
    with Box(game) as box:
        for seed in range(5):
            view = box.new(seed)
            while view.result is None:
                text = bench.text_of(game, view.text, view.legal)
                longest = max(longest, len(lm.encode(text)))
                view = box.play(rng.choice(view.legal))
    assert longest + 4 <= lm.window


def test_an_agent_meets_another_and_a_game_that_breaks_is_no_loss() -> None:
    plays = played(RANDOM, 3, {"kind": "greedy", "policy": "missing"})
    assert {play.outcome for play in plays} == {"broken"}


@pytest.mark.parametrize(
    ("lines", "answer", "reason"),
    [
        ("pass", first_legal, None),
        ("pass", lambda _: reply("what?"), None),
        (
            "if type(self).all > 40: raise KeyError('hp')",
            first_legal,
            "end in an exception: KeyError",
        ),
        ("self.left = 9 if type(self).all > 0 else self.left", first_legal, "after the most moves"),
    ],
)
def test_a_models_own_games_are_the_timeout_filter(
    lines: str, answer: Any, reason: str | None, tmp_path: Path
) -> None:
    counts = "    all = 0\n    def step(self, action):\n        type(self).all += 1\n"
    source = hostile.GOOD.replace("    def step(self, action):\n", f"{counts}        {lines}\n")
    with ChatServer(answer) as server:
        mover = chat_mover(server.url, tmp_path)
        verdict = model_timeout(hostile.game_of(source), mover, BoxLimits(most_moves=20), 0)
        asked = len(server.received)
    assert (verdict.stage, verdict.passed) == ("model", reason is None)
    assert (reason or "10 games of the model") in verdict.reason
    assert verdict.tokens == 35 * asked > 0
