"""Chat players against a server that answers badly, or not at all."""

from __future__ import annotations

import email.utils
import json
import logging
import pickle
import time
from dataclasses import replace
from typing import Any

import pytest
from support.chat_server import TOKENS, HangUp, Received, Sent, move, refusal, reply
from support.chat_turns import KEY, Chat, texts, turn

from xgl.chat.settings import Usage
from xgl.errors import OversizeError, PlayerError
from xgl.runtime.requests import Item, Move

# -- faults that pass ------------------------------------------------------------------------------

NOW = email.utils.formatdate(usegmt=True)
PASSING = {
    "429 with Retry-After": Sent(429, b"{}", {"Retry-After": "0.005"}),
    "429 until a date": Sent(429, b"{}", {"Retry-After": NOW}),
    "429 until no year": Sent(429, b"{}", {"Retry-After": "Wed, 21 Oct 99999999999 07:28:00 GMT"}),
    "429 of no number": Sent(429, b"{}", {"Retry-After": "nan"}),
    "408": refusal(408),
    "409": refusal(409),
    "500": refusal(500),
    "502 of a proxy": Sent(502, b"<html>Bad Gateway</html>", {"Content-Type": "text/html"}),
    "closed connection": HangUp(),
    "half JSON": Sent(body=b'{"choices": [{"message": {"content": "<move>a d'),
    "half an answer": Sent(body=b'{"choices": [{"mess', missing=500),
    "no text": Sent(body=b"\xff\xfe\xff"),
    "deep JSON": Sent(body=b"[" * 100_000),
    "null": Sent(body=b"null"),
    "empty choices": Sent(body=json.dumps({"choices": [], "usage": TOKENS}).encode()),
    "a choice without a message": Sent(body=b'{"choices": [{"index": 0}]}'),
    "an error as an answer": Sent(body=b'{"error": {"message": "overloaded"}}'),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_fault_that_passes_is_tried_again(chat: Chat, fault: Any) -> None:
    player, server = chat(fault, fault, move("a cat"))
    assert texts(player.moves([turn()])) == ["a cat"]
    assert server.received[0].body == server.received[2].body
    assert (player.usage.requests, player.usage.retries) == (3, 2)
    assert (player.usage.asked_again, player.usage.failed_attempts) == (0, 0)
    is_metered = isinstance(fault, Sent) and (fault.status >= 400 or b"usage" in fault.body)
    assert player.usage.unmetered == (0 if is_metered else 2)


@pytest.mark.parametrize("fault", [PASSING["500"], PASSING["null"], HangUp()])
def test_a_fault_that_stays_is_an_error_and_no_lost_game(chat: Chat, fault: Any) -> None:
    player, server = chat(fault, retries=1)
    with pytest.raises(PlayerError, match=r"model 'm': no answer to 2 requests; the last: ."):
        player.moves([turn()])
    assert len(server.received) == player.usage.requests == 2
    assert player.usage.failed_attempts == 0


def without_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds of each back-off from now on, none of which is waited for."""
    pauses: list[float] = []

    async def note(coroutine: Any, seconds: float) -> None:
        coroutine.close()
        pauses.append(seconds)

    monkeypatch.setattr("xgl.chat.calls.asyncio.wait_for", note)
    return pauses


def test_waits_are_as_long_as_the_server_asks(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = without_waiting(monkeypatch)
    date = email.utils.formatdate(time.time() + 40, usegmt=True)
    waits = [Sent(429, b"{}", {"Retry-After": wait}) for wait in ("7", date)]
    answers = [*waits, *[refusal(500)] * 5, move("x")]
    for _ in range(2):
        player, _ = chat(*answers, retries=7, first_backoff=1.0, max_backoff=50.0)
        player.moves([turn()])
    assert pauses[2:7] == pauses[9:], "the jitter is seeded"
    assert pauses[0] == 7
    assert 30 < pauses[1] <= 41
    bounds = zip(pauses[2:7], (4, 8, 16, 32, 50), strict=True)
    assert all(most / 2 <= seconds <= most for seconds, most in bounds)


# -- faults that stay ------------------------------------------------------------------------------

FINAL = {
    "wrong key": (refusal(401, f"wrong key {KEY}"), r"401 \(wrong key \[key\]\); .*CHAT_KEY"),
    "unknown model": (refusal(404, "no model m"), r"404 \(no model m\); check the name of the mod"),
    "bad request": (refusal(400, "no top_p\n\x1b[31m"), r"400 \(no top_p \[31m\); check"),
    "unknown field": (Sent(422, b'{"detail": [{"loc": "seed"}]}'), r"422 .*seed"),
    "no reason": (Sent(400), r"400 \(no reason given\)"),
    "no quota": (refusal(429, "pay", code="insufficient_quota"), r"429 \(pay\); the account"),
}


@pytest.mark.parametrize(("answer", "message"), FINAL.values(), ids=FINAL.keys())
def test_a_refusal_is_an_error_at_once(chat: Chat, answer: Sent, message: str) -> None:
    player, server = chat(answer)
    with pytest.raises(PlayerError, match=message) as error:
        player.moves([turn()])
    message = str(error.value)
    assert message.startswith(f"{server.url}, model 'm': refused with")
    assert "\n" not in message
    assert len(server.received) == 1
    assert player.usage == Usage(requests=1)


@pytest.mark.parametrize("value", [None, "", " \n"])
def test_a_missing_key_is_an_error_before_any_request(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    player, server = chat(move("x"))
    monkeypatch.delenv("CHAT_KEY")
    if value is not None:
        monkeypatch.setenv("CHAT_KEY", value)
    with pytest.raises(PlayerError, match="environment variable CHAT_KEY is not set"):
        player.moves([turn()])
    assert server.received == []


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
    "llama.cpp": refusal(400, "the request exceeds it", type="exceed_context_size_error"),
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
    assert player.usage.retries == 0


def test_a_conversation_too_long_is_a_failed_attempt(chat: Chat) -> None:
    player, _ = chat(reply("so " * 99), WINDOW["OpenAI"])
    assert texts(player.moves([turn()])) == [""]
    assert player.usage.failed_attempts == 1
