"""A chat model in the person's seat, as a user types it."""

from __future__ import annotations

import json

import pytest
from support.chat_server import ChatServer, in_order, move, reply

from xgl.cli import main

PLAY = ["play", "contrast", "--seed", "5", "--chat", "the-model"]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def test_a_chat_model_plays(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(in_order(move("the sea"), reply("hm"), move("a cat"))) as server:
        assert main([*PLAY, "--base-url", server.url, "--rounds", "2", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    record = json.loads(captured.out)
    assert [one["moves"] for one in record["rounds"]] == [["the sea"], ["a cat"]]
    assert all(isinstance(one["score"], float) for one in record["rounds"])
    assert record["chat"]["model"] == "the-model"
    assert record["chat"]["base_url"] == server.url
    usage = record["chat"]["usage"]
    assert (usage["requests"], usage["asked_again"], usage["prompt_tokens"]) == (3, 1, 90)
    assert len({request.body["seed"] for request in server.received}) == 3


def test_its_game_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-1")
    arguments = [*PLAY, "--key-variable", "MY_KEY", "--base-url"]
    with ChatServer(in_order(move("the sea"))) as server:
        assert main([*arguments, server.url]) == 0
        assert server.received[0].headers["authorization"] == "Bearer sk-1"
    screen = capsys.readouterr().out
    assert "the-model is black. A higher score is better" in screen
    assert "(black): the sea\n" in screen
    assert "Score of black:" in screen
    assert "the-model: 1 request, 30 + 5 tokens" in screen
    assert "You are" not in screen


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PLAY, "--key-variable", "NO_SUCH_KEY"], "environment variable NO_SUCH_KEY is not set"),
        ([*PLAY, "--key-variable", "sk-secret"], "the name of an environment variable"),
        ([*PLAY, "--base-url", "127.0.0.1"], "base_url: found '127.0.0.1', expected http"),
        (["play", "contrast", "--chat", ""], "model: found ''"),
        ([*PLAY, "--moves", "moves.json"], "not allowed with argument"),
        (["play", "contrast", "--base-url", "http://127.0.0.1"], "--base-url belongs to a model"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _code(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert "secret" not in captured.err


def _code(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as end:  # argparse's way
        return int(end.code or 0)
