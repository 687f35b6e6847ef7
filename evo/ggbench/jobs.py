"""Work on one game without the archive: a function of the game, settings, seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic

from archive import PairPurpose
from evo.config.ggbench import QUARTERS, GGBenchConfig
from evo.ggbench.answers import GameFaultError
from evo.ggbench.box import Agent, Box
from evo.ggbench.evaluation import ProgramPlay, new_plays, play_agent
from evo.ggbench.filters import FilterVerdict, run_filters
from evo.ggbench.game import ProgramGame
from evo.ggbench.guest_process import LIMITS, BoxLimits
from evo.ggbench.opponents import OPTIMAL, Pairing, find_opponent, null_trial, searching
from evo.ggbench.selfplay import Checkpoint, agent_name, layers_of, train

MOST_OF_A_STEP = 1 << 16
"""Bytes of an answer for each step of the learner, at the largest observations and spaces."""


@dataclass
class Preparation:
    """Results of a game so far: verdicts, checkpoints and pairings."""

    verdicts: list[FilterVerdict]
    checkpoints: list[Checkpoint] = field(default_factory=list)
    pairings: list[Pairing] = field(default_factory=list)


@dataclass(frozen=True)
class Opponent:
    """The agent that players meet: a checkpoint and a number of simulations."""

    name: str
    simulations: int

    @property
    def title(self) -> str:
        """Its name with the simulations, such as quarter1@25."""
        return f"{self.name}@{self.simulations}"

    @property
    def agent(self) -> Agent:
        """The agent in the form of the box."""
        return searching(self.name, self.simulations)


def limits_of(config: GGBenchConfig) -> BoxLimits:
    """Limits of one job's box."""
    return replace(LIMITS, total=config.seconds, cpu=int(config.seconds) + 60)


def prepare(
    game: ProgramGame,
    known_digests: Collection[str],
    config: GGBenchConfig,
    run_seed: int,
    trials: range,
) -> Preparation:
    """Filters, self-play, the search for an opponent, and null trials of these numbers.

    Raises :class:`~evo.ggbench.box.NoLockError`.
    """
    preparation = Preparation(run_filters(game, known_digests, limits_of(config), run_seed))
    if preparation.verdicts[-1].passed:
        began = monotonic()
        try:
            learning = config.train.steps * MOST_OF_A_STEP
            limits = replace(limits_of(config), answers=LIMITS.answers + learning)
            with Box(game, limits) as box:
                _learn(box, config, run_seed, preparation)
                began = monotonic()
                _oppose(box, config, run_seed, trials, preparation)
        except GameFaultError as fault:
            stage = "opponent" if preparation.checkpoints else "training"
            preparation.verdicts.append(
                FilterVerdict(stage, False, str(fault), monotonic() - began)
            )
    return preparation


def _learn(box: Box, config: GGBenchConfig, run_seed: int, preparation: Preparation) -> None:
    began = monotonic()
    preparation.checkpoints = train(box, config.train, run_seed)
    detail = f"{preparation.checkpoints[-1].steps} steps without an error"
    preparation.verdicts.append(FilterVerdict("training", True, detail, monotonic() - began))


def _oppose(
    box: Box, config: GGBenchConfig, run_seed: int, trials: range, preparation: Preparation
) -> None:
    began, settings = monotonic(), config.opponent
    solution = box.solve(settings.most_positions, config.seconds)
    if isinstance(solution, str):
        detail = f"not solved: {solution}"
    else:
        positions, value = solution
        winner = {1: "who moves first wins", 0: "nobody wins", -1: "who moves second wins"}
        detail = f"{positions} positions; {winner[value]}"
    preparation.verdicts.append(FilterVerdict("solution", True, detail, monotonic() - began))
    began = monotonic()
    is_solved = not isinstance(solution, str)
    preparation.pairings = list(find_opponent(box, settings, run_seed, is_solved))
    confirmations = [
        p for p in preparation.pairings if p.purpose is PairPurpose.CONFIRMATION and p.passed
    ]
    detail = "no stronger agent beats any in 80 % of fresh games"
    if confirmations:
        detail = opponent_text(confirmations[-1])
    passed = bool(confirmations)
    preparation.verdicts.append(FilterVerdict("opponent", passed, detail, monotonic() - began))
    copies = searching(agent_name(QUARTERS), 0)
    for trial in trials:
        preparation.pairings += null_trial(box, settings, copies, trial, run_seed)


def opponent_text(pair: Pairing) -> str:
    """Text on a confirmed pair."""
    return (
        f"{pair.loser} with {pair.rung} simulations loses {pair.wins} of {pair.games} fresh games "
        f"to {pair.winner}"
    )


def plays_of(
    game: ProgramGame,
    weights: Mapping[int, bytes],
    player: Agent,
    opponent: Opponent,
    config: GGBenchConfig,
    run_seed: int,
) -> list[ProgramPlay]:
    """All plays of an agent; none where it needs a solution and there is none."""
    plays = new_plays(game.game_id, config.plays, run_seed)
    try:
        with Box(game, limits_of(config)) as box:
            give_policies(box, weights)
            if OPTIMAL in (player["kind"], opponent.name) and isinstance(
                box.solve(config.opponent.most_positions, config.seconds), str
            ):
                return []
            play_agent(box, player, opponent.agent, plays)
    except GameFaultError as fault:
        for play in plays:
            if play.outcome is None:
                play.outcome, play.reason = "broken", str(fault)
    return plays


def give_policies(box: Box, weights: Mapping[int, bytes]) -> None:
    """All checkpoints, by the names of their agents."""
    for quarter, content in weights.items():
        box.keep_policy(agent_name(quarter), layers_of(content))
