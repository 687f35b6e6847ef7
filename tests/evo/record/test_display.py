"""What a person sees: lines, on a terminal with a bar below them, and the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from archive import Archive, Reason, RunEvent
from archive.statistics.rule import Decision
from evo.jobs.evaluation import Task
from evo.record.display import Display, show_summary
from evo.record.ledger import Ledger
from evo.record.progress import FINE_TUNING, RunProgress, training_note
from evo.runner import RunOutcome
from xgl.judge.statistics import Statistics

MakeTask = Callable[..., Task]
NAME = "what the story calls for"
"""Of the game that ``make_task`` makes."""
ENDS = ", at most about 0:00 to go, until …"


def follow(display: Display, task: Task) -> None:
    with display:
        display.candidate_list(2, task, 1)
        display.stage("fine-tuning", [task, task], 2)
        display.stage("acceptance", [], 0)
        display.job("fine-tuning", task, 1500, Statistics(requested=3), "0.8 → 9.7 bits")
        display.stage("calibration", [task, task], 2)
        display.job("calibration", task, 0, Statistics())
        display.stage("selection", [task], 1)  # alone, so without lines of its own
        display.job("selection", task, 34, Statistics(requested=4))
        display.decision(task, Decision(Reason.TOO_LONG, True, "3 [steps]"))
        display.decision(task, Decision(Reason.NEW_AND_USEFUL, True))


def test_without_a_terminal_there_are_plain_lines(make_task: MakeTask) -> None:
    task, out = make_task(), StringIO()
    display = Display(Console(file=out, width=60), "title", RunProgress(4))
    follow(display, task)
    assert (display.scoring.requested, display.progress.finetunes) == (7, 1)
    lines = out.getvalue().splitlines()
    short = task.game_id[:8]
    matches = [re.fullmatch(r"\[ *\d+\.\d s, ([\d,]+) tokens\] (.*)", line) for line in lines]
    assert [(m[1], re.sub(r"until \d\d:\d\d", "until …", m[2])) for m in matches if m] == [
        ("0", f"list 2 of new games like {NAME} ({short})"),
        ("0", f"fine-tuning: {short}"),
        ("1,500", f"fine-tuning {short} ended, 0.8 → 9.7 bits; fine-tune 1 of at most 4{ENDS}"),
        ("1,500", f"calibration: {short}"),
        ("1,500", f"calibration {short} ended, 1 of 2"),
        ("1,534", f"refused: {NAME} ({short}): too long to learn: 3 [steps]"),
        ("1,534", f"accepted: {NAME} ({short}): helps and is new"),
    ]
    assert all(matches)
    assert "\x1b" not in out.getvalue()


def test_a_quiet_log_says_now_and_then_that_the_run_goes_on(
    make_task: MakeTask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a list of many candidates is screened: hundreds of single evaluations."""
    seconds = 0.0
    monkeypatch.setattr("time.monotonic", lambda: seconds)
    task, out = make_task(), StringIO()
    display = Display(Console(file=out, width=60), "title", RunProgress(4, start=0.0))
    with display:
        display.candidate_list(0, task, 0)
        for _ in range(9):
            seconds += 8.0
            display.stage("selection", [task], 1)
            display.job("selection", task, 10, Statistics())
    short = task.game_id[:8]
    assert out.getvalue().splitlines() == [
        f"[   0.0 s, 0 tokens] list 1 of new games like {NAME} ({short})",
        f"[  32.0 s, 40 tokens] selection {short} ended, 4 jobs since the last line",
        f"[  64.0 s, 80 tokens] selection {short} ended, 4 jobs since the last line",
    ]


def test_a_terminal_has_the_same_lines_above_a_bar(make_task: MakeTask) -> None:
    task, out = make_task(), StringIO()
    console = Console(file=out, width=100, force_terminal=True)
    follow(Display(console, "growing [here]", RunProgress(4)), task)
    text = out.getvalue()
    for part in ("growing [here]", "\x1b[", f"accepted: {NAME} ({task.game_id[:8]})", "1 of 2"):
        assert part in text


def limited(**shares: tuple[float, float]) -> RunProgress:
    """Progress towards limits: the share of each before this session, and now."""
    of_session = iter((0, 1))
    values = {name: list(pair) for name, pair in shares.items()}
    place = [next(of_session)]
    progress = RunProgress(
        None, 0, lambda: {name: pair[place[0]] for name, pair in values.items()}, start=100.0
    )
    place[0] = next(of_session)
    return progress


def test_expected_time_counts_this_sessions_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = RunProgress(expected_finetunes=10, finetunes=4, start=100.0)
    monkeypatch.setattr("time.monotonic", lambda: 130.0)
    assert (progress.elapsed_seconds, progress.remaining) == (30.0, None)
    assert progress.shares() == {"fine-tunes": 0.4}
    progress.finetunes = 6
    assert progress.remaining == pytest.approx(30 / 2 * 4)
    progress.finetunes = 13
    assert progress.remaining == 0.0
    assert RunProgress(None, start=100.0).remaining is None
    assert limited(budget=(0.25, 0.4)).remaining == pytest.approx(30 / 0.15 * 0.6)
    resumed = limited(joined=(0.5, 0.5), candidates=(0.25, 0.4))
    assert resumed.remaining == pytest.approx(30 / 0.15 * 0.6), "each limit has its own pace"
    both = limited(budget=(0.5, 0.9), joined=(0.0, 0.5))
    assert both.remaining == pytest.approx(30 / 0.4 * 0.1), "the first of them ends it"
    assert limited(budget=(0.0, 1.5)).remaining == 0


@pytest.mark.parametrize("seconds", [1.0, 60.0, 3600.0])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.4, 0.999, 1.5])
def test_a_budget_of_seconds_bounds_the_time_that_is_told(
    monkeypatch: pytest.MonkeyPatch, make_task: MakeTask, seconds: float, share: float
) -> None:
    """At the pace of the first job, which waited for its worker, hours would be told."""
    monkeypatch.setattr("time.monotonic", lambda: 115.0)
    out = StringIO()
    progress = limited(**{"budget.seconds": (0.0, share), "budget.tokens": (0.0, 1e-4)})
    progress.expected_finetunes, progress.seconds = 100, seconds
    display = Display(Console(file=out, width=200), "title", progress)
    left = seconds * max(0.0, 1 - share)
    assert progress.remaining is not None
    assert 0 <= progress.remaining <= left
    task = make_task()
    display.stage(FINE_TUNING, [task], 1000)
    display.job(FINE_TUNING, task, 10, Statistics())
    [(minutes, rest)] = re.findall(r"about (\d+):(\d\d) to go", out.getvalue())
    assert 60 * int(minutes) + int(rest) <= left


def test_a_fine_tune_is_told_by_the_quarters_of_its_curve() -> None:
    curve = [0.0, 1.0, 4.0, 4.0, 4.0, 4.0, 9.0, 10.0]
    assert training_note(curve) == "0.5 → 9.5 bits a play in training"
    assert training_note([2.0]) == "2.0 → 2.0 bits a play in training"
    assert training_note([]) == "no step was made"
    assert RunProgress(None, finetunes=3).count == "3"
    assert RunProgress(4, finetunes=5).count == "5 of at most 5"


def test_an_error_leaves_the_terminal_as_it_was(make_task: MakeTask) -> None:
    out = StringIO()
    display = Display(Console(file=out, force_terminal=True, width=80), "title", RunProgress(None))

    def fail() -> None:
        with display:
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        fail()
    assert out.getvalue().count("\x1b[?25l") == out.getvalue().count("\x1b[?25h"), "cursor hidden"


def test_the_summary_of_a_run_that_hardly_began(tmp_path: Path) -> None:
    out, folder = StringIO(), tmp_path / "a run"
    console = Console(file=out, width=100)
    with Archive.create(folder / "archive") as archive:
        ledger = Ledger(archive, "r")
        show_summary(console, ledger, Statistics(), "a-run")
        assert "judge " not in out.getvalue()
        statistics = Statistics(
            requested=12, duplicates=2, cached=5, requested_tokens=3000, read_tokens=700
        )
        show_summary(console, ledger, statistics, "a-run")
    assert "3,000 tokens requested, 700 read; of 10 different strings 50% cached" in out.getvalue()


@pytest.mark.parametrize(
    ("overrides", "command"),
    [
        (None, None),
        ((), "python -m evo.run resume='a run'"),
        (("budget.tokens=200",), "python -m evo.run resume='a run' budget.tokens=200"),
    ],
)
def test_an_outcome_says_how_to_go_on(
    overrides: tuple[str, ...] | None, command: str | None
) -> None:
    outcome = RunOutcome(RunEvent.FINISHED, 0, "it is over", overrides)
    assert outcome.resume_command(Path("a run")) == command
