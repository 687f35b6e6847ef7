"""The opponent of a game (section 2.4 of its paper): a checkpoint that searches and beats random
moves, and that a stronger agent surely beats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import monotonic

from archive import PairPurpose
from archive.statistics.programs import passes
from evo.config.ggbench import OpponentConfig
from evo.ggbench.box import RANDOM, Agent, Box, agent_named
from evo.ggbench.selfplay import AGENTS
from xgl.random_streams import seed

SECONDS_A_GAME = 600.0
"""Time limit of a game between two searches."""


@dataclass(frozen=True)
class Pairing:
    """Games between two agents, seats in turn. ``simulations``: of the winner's search for a move;
    the loser has the opponent's."""

    winner: str
    simulations: int
    loser: str
    purpose: PairPurpose
    games: int
    wins: int
    draws: int
    passed: bool
    seconds: float


def searching(name: str, simulations: int) -> Agent:
    """An agent by name: random moves, or a search with a checkpoint's policy."""
    return agent_named(name) or {"kind": "search", "policy": name, "simulations": simulations}


def find_opponent(box: Box, settings: OpponentConfig, run_seed: int) -> Iterator[Pairing]:
    """Every pair that was played. The last is a confirmation that passed, or there is no opponent.

    First every checkpoint meets random moves, and those that do not beat them are no opponents.
    Then every two checkpoints meet, and further up the ladder the last checkpoint with more
    simulations meets them. The pair with the largest disparity must win fresh games, too. The box
    must keep the checkpoints' policies. Raises :class:`~evo.ggbench.box.GameFaultError`.
    """
    own = settings.simulations
    able = []
    for name in AGENTS:
        pair = _pairing(box, settings, run_seed, (name, own, RANDOM), PairPurpose.BASELINE)
        yield pair
        able += [name] * pair.passed
    rounds = [[(b, own, a) for a, b in combinations(AGENTS, 2) if {a, b} & {*able}]]
    rounds += [
        [(AGENTS[-1], simulations, name) for name in able] for simulations in settings.ladder
    ]
    for challenges in rounds:
        pairs = []
        for challenge in challenges:
            pair = _pairing(box, settings, run_seed, challenge, PairPurpose.SELECTION)
            yield pair
            pairs += [each for each in (pair, _reverse(pair, own)) if each and each.loser in able]
        best = max(pairs, key=lambda each: (each.wins, -each.draws), default=None)
        if best and best.passed:
            names = best.winner, best.simulations, best.loser
            yield (fresh := _pairing(box, settings, run_seed, names, PairPurpose.CONFIRMATION))
            if fresh.passed:
                return


def opponent_verdict(pairings: Sequence[Pairing]) -> tuple[bool, str]:
    """Whether the last pair is a confirmed one, and the pair or why there is none, in words."""
    last = pairings[-1]
    if last.purpose is PairPurpose.CONFIRMATION and last.passed:
        games = f"{last.wins} of {last.games} fresh games"
        return (
            True,
            f"{last.winner} with {last.simulations} simulations beats {last.loser} in {games}",
        )
    if not any(each.passed for each in pairings if each.purpose is PairPurpose.BASELINE):
        return False, "no checkpoint that searches beats random moves in 90 % of games"
    return False, "no stronger agent beats one that searches in 80 % of fresh games"


def _reverse(pair: Pairing, simulations: int) -> Pairing | None:
    """The same games with the loser as the winner, if both are equal searches."""
    if pair.simulations != simulations:
        return None
    wins, purpose = pair.games - pair.wins - pair.draws, pair.purpose
    counts = pair.games, wins, pair.draws, passes(purpose, wins, pair.games)
    return Pairing(pair.loser, simulations, pair.winner, purpose, *counts, pair.seconds)


def _pairing(
    box: Box,
    settings: OpponentConfig,
    run_seed: int,
    names: tuple[str, int, str],
    purpose: PairPurpose,
) -> Pairing:
    winner, simulations, loser = names
    games = settings.selection if purpose is PairPurpose.SELECTION else settings.confirmation
    agents = searching(winner, simulations), searching(loser, settings.simulations)
    seeds = [seed("ggbench", purpose, run_seed, *names, n, bits=32) for n in range(games)]
    began = monotonic()
    wins, draws = contest(box, agents, seeds)
    passed = passes(purpose, wins, games)
    return Pairing(*names, purpose, games, wins, draws, passed, monotonic() - began)


def contest(box: Box, agents: tuple[Agent, Agent], seeds: Sequence[int]) -> tuple[int, int]:
    """Wins of the first agent, which moves first in every second game, and draws; a game that is
    too long is a draw."""
    wins = draws = 0
    for number, each in enumerate(seeds):
        seats = agents if number % 2 == 0 else (agents[1], agents[0])
        _, result = box.match(seats, each, SECONDS_A_GAME)
        wins += result == (1 if number % 2 == 0 else -1)
        draws += not result
    return wins, draws
