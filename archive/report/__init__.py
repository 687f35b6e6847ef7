"""A run as one page: gathered from the archive's rows, drawn as SVG, written as one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from archive.store.archive import Archive

__all__ = ["write_report"]


def write_report(
    archive: Archive,
    run_id: str | None,
    path: str | Path,
    *,
    force: bool = False,
    judge: bool = True,
    measured: Sequence[Archive] = (),
) -> int:
    """Writes the report of a run (default: the last touched) and returns its size in bytes.

    ``judge``: ask the run's judge for the bits of each token of the best plays; without it they
    stand as plain text. ``force``: replace a file that exists. ``measured``: archives of models
    measured on what the run exported.

    Raises WriteError, LookupFailedError and DamagedError; then nothing is written.
    """
    from archive.report.gathering import gather
    from archive.report.heat import with_heat
    from archive.report.page import page
    from archive.report.writing import require_free, write

    path = Path(path)
    require_free(path, force)
    report = gather(archive, run_id, measured)
    text = page(with_heat(report) if judge else report)
    write(path, text)
    return len(text.encode())
