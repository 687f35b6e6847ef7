"""Chat players: what they ask, the move in the answer, many at once, what it costs; settings that
cannot be; and servers that answer badly, or not at all."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import re
import threading
import time
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import TOKENS, HangUp, Received, Sent, completion, move, refusal, reply
from support.chat_turns import CODE, KEY, Chat, texts, turn

from xgl.chat.client import seconds_of
from xgl.chat.settings import ChatSettings, Usage
from xgl.errors import BudgetError, ConfigError, OversizeError, PlayerError
from xgl.runtime.requests import Item, Move


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


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (reply("a cat"), "held no <move>"),
        (completion({"role": "assistant", "reasoning_content": "<move>x</move>"}), "held no"),
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
    assert player.usage == Usage(2, prompt_tokens=60, new_tokens=10)


def test_a_model_that_never_moves_has_failed_its_attempt(chat: Chat) -> None:
    player, server = chat(reply("I would rather not."))
    assert player.moves([turn()]) == [
        Move("", prompt_tokens=90, new_tokens=15, format_failure=True)
    ]
    assert len(server.received[-1].body["messages"]) == 6
    assert player.usage == Usage(3, prompt_tokens=90, new_tokens=15)


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


def test_equal_requests_of_a_batch_are_paid_for_once(chat: Chat, tmp_path: Path) -> None:
    player, server = chat(move("one"), move("two"), move("three"))
    player.folder = tmp_path
    said = texts(player.moves([turn(0), turn(0), turn(1), turn(0)]))
    assert len(server.received) == 2
    assert said[0] == said[1] == said[3] != said[2]


@pytest.mark.parametrize("most", [None, 1])
def test_no_more_requests_at_once_than_allowed_and_those_alone_exceed_a_budget(
    chat: Chat, most: int | None
) -> None:
    """Requests are answered by threes, which three at once alone can reach."""
    together = threading.Barrier(3)

    def script(request: Received) -> Sent:
        together.wait(60)
        return move("x")

    player, server = chat(script, concurrency=3, budget_tokens=most)
    with pytest.raises(BudgetError) if most else nullcontext():
        player.moves([turn(seed) for seed in range(9)])
    assert server.most_at_once == 3
    assert len(server.received) == (3 if most else 9)
    assert player.usage.tokens == len(server.received) * 35


def test_the_first_failure_ends_the_batch(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
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

    for name in ("FIRST_BACKOFF", "MAX_BACKOFF"):
        monkeypatch.setattr(f"xgl.chat.client.{name}", 1e6)
    player, server = chat(script, concurrency=3)
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


def test_tokens_and_dollars_add_up(chat: Chat) -> None:
    player, _ = chat(
        refusal(500), reply("hm"), move("x"), price_prompt=2.0, price_new=10.0, concurrency=1
    )
    first, second = player.moves([turn(), turn(1)])
    assert (first, second) == (Move("x", (), (), (), 60, 10), Move("x", (), (), (), 30, 5))
    expected = Usage(4, 90, 15, pytest.approx((2 * 90 + 10 * 15) / 1e6))
    assert player.usage == expected
    assert player.usage.tokens == 105
    assert player.usage + Usage(1, 6, 7, 8.0) == Usage(
        5, 96, 22, pytest.approx(8 + expected.dollars.expected)
    )


WRONG = (TOKENS | {"prompt_tokens": count} for count in (None, 10**30))


@pytest.mark.parametrize("usage", [None, "many", {"prompt_tokens": 3}, *WRONG])
def test_an_answer_without_usage_is_a_request_without_tokens(chat: Chat, usage: Any) -> None:
    player, _ = chat(reply("<move>a cat</move>", usage))
    assert player.moves([turn()]) == [Move("a cat")]
    assert player.usage == Usage(requests=1)


def test_no_request_is_sent_once_the_budget_is_reached(chat: Chat) -> None:
    budget = {"budget_dollars": 70e-6, "price_prompt": 1.0, "price_new": 1.0}
    player, server = chat(move("x"), concurrency=1, **budget)
    assert texts(player.moves([turn()])) == ["x"]
    for requests in (2, 2):
        with pytest.raises(BudgetError, match="budget of 7e-05 dollars is spent"):
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


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "players.md"


@pytest.mark.parametrize(
    "wrong",
    [
        {"key_variable": "sk-secret"},
        {"base_url": "http://me:sk-secret@127.0.0.1/v1"},
        {"base_url": "http://127.0.0.1/v1?key=sk-secret"},
    ],
)
def test_a_key_in_the_wrong_place_is_not_repeated(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="environment variable") as error:
        ChatSettings(**{"model": "m", **wrong})
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    "url", ["http://h:99999/v1", "http://h:0", "http://h:x/v1", "http://h/\udcff"]
)
def test_an_address_that_no_library_takes_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match=r"base_url: found .*, expected http\(s\)://host"):
        ChatSettings(model="m", base_url=url)


def test_the_page_of_players_names_every_setting_and_every_count() -> None:
    page = PAGE.read_text(encoding="utf-8")
    _, section = page.split("## Settings")
    description, _ = section.split("Each request carries")
    assert set(re.findall(r"`(\w+)`[,.;]", description)) == {
        one.name for one in fields(ChatSettings)
    }
    _, cost = page.split("## What it cost")
    assert set(re.findall(r"`(\w+)`", cost)) >= {one.name for one in fields(Usage)}


PASSING = {
    "429 with Retry-After": Sent(429, b"{}", {"Retry-After": "0.005"}),
    "429 of no number": Sent(429, b"{}", {"Retry-After": "nan"}),
    "500": refusal(500),
    "closed connection": HangUp(),
    "half JSON": Sent(body=b'{"choices": [{"message": {"content": "<move>a d'),
    "empty choices": Sent(body=json.dumps({"choices": [], "usage": TOKENS}).encode()),
    "an error as an answer": Sent(body=b'{"error": {"message": "overloaded"}}'),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_fault_that_passes_is_tried_again(chat: Chat, fault: Any) -> None:
    player, server = chat(fault, fault, move("a cat"))
    assert texts(player.moves([turn()])) == ["a cat"]
    assert server.received[0].body == server.received[2].body
    assert player.usage.requests == 3


def test_waits_are_as_long_as_the_server_asks(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("xgl.chat.client.FIRST_BACKOFF", 1.0)

    async def note(coroutine: Any, seconds: float) -> None:  # and wait for nothing
        coroutine.close()
        pauses.append(seconds)

    monkeypatch.setattr("xgl.chat.client.asyncio.wait_for", note)
    monkeypatch.setattr("xgl.chat.client.time.time", lambda: 0.0)
    date = Sent(429, b"{}", {"Retry-After": "Thu, 01 Jan 1970 00:00:09 GMT"})
    answers = [Sent(429, b"{}", {"Retry-After": "7"}), date, *[refusal(500)] * 5, move("x")]
    for _ in range(2):
        player, _ = chat(*answers, retries=7)
        player.moves([turn()])
    assert pauses[1:7] == pauses[8:], "the jitter is seeded"
    assert pauses[:2] == [7, 9]
    bounds = zip(pauses[2:7], (4, 8, 16, 32, 60), strict=True)
    assert all(most / 2 <= seconds <= most for seconds, most in bounds)


def test_a_date_without_a_zone_is_one_of_utc() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        seconds = seconds_of("Fri, 01 Jan 2100 00:00:00") - seconds_of("Fri, 01 Jan 2100 00:00 GMT")
    time.tzset()
    assert seconds == pytest.approx(0, abs=60)


def test_the_key_stays_in_the_environment(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = refusal(401, f"Bearer {KEY} is wrong: {KEY}", code=KEY)
    player, _ = chat(refusal(500, KEY), echo)
    with pytest.raises(PlayerError) as error:
        player.moves([turn()])
    everything = [repr(error.value), repr(player.settings), repr(vars(player)), caplog.text]
    assert error.value.__context__ is None
    assert KEY.encode() not in pickle.dumps((error.value, player))
    assert all(KEY not in text for text in everything)
    monkeypatch.setenv("CHAT_KEY", "schlüssel")
    with pytest.raises(PlayerError, match="CHAT_KEY holds no API key") as error:
        player.moves([turn()])
    assert "schl" not in str(error.value)


WINDOW = {
    "OpenAI": refusal(400, "too long", code="context_length_exceeded"),
    "vLLM": refusal(400, "This model's maximum context length is 512 tokens."),
    "text-generation-inference": Sent(422, b'{"error": "too many input tokens"}'),
}


@pytest.mark.parametrize("answer", WINDOW.values(), ids=WINDOW.keys())
def test_a_view_too_long_is_a_value_beside_the_others(chat: Chat, answer: Sent) -> None:
    def script(request: Received) -> Sent:
        return answer if "long" in request.last else move("a cat")

    player, _ = chat(script)
    first, big, last = player.moves([turn(), turn(text="so long"), turn(1)])
    assert isinstance(big, OversizeError)
    assert texts([first, last]) == ["a cat", "a cat"]


FILTERED = refusal(400, "The response was filtered", code="content_filter")


@pytest.mark.parametrize("answers", [[FILTERED], [reply("so " * 99), WINDOW["OpenAI"]]])
def test_a_filtered_view_or_too_long_a_conversation_is_a_failed_attempt(
    chat: Chat, answers: list[Sent]
) -> None:
    player, _ = chat(*answers)
    [result] = player.moves([turn()])
    assert isinstance(result, Move)
    assert (result.text, result.format_failure) == ("", True)


def test_a_view_too_long_loses_its_oldest_rounds_first(chat: Chat) -> None:
    """A window that holds three earlier rounds."""

    def script(request: Received) -> Sent:
        return WINDOW["OpenAI"] if request.last.count("What you saw") > 3 else move("a cat")

    player, server = chat(script)
    late = turn()
    earlier = tuple((Item("s", f"tale {number}."),) for number in range(8))
    view = replace(late.request.view, earlier=earlier)
    [result] = player.moves([replace(late, request=replace(late.request, view=view))])
    assert isinstance(result, Move)
    assert result.rounds_shown == 3
    assert [f"tale {n}." in server.received[-1].last for n in range(8)] == [False] * 5 + [True] * 3
