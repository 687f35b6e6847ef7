"""Commands that programs print for their user, executed as the user would."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

import archive.__main__
import evo.run
import xgl.cli
from evo.runner import Services

COMMAND = re.compile(r"python -m (?:archive|evo|xgl)\b[^`\n]*")


def printed_commands(text: str) -> list[str]:
    """Every command in a text, to the end of its line or of its code."""
    return [command.strip() for command in COMMAND.findall(text)]


def execute(
    command: str,
    services: Services | None = None,
    names: Mapping[str, str] | None = None,
    *more: str,
) -> int:
    """The exit code of a command, taken apart as a shell does; ``names``: what stands for the words
    in capitals that a user replaces; ``more`` words."""
    python, flag, module, *words = shlex.split(command)
    assert (python, flag) == ("python", "-m")
    for name, value in (names or {}).items():
        words = [re.sub(rf"\b{name}\b", value, word) for word in words]
    mains: Mapping[str, Callable[[Sequence[str]], int]] = {
        "archive": archive.__main__.main,
        "evo.run": lambda words: evo.run.main(words, services or Services()),
        "xgl": xgl.cli.main,
    }
    return mains[module]([*words, *more])
