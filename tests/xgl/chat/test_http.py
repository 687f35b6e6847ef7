"""Answers of any size and speed: bounded in bytes, decompressed or not, and in seconds; no
redirect takes a request to another place."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib

import pytest
from support.chat_server import Answer, ChatServer, Drip, Flood, Sent, Stall, move, reply
from support.chat_turns import KEY, Chat, texts, turn

from xgl.chat.client import MOST_BYTES, NoAnswerError, WrongAnswerError, exchange, open_client
from xgl.chat.client import Answer as HTTPAnswer
from xgl.errors import PlayerError

pytestmark = pytest.mark.usefixtures("no_proxy")

LARGE = 32 << 20
GZIP = {"Content-Encoding": "gzip"}


def zipped(size: int) -> bytes:
    """``size`` bytes of white space, a thousandth as long."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    block = b" " * (1 << 20)
    return b"".join(deflater.compress(block) for _ in range(size >> 20)) + deflater.flush()


TOO_LARGE: dict[str, Answer] = {
    "plain": Sent(body=b" " * LARGE),
    "a zipped error": Sent(401, body=zipped(LARGE), headers=GZIP),
    "deflated": Sent(body=zlib.compress(b" " * LARGE), headers={"Content-Encoding": "deflate"}),
    "a stream": Flood(),
    "a zipped stream": Flood(zipped(8 << 20), GZIP),
    "nothing, zipped": Sent(
        body=zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16).flush(zlib.Z_SYNC_FLUSH)
        + b"\0\0\0\xff\xff" * (2 << 20),
        headers=GZIP,
    ),
}
UNREADABLE = {
    "brotli": (Sent(body=b"x", headers={"Content-Encoding": "br"}), "in the encoding br"),
    "several": (Sent(body=b"x", headers={"Content-Encoding": "gzip, gzip"}), "gzip, gzip"),
    "not zipped": (Sent(body=b"{}", headers=GZIP), "that is no gzip"),
}


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


@pytest.mark.parametrize(("answer", "reason"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_an_answer_in_a_wrong_encoding_is_an_error(chat: Chat, answer: Sent, reason: str) -> None:
    player, server = chat(answer)
    with pytest.raises(PlayerError, match=reason):
        player.moves([turn()])
    assert len(server.received) == 1


def test_a_zipped_answer_is_read_and_half_of_one_asked_for_again(chat: Chat) -> None:
    body = move("a cat").body
    half = Sent(body=gzip.compress(body)[:-20], headers=GZIP)
    deflated = Sent(body=zlib.compress(body), headers={"Content-Encoding": "deflate"})
    player, server = chat(half, Sent(body=gzip.compress(body), headers=GZIP), deflated)
    for _ in range(2):
        assert texts(player.moves([turn()])) == ["a cat"]
    assert {each.headers["accept-encoding"] for each in server.received} == {"gzip"}


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


def test_an_exchange_says_what_may_pass_and_what_stays() -> None:
    async def attempt(url: str) -> HTTPAnswer:
        client = open_client({})
        try:
            return await exchange(client, url, None, 5.0, 10)
        finally:
            await client.aclose()

    with ChatServer(lambda request: reply("")) as server:
        server.models = Sent(body=b"123456789")
        assert asyncio.run(attempt(server.url)).body == b"123456789"
        server.models = Sent(body=b"12345678901")
        with pytest.raises(WrongAnswerError, match="more than 10 bytes"):
            asyncio.run(attempt(server.url))
    for url in (server.url, "http://[::1", "http://no such host.invalid/", "http://\u0378/"):
        with pytest.raises(NoAnswerError):
            asyncio.run(attempt(url))


@pytest.mark.parametrize("proxy", ["socks9://127.0.0.1:1", "nonsense://", "http://[::1"])
def test_a_proxy_that_cannot_be_is_one_sentence(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    player, _ = chat(move("x"))
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(PlayerError, match=r"model .m.: \w"):
        player.moves([turn()])


# -- the judge on a server -------------------------------------------------------------------------
