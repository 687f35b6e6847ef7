"""A guest: the process in which one game runs, and the pipe to it.

A message of the wrong form or a missed deadline raises
:class:`~evo.ggbench.answers.GameFaultError`, and the process is killed.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any

import gymnasium
import numpy as np

from evo.ggbench.answers import Answer, GameFaultError, one_line
from evo.ggbench.guest import frames
from evo.ggbench.guest.main import BOOT

LOCKED = True
"""Tests set it to False."""


@dataclass(frozen=True)
class BoxLimits:
    """Limits of one game, in seconds: to start, for an answer, for all that its host waits for it,
    and of processor time; in bytes: ``memory`` of address space, ``answers`` of all together."""

    start: float = 60.0
    answer: float = 5.0
    total: float = 600.0
    cpu: int = 600
    memory: int = 1 << 30
    answers: int = 1 << 28
    most_moves: int = 100
    """After which a game ends undecided."""


LIMITS = BoxLimits()


class GuestProcess:
    """Started with the object; it ends with the thread that began it."""

    def __init__(self, limits: BoxLimits) -> None:
        self.limits = limits
        self._number, self._closed = 0, False
        self._seconds, self._bytes = limits.total, limits.answers
        self.process = _start()
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def greeting(self) -> Any:
        """The first message, which says whether the lock holds."""
        limits, until = self.limits, monotonic() + self.limits.start
        settings = {"memory": limits.memory, "cpu_seconds": limits.cpu, "locked": LOCKED}
        self._send(frames.encode({"paths": _paths(), **settings}), until)
        return self._receive(until)

    def close(self) -> None:
        """Kill the process and its children, once; not if it has ended, since its id may belong to
        another process."""
        if self._closed:
            return
        self._closed = True
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def ask(self, do: str, seconds: float | None = None, **values: Any) -> Answer:
        """Send a request and return its answer, which is a mapping."""
        self._number += 1
        if select.select([self._out], [], [], 0)[0]:
            raise self._end("it speaks without being asked")
        began = monotonic()
        until = began + min(self._seconds, self.limits.answer if seconds is None else seconds)
        self._send(frames.encode({"do": do, "number": self._number, **values}), until)
        reply = self._receive(until)
        self._seconds -= monotonic() - began
        if not isinstance(reply, dict) or reply.get("number") != self._number:
            raise self._end("an answer to something that was not asked")
        if "fault" in reply:
            raise GameFaultError(one_line(reply["fault"]))
        if not isinstance(reply.get("answer"), dict):
            raise self._end("an answer of the wrong form")
        return reply["answer"]

    def _send(self, frame: bytes, until: float) -> None:
        rest = memoryview(frame)
        while rest:
            ready = select.select([], [self._in], [], max(0.0, until - monotonic()))[1]
            if not ready:
                raise self._end("no answer within its deadline")
            try:
                rest = rest[os.write(self._in, rest) :]
            except OSError:
                raise self._end(self._ending()) from None

    def _receive(self, until: float) -> Any:
        """One message. It may take until then to begin, and then as long as a short answer."""
        head = self._exactly(1, until)
        until = min(until, monotonic() + self.limits.answer)
        size = int.from_bytes(head + self._exactly(frames.LENGTH - 1, until), "big")
        if not 0 < size <= frames.MOST:
            raise self._end(f"an answer of {size} bytes, expected at most {frames.MOST}")
        self._bytes -= size
        if self._bytes < 0:
            raise self._end(f"answers of more than {self.limits.answers} bytes together")
        try:
            return json.loads(self._exactly(size, until), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            raise self._end("an answer that is no JSON") from None

    def _exactly(self, size: int, until: float) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            if not select.select([self._out], [], [], max(0.0, until - monotonic()))[0]:
                raise self._end("no answer within its deadline")
            part = os.read(self._out, size - len(parts))
            if not part:
                raise self._end(self._ending())
            parts += part
        return bytes(parts)

    def _ending(self) -> str:
        """Why the process closed its pipe."""
        with suppress(subprocess.TimeoutExpired):
            code = self.process.wait(1.0)
            if code == -signal.SIGKILL:
                return "its process used more than its processor time or memory"
            if code < 0:
                return f"its process was ended by signal {-code}"
            return f"its process ended with code {code}"
        return "it closed its pipe"

    def _end(self, reason: str) -> GameFaultError:
        """Close the process; returns the fault."""
        self.close()
        return GameFaultError(reason)


def _refuse_constant(text: str) -> float:
    raise ValueError(text)


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", "-c", BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )


@cache
def _paths() -> list[str]:
    """Folders in which the guest finds this package, numpy and gymnasium."""
    files = [Path(str(module.__file__)) for module in (np, gymnasium)]
    roots = [Path(__file__).parents[2], *(file.parents[1] for file in files)]
    return list(dict.fromkeys(str(root.resolve()) for root in roots))
