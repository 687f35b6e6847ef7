"""The opponent of a game (section 2.4 of its paper): the loser of the pair of agents that
differ most, and that a stronger one beats in fresh games, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import monotonic

from archive import PairPurpose
from archive.statistics.measures.win_rates import confirms, selects
from evo.config.ggbench import QUARTERS, OpponentConfig
from evo.ggbench.box import Agent, Box
from evo.ggbench.selfplay import agent_name
from xgl.random_streams import seed

OPTIMAL = "optimal"
SECONDS_A_GAME = 120.0
"""Time limit of a game between two searches."""


@dataclass(frozen=True)
class Pairing:
    """Games between two agents, seats in turn. ``rung``: simulations of the loser."""

    rung: int
    winner: str
    loser: str
    purpose: PairPurpose
    games: int
    wins: int
    draws: int
    passed: bool
    seconds: float
    trial: int = 0


def searching(name: str, simulations: int) -> Agent:
    """An agent by name: the solution, a search with a checkpoint's policy, or its drawn moves."""
    if name == OPTIMAL:
        return {"kind": "optimal"}
    if simulations == 0:
        return {"kind": "sampled", "policy": name}
    return {"kind": "search", "policy": name, "simulations": simulations}


def find_opponent(
    box: Box, settings: OpponentConfig, run_seed: int, is_solved: bool
) -> Iterator[Pairing]:
    """Every pair that was played. The last is a confirmation that passed, or there is no opponent.

    The box must keep the four checkpoints' policies. Raises
    :class:`~evo.ggbench.answers.GameFaultError`.
    """
    for rung in settings.ladder:
        pairings = []
        for winner, loser in _pairs(rung, settings, is_solved):
            pairings.append(_selection(box, settings, rung, winner, loser, run_seed))
            yield pairings[-1]
        best = max(pairings, key=lambda pair: (pair.wins, -pair.draws))
        if not best.passed:
            continue
        names = best.winner, best.loser
        confirmation = _pairing(box, settings, rung, names, PairPurpose.CONFIRMATION, run_seed)
        yield confirmation
        if confirmation.passed:
            return


def _pairs(rung: int, settings: OpponentConfig, is_solved: bool) -> list[tuple[str, str]]:
    """Winner and loser: where both search alike, every two checkpoints, either of which may win;
    further down the last checkpoint against each."""
    names = [agent_name(quarter) for quarter in range(1, QUARTERS + 1)]
    pairs = [(names[-1], name) for name in names]
    if rung == settings.simulations:
        pairs = [(later, earlier) for earlier, later in combinations(names, 2)]
    return pairs + ([(OPTIMAL, name) for name in names] if is_solved else [])


def _selection(
    box: Box, settings: OpponentConfig, rung: int, winner: str, loser: str, run_seed: int
) -> Pairing:
    """The six games of a pair; where both search alike, whoever wins more is the winner."""
    pair = _pairing(box, settings, rung, (winner, loser), PairPurpose.SELECTION, run_seed)
    losses = pair.games - pair.wins - pair.draws
    if losses <= pair.wins or rung != settings.simulations or winner == OPTIMAL:
        return pair
    passed = selects(losses, pair.games)
    return Pairing(
        rung, loser, winner, pair.purpose, pair.games, losses, pair.draws, passed, pair.seconds
    )


def _pairing(
    box: Box,
    settings: OpponentConfig,
    rung: int,
    names: tuple[str, str],
    purpose: PairPurpose,
    run_seed: int,
) -> Pairing:
    games = settings.confirmation if purpose.confirms else settings.selection
    agents = searching(names[0], settings.simulations), searching(names[1], rung)
    key = ("ggbench", purpose, run_seed, rung, *names)
    began = monotonic()
    wins, draws = contest(box, agents, [seed(*key, n, bits=32) for n in range(games)])
    passed = confirms(wins, games) if purpose.confirms else selects(wins, games)
    return Pairing(rung, *names, purpose, games, wins, draws, passed, monotonic() - began)


def contest(
    box: Box, agents: tuple[Agent, Agent], seeds: Sequence[int], seconds: float = SECONDS_A_GAME
) -> tuple[int, int]:
    """Wins of the first agent, which moves first in every second game, and draws; a game that is
    too long is a draw. ``seconds``: of one game."""
    wins = draws = 0
    for number, each in enumerate(seeds):
        seats = agents if number % 2 == 0 else (agents[1], agents[0])
        result = box.match(seats, each, seconds).result
        wins += result == (1 if number % 2 == 0 else -1)
        draws += not result
    return wins, draws


def null_trial(
    box: Box, settings: OpponentConfig, agent: Agent, trial: int, run_seed: int
) -> tuple[Pairing, Pairing]:
    """The literal rule and the confirmation between copies of one agent.

    As many pairs are played as four checkpoints have; the one with the largest disparity is
    selected, and its winner must win again.
    """
    began, best = monotonic(), (0, 0)
    for pair, _ in enumerate(combinations(range(QUARTERS), 2)):
        seeds = _null_seeds(PairPurpose.SELECTION, run_seed, trial, pair, settings.selection)
        wins, draws = contest(box, (agent, agent), seeds)
        best = max(best, (max(wins, settings.selection - wins - draws), -draws))
    passed = selects(best[0], settings.selection)
    selection = _null(
        PairPurpose.NULL_SELECTION, settings.selection, best[0], -best[1], passed, trial, began
    )
    began = monotonic()
    seeds = _null_seeds(PairPurpose.CONFIRMATION, run_seed, trial, 0, settings.confirmation)
    wins, draws = contest(box, (agent, agent), seeds)
    passed = confirms(wins, settings.confirmation)
    purpose, games = PairPurpose.NULL_CONFIRMATION, settings.confirmation
    return selection, _null(purpose, games, wins, draws, passed, trial, began)


def _null_seeds(
    purpose: PairPurpose, run_seed: int, trial: int, pair: int, games: int
) -> list[int]:
    key = ("ggbench", "null", purpose, run_seed, trial, pair)
    return [seed(*key, number, bits=32) for number in range(games)]


def _null(
    purpose: PairPurpose, games: int, wins: int, draws: int, passed: bool, trial: int, began: float
) -> Pairing:
    name, seconds = agent_name(QUARTERS), monotonic() - began
    return Pairing(0, name, name, purpose, games, wins, draws, passed, seconds, trial)
