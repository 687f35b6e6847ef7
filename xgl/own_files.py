"""Files that this user wrote on this machine, by the hash of their content.

An archive, a measure or an adapter names models, addresses and variables with keys. What a stranger
put there is used only if the user names it too; in a file that this user wrote, the user has. The
hashes are empty files below ``$XDG_STATE_HOME/xgl`` (``~/.local/state/xgl``), where only this user
writes, so that a copied or moved file stays known and no file can claim to be.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

BUILT_IN = ("embedded", "smollm2")
"""References to models whose weights this project ships or pins by hash."""


def remember(content: str | bytes) -> None:
    """This user has written ``content``. Where no state can be kept, it is not remembered."""
    with suppress(OSError, RuntimeError):  # RuntimeError: there is no home
        place = _place(content)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.touch()


def wrote(content: str | bytes) -> bool:
    """Whether this user has written ``content``."""
    with suppress(OSError, RuntimeError):
        return _place(content).exists()
    return False


def may_use(reference: str, content: str | bytes, named: str | None = None) -> bool:
    """Whether a model that a file of this ``content`` names may be loaded or asked; ``named`` is
    what the user has named."""
    return reference in (*BUILT_IN, named) or wrote(content)


def _place(content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "xgl" / "written" / hashlib.sha256(data).hexdigest()
