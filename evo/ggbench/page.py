"""The page of a run, and what its chat players may cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from archive.report import programs
from archive.store.disk import write_whole, writing
from evo.config.ggbench import GGBenchConfig
from evo.ggbench.game import Game
from evo.ggbench.players import ChatPlayer
from evo.ggbench.records import Records

PAGE = "ggbench.html"
CHARACTERS_A_TOKEN = 4
BOARD_TOKENS = 80
WRITTEN_TOKENS = 2200
"""Tokens of a prompt for one move, in a game whose texts are as long as the paper's."""
MOVES_A_PLAY = 10
"""Moves of a player in a play, about; the rest of an estimate is counted from the texts."""


def estimate(player: ChatPlayer, games: Sequence[Game], count: int, settings: GGBenchConfig) -> str:
    """Estimated cost of a chat player's requests, in words; ``count``: number of games, those still
    to be written included."""
    prompt = sum((len(g.rules) + len(g.moves)) // CHARACTERS_A_TOKEN + BOARD_TOKENS for g in games)
    prompt += WRITTEN_TOKENS * (count - len(games))
    requests = MOVES_A_PLAY * settings.plays * count
    tokens = prompt * MOVES_A_PLAY * settings.plays
    cost = ""
    if player.settings.prices:
        dollars = player.settings.prices.of(tokens, 3 * requests)
        cost = f", about {dollars:.2f} dollars"
    return (
        f"{player.name}: about {requests:,} requests, {tokens:,} prompt tokens{cost}; at most "
        f"{settings.attempts} times that if it gives no legal number"
    )


def write(folder: Path, records: Records) -> Path:
    """Write the page into the run folder. Raises :class:`archive.WriteError`."""
    path = folder / PAGE
    with writing(path):
        write_whole(path, programs.html(records.rows, records.run_id).encode())
    return path
