"""What each meta-sampler of a run proposed: how far it came, what it cost, how alike it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from archive.run import Row, Run
from archive.schema import DecisionRule, ProposalOutcome, Verdict
from archive.text import number
from archive.views.tables import add, table
from xgl import Program, ProgramError, game, parse
from xgl.analysis.tree_distance import highest_similarities

REPEATED = (ProposalOutcome.SEEN.value, "known")
"""Outcomes of proposals that were known games."""


@dataclass(frozen=True)
class Funnel:
    """Proposals that passed each stage. ``valid``: programs of the language; ``new``: no game met
    before; ``candidates``: put to the base player; ``feasible``: fine-tuned; ``playable``: improved
    by it, significantly; ``accepted``: into the scope."""

    proposals: int
    valid: int
    new: int
    candidates: int
    feasible: int
    playable: int
    accepted: int


@dataclass(frozen=True)
class SampleSummary:
    """A sample's mean, standard deviation, least, quartiles and largest value."""

    mean: float
    std: float
    min: float
    q25: float
    median: float
    q75: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> SampleSummary | None:
        """The summary of a sample, None for an empty one; the deviation of one value is 0."""
        if not values:
            return None
        sample = np.asarray(values, dtype=np.float64)
        deviation = float(sample.std(ddof=1)) if len(sample) > 1 else 0.0
        quartiles = (float(q) for q in np.quantile(sample, (0, 0.25, 0.5, 0.75, 1)))
        return cls(float(sample.mean()), deviation, *quartiles)


@dataclass(frozen=True)
class SamplerReport:
    """One meta-sampler. ``tokens``, ``seconds`` and ``dollars`` are its own, ``judged_tokens`` the
    player's on its candidates. ``similarity``: of each new game to the most similar other new
    game of the sampler, from 0 to 1 (gg-bench, Table 5, on syntax trees); ``distance``: edits from
    each new game to the nearest known one."""

    sampler: str
    funnel: Funnel
    tokens: int
    seconds: float
    dollars: float
    judged_tokens: int
    similarity: SampleSummary | None
    distance: SampleSummary | None


def gather(run: Run) -> list[SamplerReport]:
    """A report for each meta-sampler of a run, by name."""
    dialects = {row["game_id"]: row["dialect"] for row in run.rows("games")}
    decisions = {row["game_id"]: row for row in run.decisions}
    by_sampler: dict[str, list[Row]] = defaultdict(list)
    for row in run.rows("proposals"):
        by_sampler[row["sampler"]].append(row)
    return [_report(name, rows, decisions, dialects) for name, rows in sorted(by_sampler.items())]


def _report(
    name: str, rows: Sequence[Row], decisions: Mapping[str, Row], dialects: Mapping[str, str]
) -> SamplerReport:
    readings = [(row, _program(row, dialects)) for row in rows]
    valid = [(row, program) for row, program in readings if program is not None]
    new = [(row, program) for row, program in valid if row["outcome"] not in REPEATED]
    candidates = [row for row, _ in new if row["outcome"] == ProposalOutcome.CANDIDATE]
    verdicts = [decisions[row["game_id"]] for row in candidates if row["game_id"] in decisions]
    distances = [float(row["distance"]) for row, _ in new if row["distance"] is not None]
    return SamplerReport(
        sampler=name,
        funnel=_funnel(len(rows), len(valid), len(new), len(candidates), verdicts),
        tokens=sum(row["tokens"] for row in rows),
        seconds=sum(row["seconds"] for row in rows),
        dollars=sum(row["dollars"] for row in rows),
        judged_tokens=sum(row["tokens"] for row in verdicts),
        similarity=SampleSummary.of(highest_similarities(_distinct(program for _, program in new))),
        distance=SampleSummary.of(distances),
    )


def _funnel(
    proposals: int, valid: int, new: int, candidates: int, verdicts: Sequence[Row]
) -> Funnel:
    with_finetune = [row for row in verdicts if row["finetune_id"] is not None]
    return Funnel(
        proposals=proposals,
        valid=valid,
        new=new,
        candidates=candidates,
        feasible=len(with_finetune),
        playable=sum(_is_playable(row) for row in with_finetune),
        accepted=sum(row["verdict"] == Verdict.ACCEPTED for row in verdicts),
    )


def _is_playable(row: Row) -> bool:
    """Whether its own gain is established, the total one too where the rule asks for it."""
    better_in_all = row["rule"] == DecisionRule.VALUES or (row["total_gain_low"] or 0) > 0
    return better_in_all and (row["own_gain_low"] or 0) > 0


def _program(row: Row, dialects: Mapping[str, str]) -> Program | None:
    """The canonical program of a proposal's text; None if it is none."""
    try:
        return game(parse(row["text"], dialects.get(row["parent_game_id"], "xent"))).program
    except ProgramError:
        return None


def _distinct(programs: Iterable[Program]) -> list[Program]:
    return list(dict.fromkeys(programs))


def show(reports: Sequence[SamplerReport], console: Console) -> None:
    """How far proposals came, what they cost, and how similar they are."""
    for view in (_funnels(reports), _costs(reports), _spreads(reports)):
        console.print(view)


def _funnels(reports: Sequence[SamplerReport]) -> Table:
    steps = ("proposals", "valid", "new", "candidates", "feasible", "playable", "accepted")
    view = table("How far proposals came", "sampler", *steps, numbers=True)
    for report in reports:
        add(view, report.sampler, *(getattr(report.funnel, step) for step in steps))
    return view


def _costs(reports: Sequence[SamplerReport]) -> Table:
    columns = ("its tokens", "seconds", "dollars", "player tokens after it")
    view = table("Cost", "sampler", *columns, numbers=True)
    for report in reports:
        own = f"{report.tokens:,}", number(report.seconds, 1), number(report.dollars, 4)
        add(view, report.sampler, *own, f"{report.judged_tokens:,}")
    return view


def _spreads(reports: Sequence[SamplerReport]) -> Table:
    names = ("mean", "std", "min", "q25", "median", "q75", "max")
    title = "Highest similarity to another game; edits to the nearest known"
    view = table(title, "", *names, numbers=True)
    for report in reports:
        for what, summary, digits in (
            ("similarity", report.similarity, 3),
            ("edits", report.distance, 1),
        ):
            cells = (number(getattr(summary, name, None), digits) for name in names)
            add(view, f"{report.sampler}, {what}", *cells)
    return view
