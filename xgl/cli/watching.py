"""A machine that can be watched: which line of the program made each event."""

from __future__ import annotations

from xgl.language.canonical import Game
from xgl.runtime.machine import Asking, Machine
from xgl.runtime.requests import Event


class WatchedMachine(Machine):
    """Runs as any machine does, and remembers the position of the line behind each event."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._lines: list[int] = []

    def log(self, start: int = 0) -> list[tuple[int, Event]]:
        """The events from the ``start``-th on, each with the position of its line."""
        pending = [self.flow.position] * (len(self.events) - max(start, len(self._lines)))
        return list(zip([*self._lines[start:], *pending], self.events[start:], strict=True))

    def _step(self) -> Asking:
        position = self.flow.position
        try:
            yield from super()._step()
        finally:
            self._lines += [position] * (len(self.events) - len(self._lines))
