"""Which games are exported: the smallest η-cover of the newest scope, or all of it."""

from __future__ import annotations

from archive.errors import CoverError, ExportError
from archive.export.exported import Chosen
from archive.query import deciding_value, newest_scope, run_config
from archive.schema import Definition
from archive.statistics.plays import read_run_plays
from archive.statistics.scope_cover import CoverQuestion, scope_cover
from archive.store.archive import Archive


def choose(
    archive: Archive,
    run_id: str,
    eta: float | None = None,
    definition: Definition | None = None,
    skip_unplayable: bool = False,
) -> Chosen:
    """The optimal cover at `eta` by the run's own value and gain; without `eta` every game of the
    newest scope, each covering itself.

    Raises ExportError for an η that is no positive number or out of reach, naming the largest;
    LookupFailedError where the run has no scope.
    """
    generation, members = newest_scope(archive, run_id)
    scope = [member.task_id for member in members]
    usual, gain = deciding_value(run_config(archive, run_id))
    wanted = definition or usual
    if eta is None:
        return Chosen(
            run_id,
            generation,
            None,
            None,
            wanted,
            {each: (each.game_id,) for each in scope},
        )
    if not eta > 0:
        raise ExportError(f"--eta: found {eta:g}, expected a number above 0, such as 0.3")
    question = CoverQuestion(eta, wanted, gain, skip_unplayable=skip_unplayable)
    try:
        found = scope_cover(read_run_plays(archive, run_id), scope, question)
    except CoverError as error:
        raise ExportError(f"--eta: {error}") from error
    covers = {
        found.matrix.sources[member]: tuple(task_id.game_id for task_id in covered)
        for member, covered in zip(found.cover.members, found.covers, strict=True)
    }
    delta = None if found.skipped else found.cover.delta
    return Chosen(run_id, generation, eta, delta, wanted, covers)
