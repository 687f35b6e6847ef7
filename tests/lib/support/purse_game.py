"""A small game that does not ship: 745 positions, and the second player wins."""

from __future__ import annotations

from pathlib import Path

from evo.ggbench.game import find_all

PURSE_FOLDER = Path(__file__).parent / "purse"
[PURSE] = find_all(str(PURSE_FOLDER))
