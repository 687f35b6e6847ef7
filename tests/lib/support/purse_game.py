"""A small game that does not ship: 745 positions, and the second player wins."""

from __future__ import annotations

from pathlib import Path

from evo.ggbench.game import find

PURSE_FOLDER = Path(__file__).parent / "purse"
PURSE = find(str(PURSE_FOLDER))
