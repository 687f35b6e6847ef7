"""Thresholds of narms (Def. 42) from the base player's repeated plays in the archive."""

from __future__ import annotations

from typing import Any

from archive.store import Archive


def base_thresholds(
    archive: Archive, run_id: str, game_id: str, role: str
) -> dict[str, Any] | None:
    return None
