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

import numpy as np
from numpy.typing import NDArray

from archive import Archive, Reason, Verdict
from archive.schema import SCHEMA_VERSION
from archive.statistics.decisions import calibration
from evo.config.compose import load
from evo.config.schema import RunConfig
from evo.jobs.evaluation import Task
from evo.jobs.executor import RayExecutor
from evo.jobs.job import ModelHostSettings
from evo.record.collector import Collector
from evo.record.ledger import Ledger
from evo.record.progress import NullListener
from evo.search.growth import Candidate, Place, rank
from evo.search.initial_scope import initial_tasks, learn_initial_scope
from evo.search.oracle import TransferOracle
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
UNTRAINED = calibration.REASONS | {Reason.NO_HEADROOM}
"""Reasons of a refusal before any fine-tune; which ones fall there is not what is measured."""
UNLEARNED = frozenset({Reason.NOT_LEARNED, Reason.NOT_ABOUT_MAP})
WITHOUT_HELP = UNLEARNED | {Reason.NO_HELP, Reason.OWN_GAIN_OPEN, Reason.HELP_OPEN}


@dataclass(frozen=True)
class Question:
    """A yes-or-no question that verdicts answer: the reasons that say no, and those that leave it
    open because plays ran out or because an earlier question has the answer no; others say yes."""

    no: frozenset[Reason]
    open: frozenset[Reason]

    def answer(self, reason: Reason) -> float:
        """1: yes, 0: no, NaN: open."""
        return math.nan if reason in self.open else float(reason not in self.no)


QUESTIONS: Mapping[str, Question] = {
    "learned": Question(UNLEARNED, frozenset({Reason.OWN_GAIN_OPEN})),
    "helps": Question(frozenset({Reason.NO_HELP}), WITHOUT_HELP - {Reason.NO_HELP}),
    "new": Question(
        frozenset({Reason.COVERED, Reason.SAME_SKILL}),
        WITHOUT_HELP | {Reason.COVERAGE_OPEN, Reason.UNLIKELY},
    ),
}


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


def judge(config: RunConfig, folder: Path, reworded: bool, count: int) -> dict[str, Reason]:
    """By game, the reason of its decision under the run's seed; what is archived is not redone."""
    with Archive.open(folder, "a") if folder.is_dir() else Archive.create(folder) as archive:
        ledger = Ledger(archive, folder.name)
        if not archive.rows("runs", ["run_id"]):
            archive.commit({"runs": [_created_row(config, folder.name)]})
        settings = ModelHostSettings(config.judge, config.player, config.finetune)
        executor = RayExecutor(config.cluster, settings)
        try:
            collector = Collector(config, ledger, executor, NullListener())
            oracle = TransferOracle(config, ledger, collector)
            [parent] = learn_initial_scope(config, oracle.selection, initial_tasks(config))
            tasks = copies(parent) if reworded else proposals(config, parent, count)
            place = Place(0, parent, 0)
            candidates = [Candidate(task, place, index) for index, task in enumerate(tasks)]
            assessed = oracle.assess(candidates, [parent])
            for each in rank(assessed, config.growth.alpha1, config.growth.alpha2):
                oracle.confirm([each])
        finally:
            executor.close()
        rows = ledger.decisions.values()
        return {row["game_id"]: Reason(row["reason"]) for row in rows}


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
    candidates with two answers count. α is NaN where all answers are the same.
    """
    values = np.unique(answers[~np.isnan(answers)])
    counts = np.stack([(answers == value).sum(1) for value in values], axis=1)
    counts = counts[counts.sum(1) >= 2]
    own = counts.sum(1)
    pairs = (counts * (counts - 1)).sum(1)
    observed = 1 - float((pairs / (own - 1)).sum() / own.sum())
    by_value = counts.sum(0)
    expected = 1 - float((by_value * (by_value - 1)).sum() / (own.sum() * (own.sum() - 1)))
    share = float(pairs.sum() / (own * (own - 1)).sum())
    return share, 1 - observed / expected if expected else math.nan


def contradicts(reasons: Sequence[Reason]) -> bool:
    """Whether a game is accepted under one seed and refused under another; undecided is neither."""
    return {Verdict.ACCEPTED, Verdict.REFUSED} <= {reason.verdict for reason in reasons}


HEADS = (
    *("question", "yes, of answers", "open"),
    *("agreement of answers", "α", "agreement, open as a third answer", "α"),
)


def table(verdicts: Sequence[Mapping[str, Reason]]) -> str:
    """Each candidate's reasons by seed; then, of those that were fine-tuned under every seed,
    agreement by question, and decisions that contradict each other."""
    games = [name for name in verdicts[0] if all(name in each for each in verdicts)]
    lines = [f"{name}: " + "; ".join(each[name] for each in verdicts) for name in games]
    trained = [name for name in games if not any(each[name] in UNTRAINED for each in verdicts)]
    accepted_count = sum(each[n].verdict is Verdict.ACCEPTED for each in verdicts for n in games)
    lines.append(f"\n{accepted_count} accepted of {len(games)} games under {len(verdicts)} seeds\n")
    if len(verdicts) > 1:
        count = sum(contradicts([each[name] for each in verdicts]) for name in trained)
        lines.append(
            f"{len(trained)} were fine-tuned under every seed; {count} of these were accepted "
            "under one seed and refused under another\n"
        )
        lines.append("| " + " | ".join(HEADS) + " |\n" + "| --- " * len(HEADS) + "|")
        for name, question in QUESTIONS.items():
            answers = np.array(
                [[question.answer(each[game]) for each in verdicts] for game in trained]
            )
            cells = [f"{np.nanmean(answers):.0%}", f"{np.isnan(answers).mean():.0%}"]
            for kind in (answers, np.nan_to_num(answers, nan=-1.0)):
                share, alpha = agreement(kind)
                cells += [f"{share:.0%}", f"{alpha:.2f}"]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 13, 14])
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("overrides", nargs="*", metavar="key=value")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    verdicts = []
    for seed in arguments.seeds:
        config = load(["+experiment=scope_growth", f"seed={seed}", *arguments.overrides])
        name = f"{'copies' if arguments.copies else 'candidates'}-seed{seed}"
        folder = arguments.folder / name
        verdicts.append(judge(config, folder, arguments.copies, arguments.candidates))
        print(f"seed {seed}: {len(verdicts[-1])} judged", flush=True)
    print(table(verdicts))


if __name__ == "__main__":
    main()
