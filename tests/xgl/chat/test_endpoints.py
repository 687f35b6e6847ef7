"""Endpoints: answers bounded in bytes and in seconds, no redirects, one question before a run, and
retries that are said."""

from __future__ import annotations

import tracemalloc

import pytest
from support.chat_server import (
    Answer,
    ChatServer,
    Flood,
    Sent,
    Stall,
    in_order,
    move,
    refusal,
    reply,
)
from support.chat_turns import KEY, KEY_VARIABLE, Chat, settings_of, turn

from xgl.chat.client import MOST_BYTES, ask_once
from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError

LARGE = 32 << 20
TOO_LARGE: dict[str, Answer] = {"plain": Sent(body=b" " * LARGE), "a stream": Flood()}


@pytest.mark.parametrize("answer", TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_too_large_an_answer_is_an_error_and_is_never_held(chat: Chat, answer: Answer) -> None:
    player, server = chat(answer, retries=1)
    tracemalloc.start()
    try:
        with pytest.raises(PlayerError, match="answer of more than 4,194,304 bytes"):
            player.moves([turn()])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(server.received) == 1, "the next answer would be no better"
    sent = len(answer.body) if isinstance(answer, Sent) else 0  # by this process
    assert peak < sent + 6 * MOST_BYTES


@pytest.mark.parametrize("status", [302, 308])
def test_no_redirect_takes_prompt_or_key_to_another_place(chat: Chat, status: int) -> None:
    with ChatServer(lambda request: move("stolen")) as thief:
        there = {"Location": f"{thief.url}/chat/completions?key={KEY}"}
        player, server = chat(Sent(status, headers=there))
        told = rf"a redirect \({status}\) to http://127.*key=\[key\].*expected"
        with pytest.raises(PlayerError, match=told):
            player.moves([turn()])
        assert thief.received == []
    assert len(server.received) == 1


@pytest.mark.parametrize("silence", [Stall(), Flood(b" ", 0.02)], ids=["stall", "drip"])
def test_the_seconds_are_those_of_the_whole_answer(chat: Chat, silence: Answer) -> None:
    player, _ = chat(silence, timeout=0.3, retries=0)
    with pytest.raises(PlayerError, match=r"no whole answer within 0\.3 seconds"):
        player.moves([turn()])


HTML = Sent(body=b"<html>\n<body>Sign in</body></html>", headers={"Content-Type": "text/html"})


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


WRONG: dict[str, tuple[Answer, str, int]] = {
    "wrong key": (refusal(401, "who?"), r"401 \(who\?\); check the key in the envir", 1),
    "no quota": (refusal(429, "pay", code="insufficient_quota"), r"429 \(pay\); check the key", 1),
    "unknown model": (refusal(404, "no m"), r"404 \(no m\); .* the model's name", 1),
    "no room": (refusal(400, code="context_length_exceeded"), "lower its answer_tokens", 1),
    "a sign-in page": (HTML, "no answer to 3 requests; the last: an answer that is incom", 3),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_what_no_run_can_use_is_one_sentence(wrong: tuple[Answer, str, int]) -> None:
    answer, reason, request_count = wrong
    with ChatServer(lambda request: answer) as server, ChatServer(in_order(reply("yes"))) as good:
        with pytest.raises(PlayerError, match=reason) as error:
            ask_once([settings_of(good.url), settings_of(server.url)])
        assert len(server.received) == request_count
        assert str(error.value).startswith(f"{server.url}, model 'm': ")
    assert "\n" not in str(error.value)
    assert KEY not in str(error.value)


@pytest.mark.parametrize("answer", [reply("yes", usage=None), reply(None, finish="length")])
def test_what_may_be_used_is_asked_once(answer: Answer, caplog: pytest.LogCaptureFixture) -> None:
    """It is said of a server that counts no tokens."""
    usual = {"budget_tokens": 0, "extra_body": {"options": {"thinking": False}}}
    with ChatServer(lambda request: answer) as server:
        ask_once([settings_of(server.url, **usual), settings_of(server.url, **usual)])
        assert len(server.received) == 1
        assert ("no tokens: no budget of" in caplog.text) == (answer == reply("yes", usage=None))
        assert server.received[0].body["max_tokens"] == ChatSettings(model="m").answer_tokens
