"""Jobs whose process is killed; a module of their own, which a new process imports at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def dies_once(marker: Path, value: int) -> int:
    """Its process is killed the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return value


def dies(value: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return value
