"""Chat players inside Ray actors, with an event loop of the actor's own and without."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
import ray
from support.chat_server import ChatServer, in_order, move, refusal

from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError
from xgl.players.chat import ChatPlayer
from xgl.runtime.requests import Item, Move, MoveRequest, Turn, View

pytestmark = pytest.mark.long

TURN = Turn(MoveRequest(View("black", "elicit(t, 6)", (Item("s", "A cat."),), "t"), 6, 0))


@pytest.fixture
def cluster(no_proxy: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Workers import what the tests import."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    ray.init(
        "local", num_cpus=1, include_dashboard=False, logging_level="error", log_to_driver=False
    )
    yield
    ray.shutdown()


class Seat:
    """Plays in a process of its own."""

    def __init__(self, player: ChatPlayer) -> None:
        self.player = player

    def last_move(self) -> tuple[str, int]:
        """The move, and how many requests there have been."""
        [result] = self.player.moves([TURN])
        assert isinstance(result, Move)
        return result.text, self.player.usage.requests


class AsyncSeat(Seat):
    async def last_move(self) -> tuple[str, int]:  # type: ignore[override]
        return super().last_move()


@pytest.mark.parametrize("kind", [Seat, AsyncSeat])
def test_a_player_works_inside_an_actor(cluster: None, kind: type[Seat]) -> None:
    with ChatServer(in_order(move("a cat"), move("a dog"), refusal(404))) as server:
        seat = ray.remote(kind).remote(ChatPlayer(ChatSettings("m", server.url)))
        assert ray.get(seat.last_move.remote()) == ("a cat", 1)
        assert ray.get(seat.last_move.remote()) == ("a dog", 2)
        with pytest.raises(PlayerError, match=r"model 'm': refused with 404 \(no\)"):
            ray.get(seat.last_move.remote())
