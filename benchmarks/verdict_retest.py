"""Whether verdicts on real fine-tunes repeat under other seeds, and whether copies are told.

    python benchmarks/verdict_retest.py FOLDER [--seeds 11 12 13 14] [--candidates 40] [--copies]
                                        [key=value …]

Judges the same candidates against the same scope, which is Rival, under several run seeds: other
training seeds, other maps. Candidates are proposals of the sampler ``mutate``; with ``--copies``
twelve trivial rewordings of Rival itself, none of which may be accepted. Every candidate has an
acceptance test of its own, whatever becomes of the others. Each seed's archive stays in FOLDER, and
a run that was cut goes on where it was. Idle machines only: about 20 s a fine-tune on a core.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from archive import Archive, Reason, Verdict
from archive.schema import SCHEMA_VERSION
from evo.config.compose import load
from evo.config.models import ModelHostSettings
from evo.config.schema import RunConfig
from evo.growth.algorithm import Candidate, Place
from evo.growth.initial_scope import initial_tasks, learn_initial_scope
from evo.growth.oracle import TransferOracle
from evo.jobs.evaluation import Task
from evo.jobs.executor import RayExecutor
from evo.record.collector import Collector
from evo.record.ledger import Ledger
from evo.record.progress import Listener
from evo.record.steps import run
from meta_sampler import make
from xgl import analyse, game, parse

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
    | dict.fromkeys((Reason.NEW_AND_USEFUL, Reason.SCRIPTED, Reason.SCRIPTS_OPEN), 3)
)
"""Number of questions that a decision with this reason has answered with yes. Other reasons refuse
a candidate before it is fine-tuned."""


@dataclass(frozen=True)
class Decision:
    """A verdict's reason, and whether intervals decided it and not the end of the plays."""

    reason: Reason
    decided: bool

    def answer(self, question: str) -> float:
        """1: yes; 0: no; NaN: open, because plays ran out, or because a question before it was not
        answered with yes."""
        number, passed = QUESTIONS.index(question), PASSED[self.reason]
        if number < passed:
            return 1.0
        return 0.0 if number == passed and self.decided else math.nan


def copies(parent: Task) -> list[Task]:
    """The rewordings, each checked to be another program, and one that can be learned."""
    rewordings = [game(parse(text, parent.game.dialect), parent.game.metadata) for text in COPIES]
    assert len({each.game_id for each in rewordings} | {parent.game_id}) == len(COPIES) + 1
    assert not any(analyse(each.program).degenerate for each in rewordings)
    return [Task(each, parent.role) for each in rewordings]


def proposals(config: RunConfig, parent: Task, count: int) -> list[Task]:
    """So many programs that the sampler proposes for the parent."""
    sampler = make(config.meta_sampler.name, config.meta_sampler.settings)
    games = sampler.propose(parent.game, [parent.game], count, seed=0)
    return [Task(each.game, parent.role) for each in games if each.game is not None]


def judge(config: RunConfig, folder: Path, reworded: bool, count: int) -> dict[str, Decision]:
    """By game, its decision under the run's seed; what is archived is not redone."""
    with Archive.open(folder, "a") if folder.is_dir() else Archive.create(folder) as archive:
        ledger = Ledger(archive, folder.name)
        if not archive.rows("runs", ["run_id"]):
            archive.commit({"runs": [_created_row(config, folder.name)]})
        settings = ModelHostSettings(config.judge, config.player, config.finetune)
        executor = RayExecutor(config.cluster, settings)
        try:
            collector = Collector(config, ledger, executor, Listener())
            oracle = TransferOracle(config, collector, config.transfer.confirmations)
            learning = learn_initial_scope(config, oracle.selection, initial_tasks(config))
            [parent] = run(learning, collector.do)
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


def _created_row(config: RunConfig, run_id: str) -> dict[str, object]:
    """The row of ``runs`` that says under which settings all was made."""
    return {
        "run_id": run_id,
        "event": "created",
        "at": datetime.now(UTC),
        "seed": config.seed,
        "config_json": json.dumps(asdict(config), sort_keys=True),
        "config_hash": config.science_hash(),
        "schema_version": SCHEMA_VERSION,
        "code_version": None,
    }


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


def contradicts(decisions: Sequence[Decision]) -> bool:
    """Whether a game is accepted under one seed and refused under another; undecided is neither."""
    return {Verdict.ACCEPTED, Verdict.REFUSED} <= {each.reason.verdict for each in decisions}


HEADS = (
    *("question", "yes, of answers", "open"),
    *("agreement of answers", "α", "open as a third answer", "α", "open as no", "α"),
)


def table(verdicts: Sequence[Mapping[str, Decision]]) -> str:
    """Each candidate's reasons by seed; then, of those that were fine-tuned under every seed,
    agreement by question, and decisions that contradict each other."""
    games = [name for name in verdicts[0] if all(name in each for each in verdicts)]
    lines = [f"{name}: " + "; ".join(each[name].reason for each in verdicts) for name in games]
    accepted_count = sum(
        each[name].reason.verdict is Verdict.ACCEPTED for each in verdicts for name in games
    )
    lines.append(f"\n{accepted_count} accepted of {len(games)} games under {len(verdicts)} seeds\n")
    trained = [name for name in games if all(each[name].reason in PASSED for each in verdicts)]
    if len(verdicts) > 1 and trained:
        lines += agreement_lines([[each[name] for each in verdicts] for name in trained])
    return "\n".join(lines)


def agreement_lines(decisions: Sequence[Sequence[Decision]]) -> list[str]:
    """The table of agreement; ``decisions`` by game and seed."""
    count = sum(contradicts(each) for each in decisions)
    lines = [
        f"{len(decisions)} were fine-tuned under every seed; {count} of these were accepted "
        "under one seed and refused under another\n",
        "| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|",
    ]
    for question in QUESTIONS:
        answers = np.array([[each.answer(question) for each in row] for row in decisions])
        given = answers[~np.isnan(answers)]
        cells = [
            _cell(given.mean(), "%") if given.size else "",
            _cell(np.isnan(answers).mean(), "%"),
        ]
        for kind in (answers, *(np.nan_to_num(answers, nan=each) for each in (-1.0, 0.0))):
            share, alpha = agreement(kind)
            cells += [_cell(share, "%"), _cell(alpha)]
        lines.append(f"| {question} | " + " | ".join(cells) + " |")
    return lines


def _cell(value: float, unit: str = "") -> str:
    """The value as text, empty for NaN."""
    if np.isnan(value):
        return ""
    return f"{value:.0%}" if unit else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14])
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    arguments = parser.parse_intermixed_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    verdicts = []
    for seed in arguments.seeds:
        config = load(RunConfig, ["+experiment=scope_growth", f"seed={seed}", *arguments.overrides])
        name = f"{'copies' if arguments.copies else 'candidates'}-seed{seed}"
        folder = arguments.folder / name
        verdicts.append(judge(config, folder, arguments.copies, arguments.candidates))
        print(f"seed {seed}: {len(verdicts[-1])} judged", flush=True)
    print(table(verdicts))


if __name__ == "__main__":
    main()
