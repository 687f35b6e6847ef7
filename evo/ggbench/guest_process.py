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

PROGRAM = Path(__file__).parent / "guest" / "main.py"
LOCKED = True
"""Tests set it to False."""


@dataclass(frozen=True)
class BoxLimits:
    """Limits of one game, in seconds: to start, for an answer, total, and of processor time;
    ``memory`` in bytes of address space."""

    start: float = 60.0
    answer: float = 5.0
    total: float = 600.0
    cpu: int = 600
    memory: int = 1 << 30
    most_moves: int = 100
    """After which a game ends undecided."""


LIMITS = BoxLimits()


class GuestProcess:
    """Started with the object; it ends with the thread that began it."""

    def __init__(self, limits: BoxLimits) -> None:
        self.limits = limits
        self._number, self._until = 0, monotonic() + limits.start
        self._closed = False
        self.process = _start(limits)
        assert self.process.stdin
        assert self.process.stdout
        self._in, self._out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def greeting(self) -> Any:
        """The first message, which says whether the lock holds; from here the game's time runs."""
        hello = self._receive(self._until - monotonic())
        self._until = monotonic() + self.limits.total
        return hello

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
        until = monotonic() + (self.limits.answer if seconds is None else seconds)
        until = min(until, self._until)
        self._send(frames.encode({"do": do, "number": self._number, **values}), until)
        reply = self._receive(until - monotonic())
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

    def _receive(self, seconds: float) -> Any:
        """One message, within ``seconds``."""
        until = monotonic() + seconds
        size = int.from_bytes(self._exactly(frames.LENGTH, until), "big")
        if not 0 < size <= frames.MOST:
            raise self._end(f"an answer of {size} bytes, expected at most {frames.MOST}")
        body = self._exactly(size, until)
        try:
            return json.loads(body, parse_constant=_refuse_constant)
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


def _start(limits: BoxLimits) -> subprocess.Popen[bytes]:
    settings = {
        "paths": _paths(),
        "memory": limits.memory,
        "cpu_seconds": limits.cpu,
        "locked": LOCKED,
    }
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-B", str(PROGRAM), json.dumps(settings)],
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
