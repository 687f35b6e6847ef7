"""The guest's process: import what games may use, set the limits, lock, and only then serve; and
the messages between host and guest: lines of JSON, never anything executable.

The host starts it without arguments of its own; the first line holds the settings: ``paths`` (of
packages), ``memory`` (bytes), ``cpu_seconds``, ``locked`` (whether to lock; false only for games
that ship).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

BOOT = (
    "import json, sys; settings = json.loads(sys.stdin.buffer.readline()); "
    "sys.path += settings['paths']; from evo.ggbench.guest.main import main; main(settings)"
)
"""The program of ``python -c``, which names no folder of the host."""

STANDARD = (
    "abc array bisect calendar cmath collections copy dataclasses datetime decimal difflib enum "
    "fractions functools graphlib hashlib heapq io itertools json logging math numbers operator "
    "pprint queue random re reprlib statistics string struct textwrap time types typing "
    "unicodedata uuid warnings weakref "
)
"""Modules of the standard library that a game may import, as its author is told. They are imported
before the lock, since no file can be opened after it."""
_OTHERS = (
    "_strptime argparse ast base64 binascii codecs collections.abc contextlib csv "
    "encodings.ascii encodings.latin_1 encodings.utf_8 gc gymnasium gymnasium.core "
    "gymnasium.envs.registration gymnasium.error gymnasium.logger gymnasium.spaces "
    "gymnasium.utils gymnasium.utils.env_checker gymnasium.utils.seeding gymnasium.wrappers "
    "importlib inspect keyword linecache locale numpy numpy.char numpy.dtypes numpy.exceptions "
    "numpy.fft numpy.lib.stride_tricks numpy.linalg numpy.ma numpy.polynomial numpy.random "
    "numpy.rec numpy.strings numpy.testing numpy.typing os os.path pathlib pickle secrets "
    "shutil sys tempfile threading timeit traceback tracemalloc typing_extensions unittest zlib "
    "zoneinfo "
)
"""Others that programs import out of habit, or that those above import late."""


def main(settings: Mapping[str, Any]) -> None:
    """Serve one game until the host closes the stream."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for name in (STANDARD + _OTHERS).split():
        with suppress(ImportError):  # of another version of numpy or gymnasium
            importlib.import_module(name)
    from evo.ggbench.guest import lock, serve

    _forget_host()
    reason = None
    try:
        lock.limit(settings["memory"], settings["cpu_seconds"])
        if settings["locked"]:
            lock.lock()
    except lock.LockError as error:
        reason = str(error)
    send(line({"locked": settings["locked"] and reason is None, "reason": reason}))
    serve.serve()


def _forget_host() -> None:
    """Remove the host's folders from what a program can read without looking for it."""
    sys.path.clear()
    sys.path_importer_cache.clear()
    sys.argv, sys.orig_argv = ["game"], ["game"]
    for name in ("executable", "_base_executable", "_stdlib_dir", "_framework"):
        setattr(sys, name, "")
    sys.prefix = sys.exec_prefix = sys.base_prefix = sys.base_exec_prefix = ""
    for module in [each for each in sys.modules.values() if isinstance(each, ModuleType)]:
        for name in ("__file__", "__cached__", "__path__", "__loader__"):
            vars(module).pop(name, None)
        if spec := vars(module).get("__spec__"):
            spec.origin = spec.loader = spec.cached = spec.submodule_search_locations = None


# -- messages --------------------------------------------------------------------------------------

MOST = 1 << 20
"""Bytes of an answer; what the host sends, such as a policy, may be longer."""
MOST_TEXT, MOST_PLAYER = 20_000, 200
"""Characters of a board or an error, and of a player's name."""


def line(message: object, most: int | None = None) -> bytes:
    """The bytes of a message. Raises ValueError if it is no JSON, or longer than ``most`` bytes."""
    content = json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    if most is not None and len(content) > most:
        raise ValueError(f"an answer of {len(content)} bytes, expected at most {most}")
    return content


def send(content: bytes) -> None:
    """Answer the host."""
    while content:
        content = content[os.write(1, content) :]
