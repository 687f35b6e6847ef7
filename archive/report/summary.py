"""A run as its page and the terminal tell it: all that the page draws, gathered from the archive's
rows, and what was found in words, for a reader who sees it for the first time: two sentences, why
each game was kept, and the kept games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from archive.report.games import GameFacts, gather_games
from archive.report.measures import PlayerMeasure, gather_measures
from archive.run import Row, Run, reason_of
from archive.schema import SCRIPT_POLICY, Definition, RunEvent, TaskId, Verdict
from archive.statistics.intervals import Interval
from archive.statistics.matrix import TransferMatrix
from archive.statistics.replay import Survival, read_survivals, surviving
from archive.store.archive import Archive
from archive.text import interval, listed, percent, plural, signed
from archive.views.tables import plain_text, short
from xgl.escaping import visible


@dataclass(frozen=True)
class RunReport:
    """Everything that the page draws; ``games`` is the newest scope in the order of acceptance.

    ``limits``: the last decision that has thresholds. ``candidates``: decisions that got as far as
    a value and γ. ``verdicts``: each ``verdict`` and ``reason`` with its ``meaning`` for a newcomer
    and its ``count``.
    """

    run: Run
    games: tuple[GameFacts, ...]
    matrix: TransferMatrix
    limits: Row | None
    candidates: Sequence[Row]
    verdicts: Sequence[Row]
    measures: tuple[PlayerMeasure, ...]
    survivals: tuple[Survival, ...]

    @property
    def definition(self) -> Definition:
        """The value that decides."""
        return self.run.deciding_value[0]

    @property
    def generations(self) -> tuple[int, ...]:
        """The generations of the games, ascending; 0 is the initial scope."""
        return tuple(sorted({game.member.generation for game in self.games}))


def gather_report(run: Run, measured_archives: Sequence[Archive] = ()) -> RunReport:
    """The report of a run, with models measured on its games. Raises LookupFailedError when its
    scope or a game of it is not archived, DamagedError when a file of the archive is."""
    decisions, name = run.decisions, run.deciding_value[0].column
    with_limits = [row for row in decisions if None not in (row["alpha1"], row["alpha2"])]
    candidates = [row for row in decisions if None not in (row[name], row["gamma"])]
    meanings = {row["reason"]: reason_of(row).meaning for row in decisions}
    games, matrix = gather_games(run)
    return RunReport(
        run=run,
        games=games,
        matrix=matrix,
        limits=with_limits[-1] if with_limits else None,
        candidates=candidates if with_limits else (),
        verdicts=[row | {"meaning": meanings[row["reason"]]} for row in run.verdict_counts()],
        measures=gather_measures(run, measured_archives),
        survivals=tuple(read_survivals(run)),
    )


MOST_NAMES = 3
"""Most initial games that the summary names."""


def summary(report: RunReport) -> tuple[str, str]:
    """What the search found, and how new and how teachable it is."""
    return _outcome(report), _novelty(report)


def kept_reason(game: GameFacts, games: Sequence[GameFacts]) -> str:
    """Why a new game was kept: the two numbers of the decision on it, beside what they had to be;
    empty for a game without a decision."""
    row = game.decision
    if row is None or None in (row["alpha1"], row["alpha2"], row["gamma"]):
        return ""
    names = {each.task_id: each.name for each in games}
    parent = "its parent" if game.parent is None else games[game.parent].name
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
    new_count = sum(game.member.generation > 0 for game in report.games)
    initial_count = len(report.games) - new_count
    proposals = report.run.table("proposals", ["index"]).num_rows
    # a game has several fine-tunes where it has attempts, rungs or replicates
    finetunes = report.run.table("finetunes", ["game_id", "role"])
    trained_count = finetunes.group_by(["game_id", "role"]).aggregate([]).num_rows
    start = plural(initial_count, "starting game")
    if initial_count <= MOST_NAMES:
        start += f" ({listed([game.name for game in report.games if game.member.generation == 0])})"
    is_over = report.run.state in (RunEvent.FINISHED, RunEvent.OUT_OF_BUDGET)
    grown = f"From {start}, the search" + ("" if is_over else " so far")
    new = plural(new_count, "new game") if new_count else "no new game"
    effort = [f"trying {plural(proposals, 'proposal')}"] if proposals else []
    effort += [f"training a player on {plural(trained_count, 'game')}"] if trained_count else []
    how = f" after {listed(effort)}" if effort else ""
    last = report.generations[-1]
    span = f" in {plural(last, 'generation')}" if last else ""
    return f"{grown} found {new}{span}{how}."


def _novelty(report: RunReport) -> str:
    new_count = sum(game.member.generation > 0 for game in report.games)
    if not new_count:
        return _refusal_text(report)
    gammas = [game.member.gamma for game in report.games if game.member.gamma is not None]
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
    clauses = []
    for judge in dict.fromkeys(survival.judge for survival in survivals):
        of_judge = [survival for survival in survivals if survival.judge == judge]
        share = percent(surviving(of_judge))
        again = sum(survival.stays_accepted for survival in of_judge)
        clauses.append(
            f"under another judge, {judge}, {share} of the gain about the map survives"
            + (" in the median" if len(of_judge) > 1 else "")
            + f", and {again} of {plural(len(of_judge), 'acceptance')} would be repeated"
        )
    return clauses


def _refusal_text(report: RunReport) -> str:
    refusals = [row for row in report.verdicts if row["verdict"] != Verdict.ACCEPTED]
    if not refusals:
        return "No candidate has been judged yet."
    worst = max(refusals, key=lambda row: row["count"])
    decisions = plural(sum(row["count"] for row in report.verdicts), "decision")
    meaning = worst["meaning"] and f": {worst['meaning']}"
    return f"Of {decisions}, {worst['count']:,} ended as “{worst['reason']}”{meaning}."


FULL = 6
"""New games that are shown with a play; the others have two lines each."""
LETTERS = 110
"""Most characters of a story that are shown."""


def show(
    games: Sequence[GameFacts], survivals: Sequence[Survival], console: Console, run: str
) -> None:
    """New games first, then those that the run began with; ``run``: how a command names it."""
    new = [game for game in games if game.member.parent_game_id is not None]
    initial = [game for game in games if game.member.parent_game_id is None]
    initial_text = f"beside {plural(len(initial), 'game')} that the run began with"
    new_text = plural(len(new), "new game") if new else "no new game"
    console.print(Text(f"\nKept: {new_text}, {initial_text}", style="bold"))
    for index, game in enumerate([*new, *initial]):
        console.print()
        member, origin = game.member, "the run began with it"
        if member.parent_game_id is not None:
            origin = f"generation {member.generation}, found from {short(member.parent_game_id)}"
        title = f"{game.title} ({member.task_id.label}): {origin}".lstrip()
        _line(console, title, 2, style="bold")
        judged = [each for each in survivals if each.task_id == game.task_id]
        full = index < FULL or game in initial
        for line in _facts(game, games, judged, full):
            _line(console, line, 4)
        command = f"    more       python -m archive show {run} {short(member.game_id)}"
        console.print(command, soft_wrap=True)  # a broken line could not be pasted


def _line(console: Console, text: str, margin: int, style: str = "") -> None:
    console.print(Padding(plain_text(text), (0, 0, 0, margin)), style=style)


def _facts(
    game: GameFacts, games: Sequence[GameFacts], judged: Sequence[Survival], full: bool
) -> list[str]:
    rules = game.rules or tuple(line for line in game.row["code"].split("\n") if line)
    lines = [" ".join(rules)] if full else [rules[-1]]
    if reason := kept_reason(game, games):
        lines.append(f"kept       {reason}")
    if game.own.total.value is not None:
        about = f"{signed(game.own.specific.value)} about the map (lost on other texts)"
        lines.append(
            f"learned    training{game.seat} gains {_bits(game.own.total)} a play, {about}"
        )
    if scripts := game.scripts:
        rule = scripts.best.removeprefix(SCRIPT_POLICY)
        lines.append(
            f"scripts    the best fixed rule, {rule}, gains {signed(scripts.best_gain)} bits; "
            f"training minus the best rule: {_bits(scripts.total)}, {_bits(scripts.specific)} "
            "about the map"
        )
    lines += [f"judged     {_survival(each)}" for each in judged]
    return lines + (_play(game) if full and game.plays else [])


def _survival(survival: Survival) -> str:
    survives = interval(survival.specific, percent)
    verdict = "it would be accepted again"
    if survival.decision is None:
        verdict = "it would not be accepted on the same plays"
    elif not survival.stays_accepted:
        verdict = f"it would not be accepted ({survival.decision.reason})"
    return f"by {survival.judge}, {survives} of the gain about the map survives; {verdict}"


def _play(game: GameFacts) -> list[str]:
    """The texts of the map of the best play, what the trained player wrote, and both scores."""
    best = game.plays[0]
    heads = ["best play  on", *["            "] * len(best.texts)]
    texts = (" ".join(text.split()) for text in best.texts)
    cut = (t if len(t) <= LETTERS else f"{t[:LETTERS].rstrip()}…" for t in texts)
    lines = [f"{head} “{text}”" for head, text in zip(heads, cut, strict=False)]
    moves = ", ".join(f"“{visible(move)}”" for move in best.moves)
    lines.append(f"  trained    {signed(best.score):>7} bits  {moves}")
    if best.base is not None:
        lines.append(f"  untrained  {signed(best.base):>7} bits")
    return lines


def _bits(gain: Interval) -> str:
    return interval(gain, signed).replace(" [", " bits [")
