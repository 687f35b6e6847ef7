"""Which games are exported: a smallest η-cover of the newest scope, or all of it."""

from __future__ import annotations

from archive.errors import ExportError
from archive.export.exported import Chosen
from archive.query import newest_scope
from archive.store import Archive


def choose(archive: Archive, run_id: str, eta: float | None, definition: str | None) -> Chosen:
    generation, members = newest_scope(archive, run_id)
    covers = {(m.game_id, m.role): (m.game_id,) for m in members}
    return Chosen(run_id, generation, eta, None, definition or "captured", covers)
