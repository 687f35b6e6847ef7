"""Runs from Python: the same as ``python -m evo.run``, with a mapping of settings instead of words.

Runner, validation and folder are the same; the result is the run, to be read, with its trained
players. Reading one needs fewer packages than doing one: those are loaded where they are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archive.errors import LookupFailedError
from archive.notebook import Run as ReadRun, chosen_backend
from evo.config import BY_NAME
from xgl.errors import ConfigError, check_kind
from xgl.models.references import AdapterName
from xgl.runtime.requests import Player

if TYPE_CHECKING:
    from evo.record.ledger import Callback
    from xgl.runtime.requests import Judge

_SETTING = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
Settings = Mapping[str, object]
"""Values by key; keys are dotted (``growth.alpha1``) or nested (``{"growth": {"alpha1": …}}``)."""


class Run(ReadRun):
    """One run of an archive, and the players that it trained."""

    def player(
        self, game: str, judge: Judge | None = None, *, model: str = "", device: str = "cpu"
    ) -> Player:
        """The player that was trained on a game (``id:role`` where it was in several roles), by the
        fine-tune that stands for it: something that plays, for :func:`xgl.play` and in a cast. Its
        weights are loaded at each call.

        ``judge``: counts the tokens of moves, where its tokenizer is not the player's. ``model``:
        the base, to be named for a run that another user began. Raises
        :class:`archive.ArchiveError` for a game without a fine-tune, and
        :class:`~xgl.errors.ConfigError`.
        """
        from evo.jobs.lora import AdaptedModel  # torch, which reading needs not
        from evo.jobs.merged import adapter_of
        from xgl.judge.loading import load_model
        from xgl.lm.sampling import Decoding
        from xgl.players.local import LocalPolicy

        ids = self.read.policies.get(self.read.find_task(game), ())
        if not ids:
            raise LookupFailedError(f"{game}: found no fine-tune of it, expected a trained game")
        _, adapter, settings = adapter_of(AdapterName(str(self.folder), ids[0], model=model))
        lm = load_model(settings.model, "float32", device)
        AdaptedModel(lm, settings).merge(adapter)
        count = None if judge is None else judge.count
        return LocalPolicy(lm, Decoding(settings.temperature), count=count)


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
    of ``finetunes``, ``curricula``, ``decisions`` and ``scopes`` in this process after its commit;
    results do not depend on them. ``quiet``: print nothing. ``backend``: of the data frames, see
    :meth:`Run.open`.

    Raises the errors that the command line shows in one sentence, such as
    :class:`xgl.errors.ConfigError`, before anything is written. An exception that ends a run early,
    such as ``KeyboardInterrupt`` or an error of a callback, is raised after the last commit;
    :func:`resume` continues the run.
    """
    check_kind("settings", settings or {}, Mapping, "a mapping of settings")
    words = overrides({"experiment": "scope_growth", **(settings or {})})
    return _run([*words], callbacks, quiet, backend)


def resume(
    folder: str | Path,
    settings: Settings | None = None,
    callbacks: Sequence[Callback] = (),
    *,
    quiet: bool = False,
    backend: str | None = None,
) -> Run:
    """Continue the run in a run folder, as :func:`grow` does. ``settings`` may change only settings
    that earlier results do not depend on: those marked ↻ by ``python -m evo.config``."""
    check_kind("settings", settings or {}, Mapping, "a mapping of settings")
    return _run([f"resume={folder}", *overrides(settings or {})], callbacks, quiet, backend)


def _run(
    words: Sequence[str], callbacks: Sequence[Callback], quiet: bool, backend: str | None
) -> Run:
    from evo.run import silence_libraries
    from evo.runner import Services, complete, parse_command
    from xgl.console import Console

    frames = chosen_backend(backend)  # before hours of work
    if not (isinstance(callbacks, Sequence) and all(map(callable, callbacks))):
        raise ConfigError(f"callbacks: found {callbacks!r}, expected a list of functions")
    silence_libraries()
    services = Services(console=Console(quiet=quiet), callbacks=tuple(callbacks))
    folder, outcome = complete(parse_command(words), BY_NAME, services)
    if outcome.error is not None and outcome.exit_code:
        raise outcome.error
    return Run.open(folder, backend=frames)


def overrides(settings: Settings, path: str = "") -> Iterator[str]:
    """Settings as words of a command line. Raises :class:`ConfigError` for a value of a kind that
    no setting has."""
    from evo.config.compose import value_word

    for name, value in settings.items():
        key = f"{path}{name}"
        if isinstance(value, Mapping) and all(_SETTING.fullmatch(str(each)) for each in value):
            yield from overrides(value, f"{key}.")
        elif key == "experiment":
            yield f"+{key}={value}"
        else:
            yield f"{key}={value_word(key, value)}"
