"""Runs from Python: the same as ``python -m evo.run``, with a mapping of settings instead of words.

Runner, validation and folder are the same; the result is the run, to be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from archive.notebook import chosen_backend
from evo.config.words import value_word
from evo.record.ledger import Callback
from evo.run import experiments, silence_libraries
from evo.runner import EXPERIMENT, CommandLine, Services, complete
from evo.trained import Run
from xgl.console import Console

_SETTING = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
Settings = Mapping[str, object]
"""Values by key; keys are dotted (``growth.alpha1``) or nested (``{"growth": {"alpha1": …}}``)."""


def grow(
    settings: Settings | None = None,
    callbacks: Sequence[Callback] = (),
    *,
    quiet: bool = False,
    backend: str | None = None,
) -> Run:
    """Do a run to its end or to its budget; returns the run, to be read.

    ``settings`` are those of the command line (docs/reference/configuration.md); the default of
    ``experiment`` is ``scope_growth``. Each of ``callbacks`` is called with the table and each row
    of ``finetunes``, ``decisions`` and ``scopes`` in this process after its commit; results do not
    depend on them. ``quiet``: print nothing. ``backend``: of the data frames, see :meth:`Run.open`.

    Raises the errors that the command line shows in one sentence, such as
    :class:`xgl.errors.ConfigError`, before anything is written. An exception that ends a run early,
    such as ``KeyboardInterrupt`` or an error of a callback, is raised after the last commit;
    :func:`resume` continues the run.
    """
    words = tuple(overrides({EXPERIMENT: "scope_growth", **(settings or {})}))
    return _run(words, None, callbacks, quiet, backend)


def resume(
    folder: str | Path,
    settings: Settings | None = None,
    callbacks: Sequence[Callback] = (),
    *,
    quiet: bool = False,
    backend: str | None = None,
) -> Run:
    """Continue the run in a run folder, as :func:`grow` does.

    ``settings`` may change only settings that earlier results do not depend on: cluster, budget,
    growth.generations, growth.max_accepted, judge.second.
    """
    words = tuple(overrides(settings or {}))
    return _run(words, str(folder), callbacks, quiet, backend)


def _run(
    words: tuple[str, ...],
    folder: str | None,
    callbacks: Sequence[Callback],
    quiet: bool,
    backend: str | None,
) -> Run:
    frames = chosen_backend(backend)  # before hours of work
    silence_libraries()
    names = (word.partition("=")[2] for word in words if word.startswith("+experiment="))
    command = CommandLine(next(names, None), folder, words)
    services = Services(console=Console(quiet=quiet), callbacks=tuple(callbacks))
    ended_folder, outcome = complete(command, experiments(), services)
    if outcome.error is not None and outcome.exit_code:
        raise outcome.error
    return Run.open(ended_folder, backend=frames)


def overrides(settings: Settings, path: str = "") -> Iterator[str]:
    """Settings as words of a command line. Raises :class:`ConfigError` for a value of a kind that
    no setting has."""
    for name, value in settings.items():
        key = f"{path}{name}"
        if isinstance(value, Mapping) and all(_SETTING.fullmatch(str(each)) for each in value):
            yield from overrides(value, f"{key}.")
        elif key == EXPERIMENT:
            yield f"+{key}={value}"
        else:
            yield f"{key}={value_word(key, value)}"
