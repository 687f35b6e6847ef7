"""Paths as people type them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from xgl.errors import ConfigError

_UNKNOWN = re.compile(r"^~[^/]*|\$\w+|\$\{[^}]*\}")
"""What stays of a home folder or a variable that does not exist."""


def user_path(path: str | os.PathLike[str]) -> Path:
    """A path with ``~`` and ``$VARIABLES`` as in a shell, which replaces none in quotes, in a file
    or after ``=``. Raises ConfigError for an unknown user or variable, unless such a file exists.
    """
    text = os.fspath(path)
    replaced = os.path.expanduser(os.path.expandvars(text))
    if (unknown := _UNKNOWN.search(replaced)) and not os.path.lexists(text):
        raise ConfigError(f"{text}: {unknown[0]} is not known here, expected a path")
    result = Path(replaced)
    return result.absolute() if str(result).startswith("~") else result  # ./~ is no home
