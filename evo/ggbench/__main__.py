"""``python -m evo.ggbench``: look at games that are programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from evo.ggbench.filters import filtered
from evo.ggbench.game import find
from xgl.errors import ConfigError

USAGE = """usage: python -m evo.ggbench check GAME

check   the filters of a game, one line each
GAME is the name of a game that ships, or a folder with rules.md, env.py and moves.md."""


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 0, 1 for a game that is refused, 2 for a user's error."""
    match arguments:
        case ["check", name]:
            return _in_one_sentence(name)
        case ["-h" | "--help"]:
            print(USAGE)
            return 0
    print(USAGE, file=sys.stderr)
    return 2


def _in_one_sentence(name: str) -> int:
    try:
        return check(name, Console())
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def check(name: str, console: Console) -> int:
    """Show a game's verdicts; 1 where one refuses it."""
    verdicts = filtered(find(name))
    table = Table("filter", "verdict", "reason", "seconds")
    for each in verdicts:
        verdict = "passed" if each.passed else "refused"
        table.add_row(each.stage, verdict, each.reason, f"{each.seconds:.1f}")
    console.print(table)
    return 0 if all(each.passed for each in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
