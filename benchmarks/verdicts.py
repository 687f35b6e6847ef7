"""How often verdicts are wrong in simulations, and whether those on real fine-tunes repeat.

    python benchmarks/verdicts.py simulate [--rounds 2000] [--rule values]
    python benchmarks/verdicts.py retest FOLDER [--seeds 11 12 13 14] [--candidates 40] [--copies]
                                         [key=value …]

``simulate``: how often rounds of simulated candidates end in a wrong verdict. Rounds run the
search's own races (``archive.statistics.race``) and ranking under the default plays; scores are
drawn instead of played: gains of a mean and spread like the main job's (9 bits on average, 12 bits
of spread a play, correlation ½ between policies on one map). A round is a list of eight candidates,
of which the acceptance test may take one. Plays alone are random here, given the fine-tunes.

``retest``: judges the same candidates against the same scope, which is Rival, under several run
seeds: other training seeds, other maps. Candidates are proposals of the sampler ``mutate``; with
``--copies`` twelve trivial rewordings of Rival itself, none of which may be accepted. Every
candidate has an acceptance test of its own, whatever becomes of the others. Each seed's archive
stays in FOLDER, and a run that was cut goes on where it was. Idle machines only: about 20 s a
fine-tune on a core.
"""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from study import command_line, head, parse, row, upper_bound

import xgl
from archive import Archive, Purpose, Reason, Verdict
from archive.schema import DecisionRule, Definition, GainKind, RunEvent, TaskId
from archive.statistics.race import (
    Bounds,
    CandidateBounds,
    Question,
    RaceSettings,
    acceptance,
    run as run_race,
    selection,
)
from archive.statistics.rule import Evidence, Looks, Thresholds
from evo.config.compose import load
from evo.config.models import ModelHostSettings
from evo.config.schema import RunConfig
from evo.growth.algorithm import Assessment, Candidate, Place, rank
from evo.growth.initial_scope import calibrate_initial_scope, initial_tasks
from evo.growth.oracle import TransferOracle
from evo.jobs.evaluation import Task
from evo.jobs.executor import RayExecutor
from evo.record.collector import Collector
from evo.record.display import Display
from evo.record.ledger import Ledger
from evo.record.run_folder import RunIdentity, run_row
from evo.record.steps import run
from meta_sampler import make

# -- simulations -----------------------------------------------------------------------------------

CANDIDATE, CANDIDATES = TaskId("candidate", "black"), 8
MEAN, SPREAD, CORRELATION = 9.0, 12.0, 0.5
Gains = NDArray[np.float64]


@dataclass(frozen=True)
class Truth:
    """True values of every candidate: its own gain in bits, C on the parent, C of the parent, which
    is the scope's first game, on it, C of all others on it and of it on them."""

    title: str
    own: float
    helps: float
    gamma: float
    others: float


Rules = tuple[RaceSettings, RaceSettings, int]
"""Settings of selection and of acceptance tests, and how many of a list are tested."""


def rules(alpha1: float, alpha2: float, rule: DecisionRule, overrides: Sequence[str]) -> Rules:
    """The settings of the group ``transfer`` with other thresholds."""
    transfer = load(RunConfig, ["+experiment=scope_growth", *overrides]).transfer
    thresholds = Thresholds(alpha1, alpha2, Definition.CAPTURED, GainKind.TOTAL, rule)
    error, tests = 1 - transfer.confidence, transfer.confirmations
    first = Looks(tuple(transfer.selection_plays), error)
    fresh = Looks(tuple(transfer.acceptance_plays), error / max(1, tests))
    scan = transfer.scan
    return RaceSettings(first, thresholds, scan), RaceSettings(fresh, thresholds, scan), tests


class SimulatedGains:
    """Plays of one candidate for one purpose: gains (n,) of every policy that may be asked for. The
    parent is the scope's first game."""

    def __init__(self, truth: Truth, scope: int, plays: int, rng: np.random.Generator) -> None:
        self.truth, self.plays, self.rng = truth, plays, rng
        ids = [TaskId(str(index), "black") for index in range(scope)]
        self.scope = dict(zip(ids, ids, strict=True))
        self.parent = next(iter(self.scope))
        shares = [truth.gamma] + [truth.others] * (scope - 1)
        samples = _paired_gains([truth.own, *(share * truth.own for share in shares)], plays, rng)
        sources = (CANDIDATE, *self.scope)
        self.samples = {
            (each, CANDIDATE): sample for each, sample in zip(sources, samples, strict=True)
        }

    def gains(
        self, source: TaskId, target: TaskId, plays: int, kind: GainKind, rank: int = 0
    ) -> Gains:
        """Of one game of the scope or the candidate on another."""
        if (source, target) not in self.samples:  # the candidate and a game of the scope, on that
            share = self.truth.helps if target == self.parent else self.truth.others
            own, crossed = _paired_gains([MEAN, share * MEAN], self.plays, self.rng)
            self.samples |= {(target, target): own, (CANDIDATE, target): crossed}
        return self.samples[source, target][:plays]

    def attempts(self, source: TaskId) -> int:
        """Every game was fine-tuned once."""
        return 1

    def bounds(self, question: Question, settings: RaceSettings) -> Bounds:
        """What the search finds in an archive."""
        at = (settings.looks, settings.thresholds, CANDIDATE, self.parent, self.scope)
        return CandidateBounds(self, *at).bounds(question)


def _paired_gains(means: list[float], plays: int, rng: np.random.Generator) -> Gains:
    """(policies, plays): gains that share what the base player and the map contribute."""
    common = rng.normal(0, SPREAD * CORRELATION**0.5, plays)
    alone = rng.normal(0, SPREAD * (1 - CORRELATION) ** 0.5, (len(means), plays))
    return np.array(means)[:, None] + common + alone


def accepts(truth: Truth, scope: int, rules: Rules, rng: np.random.Generator) -> bool:
    """Whether one round takes one of its candidates."""
    names = [str(index) for index in range(CANDIDATES)]
    ids = [TaskId(str(index), "black") for index in range(scope)]
    settings, fresh_settings, tests = rules
    plays = settings.looks.plays[-1]
    nothing = Evidence(Purpose.SELECTION, settings.looks)
    ends = {}
    for name in names:
        simulated = SimulatedGains(truth, scope, plays, rng)
        answer = partial(simulated.bounds, settings=settings)
        ends[name] = run_race(selection(settings, ids, nothing), answer)
    survivors = {name: evidence for name, (decision, evidence) in ends.items() if decision is None}
    assessments = [
        Assessment(
            Candidate(name, Place(0, "parent", 0), index),
            "parent",
            evidence.values.captured.value,
            evidence.gamma.interval.value,
        )
        for index, (name, evidence) in enumerate(survivors.items())
    ]
    alpha1, alpha2 = settings.thresholds.alpha1, settings.thresholds.alpha2
    for each in rank(assessments, alpha1, alpha2)[:tests]:
        values = survivors[each.candidate.game].scope_values
        order = sorted(ids, key=lambda game: -(values[game].value or 0.0))
        if confirms(truth, order, fresh_settings, rng):
            return True
    return False


def confirms(
    truth: Truth, order: Sequence[TaskId], settings: RaceSettings, rng: np.random.Generator
) -> bool:
    """Whether one acceptance test on fresh plays takes its candidate."""
    fresh = SimulatedGains(truth, len(order), settings.looks.plays[-1], rng)
    race = acceptance(settings, order, Evidence(Purpose.ACCEPTANCE, settings.looks))
    decision, _ = run_race(race, partial(fresh.bounds, settings=settings))
    return decision is not None and decision.verdict is Verdict.ACCEPTED


WRONG = [
    Truth("near-copy of one game of the scope (γ = 0.98)", MEAN, 0.9, 0.98, 0.2),
    Truth("near-copy of every game of the scope (γ = 0.98)", MEAN, 0.9, 0.98, 0.98),
    Truth("covered as much as is allowed (γ = 0.9)", MEAN, 0.9, 0.9, 0.2),
    Truth("near-copy, small own gain (3 bits)", 3.0, 0.9, 0.98, 0.2),
    Truth("useless to its parent (C = 0.25)", MEAN, 0.25, 0.3, 0.3),
    Truth("null control: no gain at all", 0.0, 0.0, 0.0, 0.0),
]
RIGHT = [
    Truth("clearly new (γ = 0.3)", MEAN, 0.9, 0.3, 0.1),
    Truth("clearly new (γ = 0.5)", MEAN, 0.9, 0.5, 0.1),
]


def simulate(options: Namespace, overrides: Sequence[str]) -> None:
    """A row for each kind of candidate and size of the scope."""
    heads = ("eight candidates, each a", "scope", "1 − α2", "rounds", "accepting", "99 % bound")
    print(head((*heads, "one straight to the test", "99 % bound")))
    for truth, alpha2 in [(t, 0.1) for t in WRONG] + [(t, a) for t in RIGHT for a in (0.1, 0.2)]:
        courses = rules(0.3, alpha2, options.rule, overrides)
        _, fresh_settings, _ = courses
        for scope in (1, 10, 100):
            rng = np.random.default_rng([1, scope])
            ids = [TaskId(str(index), "black") for index in range(scope)]
            cells = [truth.title, scope, f"{1 - alpha2:.1f}", options.rounds]
            for trial in (
                partial(accepts, truth, scope, courses, rng),
                partial(confirms, truth, ids, fresh_settings, rng),
            ):
                count = sum(trial() for _ in range(options.rounds))
                bound = upper_bound(count, options.rounds, 0.99)
                cells += [f"{count / options.rounds:.2%}", f"{bound:.2%}"]
            print(row(cells), flush=True)


# -- the same candidates under several seeds -------------------------------------------------------

REWARD = "reward(xed(s | x) - xed(t | x))"
RIVAL = f"assign(s=story())\nelicit(x, 8)\nassign(t=story())\n{REWARD}"
COPIES = (
    RIVAL.replace("8", "7"),
    RIVAL.replace("8", "9"),
    RIVAL.replace(REWARD, "reward(xed(s | x))\nreward(dex(t | x))"),
    RIVAL.replace(REWARD, "reward(dex(t | x))\nreward(xed(s | x))"),
    RIVAL.replace(REWARD, "reward(xent(s) - xent(s | x) - xed(t | x))"),
    RIVAL.replace(REWARD, "reward(nex(s | x) - nex(t | x) + xent(s) - xent(t))"),
    RIVAL.replace(REWARD, "reward(xed(s | x) + xed(s | x) - xed(t | x) - xed(t | x))"),
    RIVAL.replace("elicit(x, 8)", "elicit(y, 8)\nassign(x=y)"),
    RIVAL.replace("elicit(x, 8)", "reveal(black, s)\nelicit(x, 8)"),
    RIVAL.replace("elicit(x, 8)", "elicit(x, 8)\nensure(num_words(x) >= 0)"),
    RIVAL.replace("xed(t | x)", "xed(t | x + '')"),
    f"{RIVAL}\nreward(xed(s | x) - xed(s | x))",
)
"""What earns on them earns on Rival; none is the same program in canonical form."""
QUESTIONS = ("learned", "helps", "new")
"""What a verdict answers, in this order."""
PASSED = MappingProxyType(
    dict.fromkeys((Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP, Reason.OWN_GAIN_OPEN), 0)
    | dict.fromkeys((Reason.NO_HELP, Reason.HELP_OPEN, Reason.UNLIKELY), 1)
    | dict.fromkeys((Reason.COVERED, Reason.SAME_SKILL, Reason.COVERAGE_OPEN), 2)
    | {Reason.NEW_AND_USEFUL: 3}
)
"""Number of questions that a decision with this reason has answered with yes. Other reasons refuse
a candidate before it is fine-tuned: it has learned nothing."""


@dataclass(frozen=True)
class Decision:
    """A verdict's reason, and whether intervals decided it and not the end of the plays."""

    reason: Reason
    decided: bool

    def answer(self, question: str) -> float:
        """1: yes; 0: no; NaN: open, because plays ran out, or because a question before it was not
        answered with yes."""
        number, passed = QUESTIONS.index(question), PASSED.get(self.reason, 0)
        if number < passed:
            return 1.0
        return 0.0 if number == passed and self.decided else math.nan


def copies(parent: Task) -> list[Task]:
    """The rewordings, each checked to be another program, and one that can be learned."""
    programs = [xgl.parse(text, parent.game.dialect) for text in COPIES]
    rewordings = [xgl.game(each, parent.game.metadata) for each in programs]
    assert len({each.game_id for each in rewordings} | {parent.game_id}) == len(COPIES) + 1
    assert not any(xgl.analyse(each.program).degenerate for each in rewordings)
    return [Task(each, parent.role) for each in rewordings]


def proposals(config: RunConfig, parent: Task, count: int) -> list[Task]:
    """So many programs that the sampler proposes for the parent."""
    sampler = make(config.meta_sampler.name, config.meta_sampler.settings)
    games = sampler.propose(parent.game, [parent.game], count, seed=0)
    return [Task(each.game, parent.role) for each in games if each.game is not None]


def judge(config: RunConfig, folder: Path, reworded: bool, count: int) -> dict[str, Decision]:
    """By game, its decision under the run's seed; what is archived is not redone."""
    with Archive.open(folder, "a") if folder.is_dir() else Archive.create(folder) as archive:
        identity = RunIdentity.of(config, folder.name, archive)
        if not archive.rows("runs", ["run_id"]):
            archive.commit({"runs": [run_row(identity, RunEvent.CREATED)]})
        ledger = Ledger(archive, identity.run_id)
        settings = ModelHostSettings(config.judge, config.player, config.finetune)
        executor = RayExecutor(config.cluster, settings)
        try:
            collector = Collector(config, ledger, executor, Display())
            oracle = TransferOracle(config, collector, config.transfer.confirmations)
            calibrate_initial_scope(collector, initial := initial_tasks(config))
            [parent] = run(oracle.learn(initial), collector.do)
            tasks = copies(parent) if reworded else proposals(config, parent, count)
            place = Place(0, parent, 0)
            candidates = [Candidate(task, place, index) for index, task in enumerate(tasks)]
            for each in run(oracle.assess(candidates, [parent]), collector.do):
                result = run(oracle.test(each, [parent]), collector.do)
                if result.verdict is Verdict.UNDECIDED:
                    oracle.dismiss(each, result, Reason.RIVALS_TESTED)
        finally:
            executor.close()
        rows = ledger.decisions.values()
        return {row["game_id"]: Decision(Reason(row["reason"]), row["decided"]) for row in rows}


def agreement(answers: NDArray[np.float64]) -> tuple[float, float]:
    """Share of pairs of seeds that agree on a candidate, and Krippendorff's α for unordered values
    (2004, Content Analysis, ch. 11); ``answers`` (candidates, seeds), NaN where there is none. Only
    candidates with two answers count. Both are NaN without any, α also where all answers are the
    same.
    """
    values = np.unique(answers[~np.isnan(answers)])
    counts = (answers[:, :, None] == values).sum(1)
    counts = counts[counts.sum(1) >= 2]
    if not counts.size:
        return math.nan, math.nan
    own = counts.sum(1)
    pairs = (counts * (counts - 1)).sum(1)
    observed = 1 - float((pairs / (own - 1)).sum() / own.sum())
    by_value = counts.sum(0)
    expected = 1 - float((by_value * (by_value - 1)).sum() / (own.sum() * (own.sum() - 1)))
    share = float(pairs.sum() / (own * (own - 1)).sum())
    return share, 1 - observed / expected if expected else math.nan


HEADS = (
    *("question", "yes, of answers", "open"),
    *("agreement of answers", "α", "open as no", "α"),
)


def summary(verdicts: Sequence[Mapping[str, Decision]]) -> str:
    """Each candidate's reasons by seed; then, of those that were fine-tuned under every seed and of
    all, agreement by question, and decisions that contradict each other."""
    games = [name for name in verdicts[0] if all(name in each for each in verdicts)]
    lines = [f"{name}: " + "; ".join(each[name].reason for each in verdicts) for name in games]
    accepted_count = sum(
        each[name].reason.verdict is Verdict.ACCEPTED for each in verdicts for name in games
    )
    lines.append(f"\n{accepted_count} accepted of {len(games)} games under {len(verdicts)} seeds")
    trained = [name for name in games if all(each[name].reason in PASSED for each in verdicts)]
    for names, which in ((trained, "fine-tuned"), (games, "judged")):
        if len(verdicts) > 1 and names:
            lines += agreement_lines([[each[name] for each in verdicts] for name in names], which)
    return "\n".join(lines)


def agreement_lines(decisions: Sequence[Sequence[Decision]], which: str) -> list[str]:
    """The table of agreement; ``decisions`` by game and seed, ``which`` were made of all."""
    both = {Verdict.ACCEPTED, Verdict.REFUSED}
    count = sum(both <= {each.reason.verdict for each in one} for one in decisions)
    lines = [
        f"\n{len(decisions)} were {which} under every seed; {count} of these were accepted "
        "under one seed and refused under another\n",
        head(HEADS),
    ]
    for question in QUESTIONS:
        answers = np.array([[each.answer(question) for each in one] for one in decisions])
        given = answers[~np.isnan(answers)]
        yes = given.mean() if given.size else math.nan
        cells = [_cell(yes, ".0%"), f"{np.isnan(answers).mean():.0%}"]
        for kind in (answers, np.nan_to_num(answers, nan=0.0)):
            share, alpha = agreement(kind)
            cells += [_cell(share, ".0%"), _cell(alpha, ".2f")]
        lines.append(row([question, *cells]))
    return lines


def _cell(value: float, form: str) -> str:
    """The value as text, empty for NaN."""
    return "" if np.isnan(value) else format(value, form)


def retest(options: Namespace, overrides: Sequence[str]) -> None:
    """Judge under each seed, then print reasons and agreement."""
    options.folder.mkdir(parents=True, exist_ok=True)
    verdicts = []
    for seed in options.seeds:
        config = load(RunConfig, ["+experiment=scope_growth", f"seed={seed}", *overrides])
        name = f"{'copies' if options.copies else 'candidates'}-seed{seed}"
        verdicts.append(judge(config, options.folder / name, options.copies, options.candidates))
        print(f"seed {seed}: {len(verdicts[-1])} judged", flush=True)
    print(summary(verdicts))


def main() -> None:
    parser = command_line(__doc__)
    commands = parser.add_subparsers(required=True)
    simulation, again = commands.add_parser("simulate"), commands.add_parser("retest")
    simulation.add_argument("--rounds", type=int, default=2000)
    simulation.add_argument("--rule", type=DecisionRule, default=DecisionRule.CROSS_RATIO)
    simulation.set_defaults(show=simulate)
    again.add_argument("folder", type=Path)
    again.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14])
    again.add_argument("--candidates", type=int, default=40)
    again.add_argument("--copies", action="store_true")
    again.set_defaults(show=retest)
    options, overrides = parse(parser)
    options.show(options, overrides)


if __name__ == "__main__":
    main()
