"""What a person sees while a run works: one live panel, or plain log lines without a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from archive.statistics.verdict import Decision
from evo.jobs.evaluate import Task
from evo.search.growth import Place
from xgl.judge.engine import Statistics


@dataclass
class State:
    """What the display shows; times in seconds, tokens of the player."""

    expected_finetunes: int | None
    known_finetunes: int = 0
    started: float = field(default_factory=time.monotonic)
    place: str = "initial scope"
    stage: str = "loading models"
    games: str = ""
    tokens: int = 0
    finetunes: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.started

    @property
    def share(self) -> float | None:
        """Share of the expected fine-tunes that is done; None where no budget is set."""
        if not self.expected_finetunes:
            return None
        return min(1.0, (self.finetunes + self.known_finetunes) / self.expected_finetunes)

    @property
    def remaining(self) -> float | None:
        """Expected seconds to go, at the pace of this session's fine-tunes."""
        if self.expected_finetunes is None or not self.finetunes:
            return None
        left = max(0, self.expected_finetunes - self.finetunes - self.known_finetunes)
        return self.elapsed / self.finetunes * left


class Display:
    """Follows a run. Use as a context manager; ``console`` decides between live and log."""

    def __init__(
        self, console: Console, title: str, expected_finetunes: int | None, known: int = 0
    ) -> None:
        self.console, self.title = console, title
        self.state = State(expected_finetunes, known)
        self.scoring = Statistics()
        self._live = Live(
            console=console, get_renderable=self._panel, refresh_per_second=2, transient=True
        )

    def __enter__(self) -> Display:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._live.stop()

    # -- what happens ------------------------------------------------------------------------

    def at(self, place: Place[Task]) -> None:
        """A new list of candidates is under way."""
        parent = place.parent.game_id[:8]
        self.state.place = f"generation {place.generation}, parent {parent}, list {place.round}"
        self._log(self.state.place)

    def stage(self, name: str, tasks: Sequence[Task]) -> None:
        """A stage begins for some games."""
        if not tasks:
            return
        self.state.stage = str(name)
        self.state.games = " ".join(dict.fromkeys(task.game_id[:8] for task in tasks))
        self._log(f"{name}: {self.state.games}")

    def scored(self, scoring: Statistics) -> None:
        """A job came back: what its judge was asked."""
        self.scoring += scoring

    def done(self, name: str, tokens: int) -> None:
        """One fine-tune or evaluation is committed."""
        self.state.tokens += tokens
        if name == "fine-tuning":
            self.state.finetunes += 1

    def decided(self, task: Task, decision: Decision) -> None:
        """A verdict is committed."""
        verdict = str(decision.verdict)
        self.state.verdicts[verdict] = self.state.verdicts.get(verdict, 0) + 1
        self._log(f"{verdict} {task.game_id[:8]}: {decision}")

    def note(self, message: str) -> None:
        """Something worth a line of its own."""
        self.console.print(message, highlight=False)

    # -- how it looks ------------------------------------------------------------------------

    def _log(self, message: str) -> None:
        if not self.console.is_terminal:
            state = self.state
            head = f"[{state.elapsed:6.1f} s, {state.tokens:,} tokens]"
            self.console.print(f"{head} {message}", highlight=False, markup=False, soft_wrap=True)

    def _panel(self) -> Any:
        state = self.state
        grid = Table.grid(padding=(0, 2))
        grid.add_row("where", state.place)
        grid.add_row("stage", state.stage)
        grid.add_row("games", Text(state.games, overflow="ellipsis", no_wrap=True))
        verdicts = ", ".join(f"{count} {name}" for name, count in sorted(state.verdicts.items()))
        grid.add_row("verdicts", verdicts or "none yet")
        grid.add_row("tokens", f"{state.tokens:,}")
        left = "unknown" if state.remaining is None else f"about {_clock(state.remaining)}"
        grid.add_row("time", f"{_clock(state.elapsed)} elapsed, {left} to go")
        bar = ProgressBar(total=1.0, completed=state.share or 0.0, width=40)
        return Group(Text(self.title, style="bold"), grid, bar)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
