"""Chat players against a real OpenAI-compatible server, ``transformers serve``."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.tag_model import make_tag_model

from xgl import Cast, Instance, game, parse, play_all
from xgl.chat.settings import ChatSettings
from xgl.cli.session import bench
from xgl.players.chat import ChatPlayer
from xgl.runtime.presentation import first_messages
from xgl.runtime.requests import Item, Move, Moved, MoveRequest, Rewarded, Seeds, Turn, View

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("no_proxy")]

WORDS = ("the sea", "a small cat")
CODE = "assign(s=story())\nelicit(t, 6)\nreward(xed(s | t))"
STORIES = ("A boy had a dog.", "The sun went down over the hills and it was cold.", "She sang.")
STARTED = re.compile(r"running on (http://127\.0\.0\.1:\d+)")


def turn(play_seed: int, text: str = STORIES[0]) -> Turn:
    view = View("black", CODE, (Item("s", text),), "t")
    return Turn(MoveRequest(view, 6, 0), Seeds(1, play_seed))


@dataclass(frozen=True)
class Served:
    """A model under an OpenAI-compatible server."""

    folder: str
    url: str

    def player(self, **settings: Any) -> ChatPlayer:
        usual = {"model": self.folder, "base_url": f"{self.url}/v1", "answer_tokens": 24}
        return ChatPlayer(ChatSettings(**(usual | settings)))


@pytest.fixture(scope="module")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("served")
    messages = [first_messages(turn(0, text).request)[-1]["content"] for text in STORIES]
    make_tag_model(place / "model", messages, [f"<move>{words}</move>" for words in WORDS])
    command = [sys.executable, "-c", "from transformers.cli.transformers import main; main()"]
    command += ["serve", str(place / "model"), "--host", "127.0.0.1", "--port", "0"]
    log = place / "log.txt"
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, "--device", "cpu"], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield Served(str(place / "model"), _url(server, log))
    finally:
        server.terminate()
        server.wait(60)


def _url(server: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + 300
    while (match := STARTED.search(log.read_text(errors="replace"))) is None:
        assert server.poll() is None, log.read_text(errors="replace")
        assert time.monotonic() < deadline, "the server does not start"
        time.sleep(0.1)
    return match[1]


def test_a_served_model_plays_a_game(model_server: Served) -> None:
    seats = bench("embedded")
    player = model_server.player(concurrency=2)
    instances = [Instance(game(parse(CODE)), Seeds(seed, 0)) for seed in (3, 5, 7, 9)]
    plays = play_all(instances, Cast(seats.judge, seats.stories, {"black": player}))
    moves = [e.move for play in plays for e in play.events if isinstance(e, Moved)]
    assert all(move.text in WORDS for move in moves)
    assert player.usage.prompt_tokens == sum(move.prompt_tokens for move in moves)
    assert player.usage.new_tokens == sum(move.new_tokens for move in moves) > 0
    assert (player.usage.retries, player.usage.unmetered, player.usage.failed_attempts) == (0, 0, 0)
    for play in plays:
        [reward] = [event for event in play.events if isinstance(event, Rewarded)]
        assert play.outcome == "finished"
        assert play.scores["black"] == reward.bits == math.fsum(reward.terms[0][2].bits)
        assert reward.bits != 0


def test_the_same_seeds_make_the_same_moves(model_server: Served) -> None:
    """One at a time: this server has one random stream for all that it does."""
    turns = [turn(seed) for seed in range(12)]
    one, other = (model_server.player(concurrency=1).moves(turns) for _ in range(2))
    assert one == other
    assert {move.text for move in one if isinstance(move, Move)} == set(WORDS)
