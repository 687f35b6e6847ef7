"""What is computed for one game away from the archive: a function of the game, settings, seed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic

from evo.config.ggbench import QUARTERS, GGBenchConfig
from evo.ggbench.answers import GameFaultError
from evo.ggbench.box import Agent, Box
from evo.ggbench.evaluate import Play, new_plays, play_agent
from evo.ggbench.filters import Verdict, filtered
from evo.ggbench.game import Game
from evo.ggbench.guest_process import LIMITS, BoxLimits
from evo.ggbench.opponents import OPTIMAL, Pairing, find_opponent, null_trial, searching
from evo.ggbench.selfplay import Checkpoint, agent_name, layers_of, train

NOT_SOLVED = "not solved"
"""How the reason of the stage ``solution`` begins where perfect play is not known."""


@dataclass
class Prepared:
    """A game's way to its opponent, as far as it came."""

    verdicts: list[Verdict]
    checkpoints: list[Checkpoint] = field(default_factory=list)
    pairings: list[Pairing] = field(default_factory=list)


@dataclass(frozen=True)
class Opponent:
    """The agent that players meet: a checkpoint with so many simulations."""

    name: str
    simulations: int

    @property
    def title(self) -> str:
        """Such as quarter1@25."""
        return f"{self.name}@{self.simulations}"

    @property
    def agent(self) -> Agent:
        """As the box knows it."""
        return searching(self.name, self.simulations)


def limits_of(config: GGBenchConfig) -> BoxLimits:
    """Of one job's box."""
    return replace(LIMITS, total=config.seconds, cpu=int(config.seconds) + 60)


def prepare(
    game: Game, known: Collection[str], config: GGBenchConfig, run_seed: int, trials: range
) -> Prepared:
    """Filters, self-play, the search for an opponent, and null trials of these numbers.

    Raises :class:`~evo.ggbench.box.NoLockError`.
    """
    prepared = Prepared(filtered(game, known, limits_of(config), run_seed))
    if prepared.verdicts[-1].passed:
        began = monotonic()
        try:
            with Box(game, limits_of(config)) as box:
                _learn(box, config, run_seed, prepared)
                began = monotonic()
                _oppose(box, config, run_seed, trials, prepared)
        except GameFaultError as fault:
            stage = "opponent" if prepared.checkpoints else "training"
            prepared.verdicts.append(Verdict(stage, False, str(fault), monotonic() - began))
    return prepared


def _learn(box: Box, config: GGBenchConfig, run_seed: int, prepared: Prepared) -> None:
    began = monotonic()
    prepared.checkpoints = train(box, config.train, run_seed)
    seen = f"{prepared.checkpoints[-1].steps} steps without an error"
    prepared.verdicts.append(Verdict("training", True, seen, monotonic() - began))


def _oppose(
    box: Box, config: GGBenchConfig, run_seed: int, trials: range, prepared: Prepared
) -> None:
    began, settings = monotonic(), config.opponent
    solution = box.solve(settings.most_positions, config.seconds)
    if isinstance(solution, str):
        seen = f"{NOT_SOLVED}: {solution}"
    else:
        positions, value = solution
        winner = {1: "who moves first wins", 0: "nobody wins", -1: "who moves second wins"}
        seen = f"{positions} positions; {winner[value]}"
    prepared.verdicts.append(Verdict("solution", True, seen, monotonic() - began))
    began = monotonic()
    solved = not isinstance(solution, str)
    prepared.pairings = list(find_opponent(box, settings, run_seed, solved))
    confirmed = [p for p in prepared.pairings if p.purpose == "confirmation" and p.passed]
    seen = "no stronger agent beats any in 80 % of fresh games"
    if confirmed:
        seen = opponent_text(confirmed[-1])
    passed = bool(confirmed)
    prepared.verdicts.append(Verdict("opponent", passed, seen, monotonic() - began))
    copies = searching(agent_name(QUARTERS), 0)
    for trial in trials:
        prepared.pairings += null_trial(box, settings, copies, trial, run_seed)


def opponent_text(pair: Pairing) -> str:
    """What a confirmed pair says."""
    return (
        f"{pair.loser} with {pair.rung} simulations loses {pair.wins} of {pair.games} fresh games "
        f"to {pair.winner}"
    )


def plays_of(
    game: Game,
    weights: Mapping[int, bytes],
    player: Agent,
    opponent: Opponent,
    config: GGBenchConfig,
    run_seed: int,
) -> list[Play]:
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
