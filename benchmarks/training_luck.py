"""How often luck of training makes a wrong verdict, by the oracle of growth.schedule=paper.

    python benchmarks/training_luck.py [--runs 100] [--kinds copy …] [--scopes 1 5 30]
                                       [--replicates 3] [--acceptance 96 192 384]
                                       [--failures 0.02 --own 0.9 --cross 1]

Runs of ten lists of eleven candidates go through ``TransferOracle``: its attempts, races, ranking,
acceptance tests and decisions, under the default plays. Only the collector is another: gains are
drawn instead of trained and played. A fine-tune of a candidate or of the parent fails with
probability 0.2 and otherwise learns 9
bits of its game, give or take 2; its gains on other games spread by 2 bits more, less the more two
games share (see ``Luck``); plays scatter by 12 bits, correlation ½ between policies on one map.
The parent's fine-tune learned a share f of its game.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from archive.schema import BASE_POLICY, SCRIPT_POLICY, Purpose, TaskId, Verdict
from archive.statistics.values.plays import Plays
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.record.attempts import Attempts
from evo.record.collector import Collector
from evo.record.ledger import decision_key
from evo.record.progress import NullListener
from evo.record.requests import PlayRequest
from evo.search.growth import Candidate, Place, rank
from evo.search.oracle import TransferOracle

BITS, SPREAD, CORRELATION = 9.0, 12.0, 0.5
LISTS, SIZE, MOST_PLAYS = 10, 11, 768
Sample = NDArray[np.float64]


@dataclass(frozen=True)
class Luck:
    """Of training: share of fine-tunes that fail; standard deviations in bits of what the others
    gain on their own game, and of a fine-tune's gain on another game: times √(1 − s²), s being
    the larger share of either that the other teaches, so that it vanishes for a copy, which is
    the same game; or, ``everywhere``, on copies too."""

    failures: float = 0.2
    own: float = 2.0
    cross: float = 2.0
    everywhere: bool = False

    def of_pair(self, share: float) -> float:
        """Standard deviation of a cross gain between games that share so much."""
        return self.cross if self.everywhere else self.cross * (1 - min(share, 1.0) ** 2) ** 0.5


@dataclass(frozen=True)
class Kind:
    """Candidates of one kind: C on the parent, C of the parent on them, C of every other game of
    the scope on them."""

    title: str
    helps: float
    gamma: float
    others: float = 0.1
    wrong: bool = True


KINDS = {
    "copy": Kind("exact copy of the parent", 1.0, 1.0),
    "near": Kind("copy of 0.98", 0.98, 0.98),
    "edge": Kind("at the threshold (C = 1, γ = 0.8)", 1.0, 0.8),
    "new30": Kind("new (C = 0.9, γ = 0.3)", 0.9, 0.3, wrong=False),
    "new50": Kind("new (C = 0.9, γ = 0.5)", 0.9, 0.5, wrong=False),
}


@dataclass(frozen=True)
class SimulatedGame:
    """In the place of a task: the parent, one of the others of the scope, or a candidate."""

    game_id: str
    role: str = "black"

    @property
    def id(self) -> TaskId:
        return TaskId(self.game_id, self.role)

    @property
    def group(self) -> str:
        """``parent``, ``other`` or ``candidate``."""
        return self.game_id.partition(" ")[0]


@dataclass
class Truth:
    """What fine-tunes learned, drawn when they are made."""

    kind: Kind
    luck: Luck
    parent_share: float
    rng: np.random.Generator
    shares: dict[str, float] = field(default_factory=dict)
    pairs: dict[tuple[str, str], float] = field(default_factory=dict)

    def train(self, policy_id: str, group: str) -> None:
        """Draw the share that a fine-tune learns; that of the parent's first is given."""
        if group == "parent" and not any(each.startswith("parent") for each in self.shares):
            self.shares[policy_id] = self.parent_share
            return
        is_failure = group != "other" and self.rng.random() < self.luck.failures
        share = max(0.0, 1 + self.luck.own / BITS * self.rng.normal())
        self.shares[policy_id] = 0.0 if is_failure else share

    def gain(self, policy_id: str, source: str, target: str, same: bool) -> float:
        """Mean gain in bits of a fine-tune, on its own game or another."""
        learned_share = self.shares[policy_id]
        if same or learned_share == 0:
            return learned_share * BITS
        pair = (policy_id, target)
        if pair not in self.pairs:
            share, alike = self._share(source, target.partition(" ")[0])
            shift = self.luck.of_pair(alike) * self.rng.normal()
            self.pairs[pair] = learned_share * share * BITS + shift
        return self.pairs[pair]

    def _share(self, source: str, target: str) -> tuple[float, float]:
        """What the source teaches of the target, and how alike the two are."""
        kind = self.kind
        if {source, target} == {"parent", "candidate"}:
            alike = min(kind.helps, kind.gamma)
            return (kind.helps if target == "parent" else kind.gamma), alike
        return kind.others, kind.others


class SimulatedLedger:
    """Knows what was fine-tuned and decided; nothing is written."""

    def __init__(self) -> None:
        self.finetunes: dict[str, dict[str, Any]] = {}
        self.decisions: dict[Any, Any] = {}
        self.rows: list[dict[str, Any]] = []

    def commit(self, decisions: Sequence[dict[str, Any]] = (), **_: object) -> None:
        self.rows += decisions
        self.decisions |= {decision_key(row): row for row in decisions}

    def has_scores(self, key: object, seeds: object) -> bool:
        return False

    def spent_on(self, task: object, policy_ids: object) -> dict[str, Any]:
        return {"plays": 0, "tokens": 0, "seconds": 0.0}


class SimulatedCollector(Collector):
    """Draws gains; ids of fine-tunes, attempts and requests are the search's own."""

    def __init__(self, config: RunConfig, truth: Truth) -> None:
        self.config, self.truth, self.ledger = config, truth, SimulatedLedger()  # type: ignore[assignment]
        self.attempts = Attempts(config.seed, config.finetune.replicates)
        self.listener = NullListener()
        self._drawn: dict[tuple[Any, ...], Sample] = {}

    def seeds(self, purpose: Purpose, count: int, first: int = 0) -> Any:
        return (first, count)

    def policy_id(self, task: Any, replicate: int = 0, rank: int = 0) -> str:
        return f"{task.game_id}/{self.attempts.repetition(task.id, rank, replicate)}"

    def calibrate(self, tasks: Sequence[Any]) -> None:
        pass

    def refusal(self, task: Any) -> None:
        return None

    def shows_headroom(self, task: Any) -> bool:
        return True

    def well_posed(self, task: Any) -> None:
        return None

    def few_shot(self, task: Any) -> None:
        return None

    def all_policy_ids(self, task: Any) -> list[str]:
        return []

    def drop_adapter(self, task: Any) -> None:
        pass

    def finetune(self, tasks: Sequence[Any], plays: Iterable[PlayRequest] = ()) -> None:
        for task in tasks:
            for policy_id in self.policy_ids_in_force(task):
                if policy_id not in self.ledger.finetunes:
                    self.truth.train(policy_id, task.group)
                    self.ledger.finetunes[policy_id] = {"steps": self.config.transfer.min_steps}

    def play(self, requests: Iterable[PlayRequest]) -> None:
        list(requests)

    def sample(self, policy_id: str, task: Any, purpose: Purpose, seeds: Any) -> Plays:
        first, count = seeds
        own = np.zeros(count)
        if policy_id != BASE_POLICY and not policy_id.startswith(SCRIPT_POLICY):
            own = self._gains(policy_id, task, purpose, first)[:count]
        numbers = np.arange(first, first + count)
        return Plays(np.stack([numbers, numbers], axis=1), own, np.zeros(count))

    def _gains(self, policy_id: str, task: Any, purpose: Purpose, first: int) -> Sample:
        source = policy_id.rpartition("/")[0]
        shift = self.truth.gain(
            policy_id, source.partition(" ")[0], task.game_id, source == task.game_id
        )
        common = self._noise(CORRELATION, task.game_id, purpose, first)
        return (
            shift + common + self._noise(1 - CORRELATION, policy_id, task.game_id, purpose, first)
        )

    def _noise(self, part: float, *key: Any) -> Sample:
        if key not in self._drawn:
            self._drawn[key] = self.truth.rng.normal(0, SPREAD * part**0.5, MOST_PLAYS)
        return self._drawn[key]


@dataclass
class Outcome:
    """What became of a run: lists that accepted, fine-tunes made."""

    accepting: list[bool]
    finetunes: int


def settings(arguments: argparse.Namespace) -> RunConfig:
    """The defaults, except for what the command line names."""
    overrides = {
        "transfer.rule": arguments.rule,
        "transfer.headroom": "null",
        "transfer.acceptance_plays": f"[{','.join(map(str, arguments.acceptance))}]",
        "transfer.confidence": arguments.confidence,
        "finetune.replicates": arguments.replicates,
    }
    return load(
        ["+experiment=scope_growth", *(f"{key}={value}" for key, value in overrides.items())]
    )


def run(config: RunConfig, truth: Truth, scope: int, lists: int, size: int) -> Outcome:
    """A run of lists of one parent; what is accepted stays out of the scope, so that all lists are
    alike."""
    collector = SimulatedCollector(config, truth)
    oracle: Any = TransferOracle(config, collector.ledger, collector)
    parent: Any = SimulatedGame("parent 0")
    games = [parent, *(SimulatedGame(f"other {index}") for index in range(1, scope))]
    collector.finetune(games)
    accepting = []
    for number in range(lists):
        place = Place(0, parent, number)
        candidates = [
            Candidate(SimulatedGame(f"candidate {number}-{index}"), place, index)
            for index in range(size)
        ]
        assessed = oracle.assess(candidates, games)
        ranking = rank(assessed, config.growth.alpha1, config.growth.alpha2)
        accepting.append(bool(ranking) and oracle.confirm(ranking) is not None)
        ledger: Any = collector.ledger
        verdicts = [row["verdict"] for row in ledger.rows[-size:]]
        assert (Verdict.ACCEPTED in verdicts) == accepting[-1]
        collector._drawn.clear()
    return Outcome(accepting, len(collector.ledger.finetunes))


def upper_bound(count: int, trials: int, confidence: float = 0.95) -> float:
    """Clopper and Pearson's one-sided upper bound on a rate."""
    return 1.0 if count == trials else float(stats.beta.ppf(confidence, count + 1, trials - count))


def table_row(
    kind: Kind, scope: int, share: float, config: RunConfig, luck: Luck, runs: int, seed: int
) -> str:
    """Wrong kinds: lists and runs that accept, each with its bound. New ones: candidates, alone in
    their list, that are not accepted."""
    rng = np.random.default_rng([seed, scope, round(100 * share)])
    lists, size = (LISTS, SIZE) if kind.wrong else (1, 1)
    count = runs if kind.wrong else LISTS * runs
    truths = [Truth(kind, luck, share, rng) for _ in range(count)]
    outcomes = [run(config, truth, scope, lists, size) for truth in truths]
    acceptances = sum(sum(each.accepting) for each in outcomes)
    total = lists * count
    finetunes_per_candidate = sum(each.finetunes - scope for each in outcomes) / (total * size)
    cells = [kind.title, str(scope), f"{share:g}"]
    if kind.wrong:
        hit = sum(any(each.accepting) for each in outcomes)
        cells += [f"{acceptances / total:.1%} (≤ {upper_bound(acceptances, total):.1%})"]
        cells += [f"{hit / count:.0%} (≤ {upper_bound(hit, count):.0%})", ""]
    else:
        missed = total - acceptances
        cells += ["", "", f"{missed / total:.1%} (≤ {upper_bound(missed, total):.1%})"]
    return " | ".join([*cells, f"{finetunes_per_candidate:.2f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--scopes", type=int, nargs="+", default=[1, 5, 30])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.3, 0.5, 0.7, 1.0])
    parser.add_argument("--rule", choices=["cross_ratio", "values"], default="cross_ratio")
    parser.add_argument("--acceptance", type=int, nargs="+", default=[96, 192], metavar="PLAYS")
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--replicates", type=int, default=1, help="fine-tunes of an attempt")
    parser.add_argument("--failures", type=float, default=Luck.failures)
    parser.add_argument("--own", type=float, default=Luck.own)
    parser.add_argument("--cross", type=float, default=Luck.cross)
    parser.add_argument("--everywhere", action="store_true", help="luck of cross gains of copies")
    arguments = parser.parse_args()
    luck = Luck(arguments.failures, arguments.own, arguments.cross, arguments.everywhere)
    titles = ["candidates", "scope", "f", "lists accepting", "runs accepting", "missed"]
    print("|", " | ".join([*titles, "fine-tunes a candidate"]), "|\n" + "| --- " * 7 + "|")
    config = settings(arguments)
    for name in arguments.kinds:
        for scope in arguments.scopes:
            for share in arguments.shares:
                row = table_row(
                    KINDS[name], scope, share, config, luck, arguments.runs, arguments.seed
                )
                print("|", row, "|", flush=True)


if __name__ == "__main__":
    main()
