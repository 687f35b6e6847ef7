"""The guest's process: import what games may use, set the limits, lock, and only then serve.

Started as ``python -I -S main.py SETTINGS``, where SETTINGS is JSON: ``paths`` (of packages),
``memory`` (bytes), ``cpu_seconds``, ``locked`` (whether to lock; false only for games that ship).
"""

from __future__ import annotations

import importlib
import json
import os
import sys

STANDARD = (
    *("abc", "bisect", "codecs", "collections", "collections.abc", "contextlib", "copy"),
    *("dataclasses", "enum", "functools", "heapq", "io", "itertools", "json", "math", "numbers"),
    *("operator", "pprint", "random", "re", "statistics", "string", "textwrap", "time", "types"),
    *("typing", "warnings", "encodings.ascii", "encodings.latin_1", "encodings.utf_8"),
)
"""Modules that a game may import; they are imported before the lock, since no file can be opened
after it."""
INSTALLED = ("numpy", "numpy.random", "numpy.linalg", "gymnasium", "gymnasium.spaces")


def main() -> None:
    """Serve one game until the host closes the stream."""
    wanted = json.loads(sys.argv[1])
    sys.path += wanted["paths"]
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for name in (*STANDARD, *INSTALLED):
        importlib.import_module(name)
    from evo.ggbench.guest import frames, lock, serve

    sys.path.clear()
    reason = None
    try:
        lock.limit(wanted["memory"], wanted["cpu_seconds"])
        if wanted["locked"]:
            lock.lock()
    except lock.LockError as error:
        reason = str(error)
    frames.write(1, {"locked": wanted["locked"] and reason is None, "reason": reason})
    serve.serve()


if __name__ == "__main__":
    main()
