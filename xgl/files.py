"""Files: paths as people type them; what others wrote, read within bounds (regular files of a
bounded size, JSON of bounded depth); ours, which appear whole or not at all.

Those that this user wrote on this machine are known by the hash of their content. An archive, a
measure or an adapter names models, addresses and variables with keys. What a stranger put there is
used only if the user names it too; in a file that this user wrote, the user has. The hashes are
empty files below ``$XDG_STATE_HOME/xgl`` (``~/.local/state/xgl``), where only this user writes, so
that a copied or moved file stays known and no file can claim to be.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from xgl.errors import ConfigError, check_kind

_UNKNOWN = re.compile(r"^~[^/]*|\$\w+|\$\{[^}]*\}")
"""What stays of a home folder or a variable that does not exist."""


def user_path(path: str | os.PathLike[str]) -> Path:
    """A path with ``~`` and ``$VARIABLES`` as in a shell, which replaces none in quotes, in a file
    or after ``=``. Raises ConfigError for an unknown user or variable, unless such a file exists.
    """
    check_kind("path", path, (str, os.PathLike), "a path")
    text = os.fspath(path)
    replaced = os.path.expanduser(os.path.expandvars(text))
    if (unknown := _UNKNOWN.search(replaced)) and not os.path.lexists(text):
        raise ConfigError(f"{text}: {unknown[0]} is not known here, expected a path")
    result = Path(replaced)
    return result.absolute() if str(result).startswith("~") else result  # ./~ is no home


MOST_BYTES = 64 << 20
"""Bytes of one text file, and of one JSON text."""
MOST_DEPTH = 64
"""Lists and objects within each other in JSON; ours has at most ten."""


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError if it is none, is longer than ``MOST_BYTES``, or
    is nested more than ``MOST_DEPTH`` deep."""
    if len(text) > MOST_BYTES:
        raise ValueError(f"{len(text):,} characters of JSON, at most {MOST_BYTES:,} are read")
    with suppress(RecursionError):
        level = [value := json.loads(text)]
        for _ in range(MOST_DEPTH):  # iteratively: whoever walks the value may recurse
            level = [
                item
                for each in level
                if isinstance(each, list | dict)
                for item in (each.values() if isinstance(each, dict) else each)
            ]
            if not level:
                return value
    raise ValueError(f"JSON nested more than {MOST_DEPTH} deep")


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def read_bytes(path: Path, most: int = MOST_BYTES, within: Path | None = None) -> bytes:
    """The content of a file. Raises OSError also for what is no regular file (a pipe or a device
    may never end), for more than ``most`` bytes, and for a path that leads out of the folder
    ``within``."""
    if within is not None and not is_inside(path, within):
        raise OSError(errno.EXDEV, f"leads out of {within}", str(path))
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        if status.st_size > most:
            problem = f"has {status.st_size:,} bytes, at most {most:,} are read"
            raise OSError(errno.EINVAL, problem, str(path))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)


TEMPORARY = ".tmp"


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Writes `path` so that it holds all of `content`, or is as it was before. Raises OSError."""
    aside = path.with_name(path.name + TEMPORARY)
    try:
        # A killed writer may have left one, or a stranger a link: what it leads to is not touched.
        aside.unlink(missing_ok=True)
        with aside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Writes a text to a file that a user names: whole, with the permissions of the file that was
    there, whatever link leads to it; or to a device or a pipe. Raises OSError that names it."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = Path(os.path.realpath(path))  # resolve() raises RuntimeError for a circle of links
        mode = target.stat().st_mode if target.exists() else None
        write_whole(target, text.encode())
        if mode is not None:
            target.chmod(mode)
    except OSError as error:
        error.filename = str(path)
        raise


def flush_folder(folder: Path) -> None:
    """Makes the names in `folder` survive a power cut. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


BUILT_IN = ("embedded", "smollm2")
"""References to models whose weights this project ships or pins by hash."""


def remember(content: str | bytes) -> None:
    """This user has written ``content``. Where no state can be kept, it is not remembered."""
    with suppress(OSError, RuntimeError):  # RuntimeError: there is no home
        place = _place(content)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.touch()


def wrote(content: str | bytes) -> bool:
    """Whether this user has written ``content``."""
    with suppress(OSError, RuntimeError):
        return _place(content).exists()
    return False


def may_use(reference: str, content: str | bytes, named: str | None = None) -> bool:
    """Whether a model that a file of this ``content`` names may be loaded or asked; ``named`` is
    what the user has named."""
    return reference in (*BUILT_IN, named) or wrote(content)


def not_yours(path: object, what: str, way: str) -> str:
    """Why ``what`` a stranger's file names is not used; ``way``: how the user names it too."""
    return f"{path} was not written by you on this machine and names {what}; to use it, {way}"


def _place(content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "xgl" / "written" / hashlib.sha256(data).hexdigest()
