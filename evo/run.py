"""The entry: ``python -m evo.run +experiment=scope_growth [key=value …]``, or ``resume=RUN``.

Everything is composed and validated before anything is written or loaded.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from evo.config import BY_NAME, EXPERIMENTS

if TYPE_CHECKING:
    from evo.runner import Services

_RESUME = "resume=RUN_FOLDER [growth.max_accepted=N] [budget.key=value …] [cluster.key=value …]"
_KEYS_AND_FLAGS = """useful keys: model=smollm2  seed=N  name=NAME  growth.initial_scope=[FILE,…]
             growth.max_accepted=N  growth.max_candidates=N  cluster.workers=N
             budget.tokens=N  budget.seconds=N  budget.dollars=N
All keys: python -m evo.config
flags:       --cfg job shows the composed configuration; --version"""


def usage() -> str:
    """How the command is typed: a line for each experiment, what each is, keys and flags."""
    words = [*(f"+experiment={each.name} {each.usage}" for each in EXPERIMENTS), _RESUME]
    commands = "\n       ".join(f"python -m evo.run {each}" for each in words)
    meanings = ";\n             ".join(f"{each.name}: {each.meaning}" for each in EXPERIMENTS)
    return f"usage: {commands}\n\nexperiments: {meanings}\n{_KEYS_AND_FLAGS}"


def main(arguments: Sequence[str] | None = None, services: Services | None = None) -> int:
    """Run; returns the exit code, see :func:`evo.runner.run`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    needs_help = not words or bool({"-h", "--help"} & set(words))
    if needs_help:
        with suppress(OSError):  # then said below
            return _show_usage(words)
    from xgl.streams import exit_code  # loads the language, which help does not need

    return exit_code(lambda: _show_usage(words) if needs_help else _main(words, services))


def _show_usage(words: Sequence[str]) -> int:
    print(usage(), file=sys.stdout if words else sys.stderr, flush=True)
    return 0 if words else 2


def _main(arguments: list[str], services: Services | None) -> int:
    from xgl.streams import prepare_streams
    from xgl.version import __version__

    if "--version" in arguments:
        print(f"xent-evo {__version__}")
        return 0
    prepare_streams()
    silence_libraries()
    from evo import runner

    return runner.run(arguments, BY_NAME, services or runner.Services())


def silence_libraries() -> None:
    """Banners and advice of libraries do not belong on the display."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", category=FutureWarning, module="ray")


if __name__ == "__main__":
    sys.exit(main())
