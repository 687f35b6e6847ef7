"""One writer for each archive: a lock that the kernel drops when its process dies."""

from __future__ import annotations

import fcntl
import os
import socket
from io import TextIOWrapper
from pathlib import Path

from archive.errors import LockedError
from archive.store.disk import writing

LOCK = "lock"


def acquire(folder: Path) -> TextIOWrapper:
    """The open lock file of the archive in `folder`; closing it releases the lock.

    Raises LockedError, naming the holder's process, and WriteError where the folder cannot be
    written.
    """
    path = folder / LOCK
    with writing(path):
        file = path.open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with file:
                file.seek(0)
                holder = file.read().strip() or "unknown"
            raise LockedError(
                f"{folder} is locked: found a writer (process {holder}), expected none"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()} on {socket.gethostname()}\n")
        file.flush()
    return file
