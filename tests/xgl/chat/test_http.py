"""Answers of any size and speed: bounded in bytes and in seconds; no redirect takes a request to
another place."""

from __future__ import annotations

import tracemalloc

import pytest
from support.chat_server import Answer, ChatServer, Drip, Flood, Sent, Stall, move
from support.chat_turns import KEY, Chat, turn

from xgl.chat.client import MOST_BYTES
from xgl.errors import PlayerError

pytestmark = pytest.mark.usefixtures("no_proxy")

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


def test_a_compressed_answer_is_not_asked_for_and_not_read(chat: Chat) -> None:
    """A small one could hold any number of bytes."""
    player, server = chat(Sent(body=b"x", headers={"Content-Encoding": "gzip"}))
    with pytest.raises(PlayerError, match="in the encoding gzip, expected none"):
        player.moves([turn()])
    [request] = server.received
    assert request.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_takes_prompt_or_key_to_another_place(chat: Chat, status: int) -> None:
    with ChatServer(lambda request: move("stolen")) as thief:
        there = {"Location": f"{thief.url}/chat/completions?key={KEY}"}
        player, server = chat(Sent(status, headers=there))
        told = rf"a redirect \({status}\) to http://127.*key=\[key\].*expected"
        with pytest.raises(PlayerError, match=told):
            player.moves([turn()])
        assert thief.received == []
    assert len(server.received) == 1


@pytest.mark.parametrize("silence", [Stall(), Drip()], ids=["stall", "drip"])
def test_the_seconds_are_those_of_the_whole_answer(chat: Chat, silence: Answer) -> None:
    player, _ = chat(silence, timeout=0.3, retries=0)
    with pytest.raises(PlayerError, match=r"no whole answer within 0\.3 seconds"):
        player.moves([turn()])


@pytest.mark.parametrize("proxy", ["socks9://127.0.0.1:1", "nonsense://", "http://[::1"])
def test_a_proxy_that_cannot_be_is_one_sentence(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    player, _ = chat(move("x"))
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(PlayerError, match=r"model .m.: \w"):
        player.moves([turn()])
