"""Chat players: what they ask, the move in the answer, many at once, and what it costs."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
import time
from contextlib import nullcontext
from typing import Any

import pytest
from support.chat_server import TOKENS, Received, Sent, completion, move, refusal, reply
from support.chat_turns import CODE, KEY, KEY_VARIABLE, Chat, texts, turn
from support.doubles import WordJudge

from xgl import parse, play
from xgl.chat.settings import Budget, Prices, Usage
from xgl.errors import BudgetError, PlayerError
from xgl.runtime.requests import Move

# -- what is asked ---------------------------------------------------------------------------------


def test_the_prompt_holds_the_rules_and_the_view(chat: Chat) -> None:
    player, server = chat(move("a cat sat"), answer_tokens=77, temperature=0.5, top_p=0.9)
    assert texts(player.moves([turn()])) == ["a cat sat"]
    [request] = server.received
    system, user = request.body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    for said_once in ("<move>", "</move>", "bits"):
        assert said_once in system["content"]
    assert user["content"].splitlines() == [
        "The program:",
        *CODE.splitlines(),
        "",
        "What you have seen:",
        "s: A cat.",
        "reward: 1.5 (1.0 0.5)",
        "",
        "You are black. Write t, at most 6 tokens, as <move>...</move>.",
    ]
    parameters = {
        name: request.body[name] for name in ("model", "max_tokens", "temperature", "top_p")
    }
    assert parameters == {"model": "m", "max_tokens": 77, "temperature": 0.5, "top_p": 0.9}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_seeds_come_of_the_turn_and_of_nothing_else(chat: Chat) -> None:
    player, server = chat(reply("no"), ask_again=1, concurrency=1)
    player.moves([turn(), turn(1), turn(place=1), turn()])
    seeds = [request.body["seed"] for request in server.received]
    assert seeds[:2] == seeds[-2:]
    assert len(set(seeds)) == 6
    assert all(0 <= seed < 2**31 for seed in seeds)


@pytest.mark.parametrize("name", ["authorization", "Authorization"])
def test_the_environment_of_another_account_is_not_sent(
    name: str, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "my-organisation")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "my-project")
    monkeypatch.setenv("OPENAI_API_KEY", "another-key")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"{name}: Bearer another-key")
    for key_variable, sent in ((KEY_VARIABLE, f"Bearer {KEY}"), (None, None)):
        player, server = chat(move("x"), key_variable=key_variable)
        player.moves([turn()])
        headers = server.received[0].headers
        assert sent is None or headers["authorization"] == sent
        words = ("my-organisation", "my-project", "another-key")
        assert not any(word in str(headers) for word in words)


# -- the move in the answer ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply("a cat"), "held no <move>"),
        (reply(None), "held no <move>"),
        (completion({"role": "assistant", "reasoning_content": "<move>x</move>"}), "held no"),
        (reply("<move>a cat"), "did not close it"),
        (reply("let me think", finish="length"), "reached its limit"),
    ],
)
def test_an_answer_without_a_move_is_asked_again(chat: Chat, answer: Sent, reason: str) -> None:
    player, server = chat(answer, move("a cat"))
    [result] = player.moves([turn()])
    assert result == Move("a cat", prompt_tokens=60, new_tokens=10)
    first, second = (request.body["messages"] for request in server.received)
    assert second[:2] == first
    echo, again = second[2:]
    content = json.loads(answer.body)["choices"][0]["message"].get("content")
    assert echo == {"role": "assistant", "content": content or "(no text)"}
    assert reason in again["content"]
    assert player.usage == Usage(2, asked_again=1, prompt_tokens=60, new_tokens=10)


def test_a_model_that_never_moves_has_failed_its_attempt(chat: Chat) -> None:
    player, server = chat(reply("I would rather not."), ask_again=2)
    assert player.moves([turn()]) == [
        Move("", prompt_tokens=90, new_tokens=15, format_failure=True)
    ]
    assert len(server.received[-1].body["messages"]) == 6
    usage = Usage(3, asked_again=2, failed_attempts=1, prompt_tokens=90, new_tokens=15)
    assert player.usage == usage


def test_an_empty_move_goes_on_as_any_other(chat: Chat) -> None:
    """Where an ensure refuses it, it is one of the failures that a forfeit counts."""
    player, server = chat(reply("no"), reply("no"), move("a cat"), ask_again=1)
    code = 'elicit(t, 4)\nensure("a" in t)\nreward(xent("so" | t))'
    result = play(parse(code, "xent"), player, WordJudge(), 3)
    assert (result.outcome, result.accepted_moves("black")) == ("finished", ["a cat"])
    assert "ensure: failed 1" in server.prompts[-1]
    stubborn, _ = chat(reply("no"), ask_again=0)
    assert play(parse(code, "xent"), stubborn, WordJudge(), 3).outcome == "forfeit"


# -- many at once ----------------------------------------------------------------------------------


def test_answers_come_back_in_the_order_asked(chat: Chat) -> None:
    """Each request is answered only after the one asked after it."""
    count = 5
    events = [threading.Event() for _ in range(count + 1)]
    events[count].set()

    def script(request: Received) -> Sent:
        [place] = [k for k in range(count) if f"text {k}" in request.last]
        assert events[place + 1].wait(60)
        events[place].set()
        return move(f"move {place}")

    player, _ = chat(script, concurrency=count)
    moves = player.moves([turn(text=f"text {place}") for place in range(count)])
    assert texts(moves) == [f"move {place}" for place in range(count)]


@pytest.mark.parametrize("most", [None, 1])
def test_no_more_requests_at_once_than_allowed_and_those_alone_exceed_a_budget(
    chat: Chat, most: int | None
) -> None:
    """Requests are answered by threes, which three at once alone can reach."""
    together = threading.Barrier(3)

    def script(request: Received) -> Sent:
        together.wait(60)
        return move("x")

    player, server = chat(script, concurrency=3, budget=Budget(tokens=most))
    with pytest.raises(BudgetError) if most else nullcontext():
        player.moves([turn(seed) for seed in range(9)])
    assert server.most_at_once == 3
    assert len(server.received) == (3 if most else 9)
    assert player.usage.tokens == len(server.received) * 35


def test_the_first_failure_ends_the_batch(chat: Chat) -> None:
    """Nothing more is sent, whoever backs off is woken, and what is under way is counted."""

    def wait_for_count(requests: int) -> None:
        while player.usage.requests < requests:
            time.sleep(0.001)

    def script(request: Received) -> Sent:
        if "text 0" in request.last:
            return refusal(500)
        if "text 1" in request.last:
            wait_for_count(1)
            return refusal(401)
        wait_for_count(2)
        return move("x")

    player, server = chat(script, concurrency=3, first_backoff=1e6, max_backoff=1e6)
    with pytest.raises(PlayerError, match="401"):
        player.moves([turn(text=f"text {place}") for place in range(9)])
    assert len(server.received) == 3
    assert player.usage.requests == 3
    assert player.usage.prompt_tokens == 30


def test_a_player_works_wherever_it_is_called(chat: Chat) -> None:
    """In a plain program twice, in a thread, inside an event loop, and after a journey."""
    player, _ = chat(lambda request: move("a cat"))
    assert [texts(player.moves([turn()])) for _ in range(2)] == [["a cat"]] * 2

    async def inside() -> list[str]:
        return texts(player.moves([turn(), turn(1)]))

    assert asyncio.run(inside()) == ["a cat"] * 2
    moves: list[str] = []
    thread = threading.Thread(target=lambda: moves.extend(texts(player.moves([turn()]))))
    thread.start()
    thread.join()
    assert moves == ["a cat"]
    assert texts(pickle.loads(pickle.dumps(player)).moves([turn()])) == ["a cat"]
    assert player.usage.requests == 5


# -- accounting ------------------------------------------------------------------------------------


def test_tokens_and_dollars_add_up(chat: Chat) -> None:
    player, _ = chat(
        refusal(500), reply("hm"), move("x"), prices=Prices(prompt=2.0, new=10.0), concurrency=1
    )
    first, second = player.moves([turn(), turn(1)])
    assert (first, second) == (Move("x", (), (), (), 60, 10), Move("x", (), (), (), 30, 5))
    expected = Usage(4, 1, 1, 0, 0, 90, 15, pytest.approx((2 * 90 + 10 * 15) / 1e6))
    assert player.usage == expected
    assert player.usage.tokens == 105
    assert player.usage + Usage(1, 2, 3, 4, 5, 6, 7, 8.0) == Usage(
        5, 3, 4, 4, 5, 96, 22, pytest.approx(8 + expected.dollars.expected)
    )


@pytest.mark.parametrize(
    "usage", [None, "many", {"prompt_tokens": 3}, {**TOKENS, "prompt_tokens": None}]
)
def test_an_answer_without_usage_is_unmetered(chat: Chat, usage: Any) -> None:
    player, _ = chat(reply("<move>a cat</move>", usage))
    assert player.moves([turn()]) == [Move("a cat")]
    assert player.usage == Usage(requests=1, unmetered=1)


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(tokens=70), "budget of 70 tokens is spent"),
        (Budget(dollars=70e-6), "budget of 7e-05 dollars is spent"),
    ],
)
def test_no_request_is_sent_once_the_budget_is_reached(
    chat: Chat, budget: Budget, message: str
) -> None:
    player, server = chat(move("x"), budget=budget, prices=Prices(1.0, 1.0), concurrency=1)
    assert texts(player.moves([turn()])) == ["x"]
    for requests in (2, 2):
        with pytest.raises(BudgetError, match=message):
            player.moves([turn(), turn(1)])
        assert len(server.received) == requests
    assert player.usage.tokens == 70


def test_free_fields_of_the_body_are_sent_and_an_unset_temperature_is_not(chat: Chat) -> None:
    extra = {"chat_template_kwargs": {"enable_thinking": False}, "max_tokens": 9}
    player, server = chat(
        move("a"), temperature=None, reasoning_effort="low", extra_body=extra, send_seed=False
    )
    player.moves([turn()])
    [request] = server.received
    assert request.body == {
        "model": "m",
        "messages": request.body["messages"],
        "reasoning_effort": "low",
        **extra,
    }
