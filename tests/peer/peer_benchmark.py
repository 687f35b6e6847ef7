"""A benchmark of the authors' package with players that say what they are told to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def one_round_config(config: dict[str, Any], moves: Sequence[str]) -> dict[str, Any]:
    """The configuration for one round, with players that say ``moves`` in turn."""
    _register()

    def seat(player: Mapping[str, Any]) -> dict[str, Any]:
        return {**player, "player_type": "scripted", "options": {"moves": "\n".join(moves)}}

    metadata = config["metadata"]
    npcs = [seat(player) for player in metadata["npcs"]]
    return {
        **config,
        "metadata": {**metadata, "num_rounds_per_game": 1, "npcs": npcs},
        "players": [seat(player) for player in config["players"]],
    }


def run(config: dict[str, Any], judge: Any, folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Results by game and map seed, as the package's own benchmark stores them in ``folder``."""
    from xent.benchmark import run_benchmark as there
    from xent.storage.directory_storage import DirectoryBenchmarkStorage

    async def benchmark() -> Any:
        storage = DirectoryBenchmarkStorage(folder, config["metadata"]["benchmark_id"])
        await storage.initialize()
        return await there.run_benchmark(config, storage, 1)

    loads, there.Judge = there.Judge, lambda *_: judge  # loaded once for all tests
    try:
        results = asyncio.run(benchmark())["results"]
    finally:
        there.Judge = loads
    return {(each["game_map"]["name"], each["game_map"]["map_seed"]): each for each in results}


def _register() -> None:
    from xent.runtime.players.base_player import MoveResult
    from xent.runtime.players.default_players import MockXGP
    from xent.runtime.players.players import player_constructors

    class Scripted(MockXGP):
        """A mock player, presentation and all, with other moves."""

        async def make_move(self, var_name: str, register_states: Any) -> Any:
            result = await super().make_move(var_name, register_states)
            moves = str(self.options["moves"]).split("\n")
            turn = sum(each["type"] == "elicit_request" for each in self.event_history) - 1
            return MoveResult(moves[turn % len(moves)], *result[1:])

        @property
        def options(self) -> Any:
            return self._options

    player_constructors["scripted"] = Scripted
