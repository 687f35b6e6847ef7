"""The two sentences at the top: what was found, and how much it differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from archive.report.contents import GameFacts
from archive.report.from_archive import RunReport
from archive.schema import Definition, TaskId
from archive.statistics.second_judge import Survival, surviving
from archive.text import listed, percent, plural

MOST_NAMES = 3
"""Most initial games that the summary names."""


def summary(report: RunReport) -> tuple[str, str]:
    """What the search found, and how new and how teachable it is."""
    return _outcome(report), _novelty(report)


def kept_reasons(report: RunReport) -> dict[int, str]:
    """Why each new game was kept, by its place: the two numbers of the decision on it, beside what
    they had to be; empty for a game without a decision."""
    names = {game.task_id: game.name for game in report.games}
    return {
        game.place: _kept_reason(game, report.games[game.parent].name, names)
        for game in report.games
        if game.parent is not None
    }


def _kept_reason(game: GameFacts, parent: str, names: Mapping[TaskId, str]) -> str:
    row = game.decision
    if row is None or row["alpha1"] is None or row["alpha2"] is None or row["gamma"] is None:
        return ""
    definition = Definition(row["definition"])
    value = percent(row[definition.column])
    if definition is Definition.CAPTURED:
        teaches = f"playing it teaches {value} of what {parent} teaches"
    else:
        teaches = f"what it teaches of {parent} is {value} of its own lesson"
    teacher = names.get(TaskId(row["gamma_game_id"], row["gamma_role"]), "the scope")
    return (
        f"Kept because {teaches} (at least {percent(row['alpha1'])} was asked), and {teacher} "
        f"taught {percent(max(0.0, row['gamma']))} of its lesson already (at most "
        f"{percent(1 - row['alpha2'])} was allowed)."
    )


def _outcome(report: RunReport) -> str:
    initial_count, new_count = _counts(report)
    proposals = sum(fate.count for fate in report.fates)
    decisions = sum(verdict.count for verdict in report.verdicts)
    # a game has several fine-tunes where it has attempts, rungs or replicates
    finetunes = report.run.table("finetunes", ["game_id", "role"])
    trained_count = finetunes.group_by(["game_id", "role"]).aggregate([]).num_rows
    start = plural(initial_count, "starting game")
    if initial_count <= MOST_NAMES:
        start += f" ({listed([game.name for game in report.games if game.generation == 0])})"
    grown = f"From {start}, the search" + ("" if report.run.finished else " so far")
    new = plural(new_count, "new game") if new_count else "no new game"
    effort = []
    if proposals:
        effort.append(f"trying {plural(proposals, 'proposal')}")
    if trained_count:
        effort.append(f"training a player on {plural(trained_count, 'game')}")
    if decisions and not effort:
        effort.append(f"judging {plural(decisions, 'candidate')}")
    how = f" after {listed(effort)}" if effort else ""
    last = report.generations[-1] if report.generations else 0
    span = f" in {plural(last, 'generation')}" if last else ""
    return f"{grown} found {new}{span}{how}."


def _novelty(report: RunReport) -> str:
    _, new_count = _counts(report)
    if not new_count:
        return _refusal_text(report)
    gammas = [game.gamma for game in report.games if game.gamma is not None]
    totals = (game.own.total.value for game in report.games)
    gains = [total for total in totals if total is not None]
    parts = []
    if gammas:
        whose = "the new game’s" if new_count == 1 else "a typical new game’s"
        parts.append(
            f"of {whose} lesson, {max(0.0, median(gammas)):.0%} was already taught by a game known "
            "before it"
        )
    if gains:
        parts.append(
            f"training on a game raises its score by {median(gains):.1f} bits a play"
            + (", in the median" if len(gains) > 1 else "")
        )
    comparisons = [game.scripts for game in report.games if game.scripts is not None]
    if comparisons:
        beyond = sum(scripts.total.low > 0 and scripts.specific.low > 0 for scripts in comparisons)
        parts.append(
            "a trained player surely earns more than every fixed rule, such as repeating the text, "
            f"on {beyond or 'none'} of {plural(len(comparisons), 'game')}"
        )
    parts += _survival_clauses(report.survivals)
    words = "; ".join(parts) or "how new these games are was not measured"
    return f"{words[:1].upper()}{words[1:]}."


def _survival_clauses(survivals: Sequence[Survival]) -> list[str]:
    """One clause for each judge that did not play."""
    clauses = []
    for judge in dict.fromkeys(survival.judge for survival in survivals):
        of_judge = [survival for survival in survivals if survival.judge == judge]
        share = surviving(of_judge)
        share_text = "an unknown share" if share.value is None else f"{share.value:.0%}"
        again = sum(survival.stays_accepted for survival in of_judge)
        clauses.append(
            f"under another judge, {judge}, {share_text} of the gain about the map survives"
            + (" in the median" if len(of_judge) > 1 else "")
            + f", and {again} of {plural(len(of_judge), 'acceptance')} would be repeated"
        )
    return clauses


def _refusal_text(report: RunReport) -> str:
    refusals = [verdict for verdict in report.verdicts if verdict.kind != "accepted"]
    if not refusals:
        return "No candidate has been judged yet."
    worst = max(refusals, key=lambda verdict: verdict.count)
    decisions = sum(verdict.count for verdict in report.verdicts)
    return f"Of {plural(decisions, 'decision')}, {worst.count:,} ended as “{worst.name}”" + (
        f": {worst.meaning}." if worst.meaning else "."
    )


def _counts(report: RunReport) -> tuple[int, int]:
    """The numbers of games that the run started with, and that it found."""
    initial_count = sum(game.generation == 0 for game in report.games)
    return initial_count, len(report.games) - initial_count
