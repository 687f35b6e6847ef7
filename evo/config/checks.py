"""What a value of the configuration may be: each check names the key, what was found and what
would be right."""

from __future__ import annotations

import os
from pathlib import Path

from xgl.errors import ConfigError


def one_of(path: str, found: str, known: tuple[str, ...]) -> None:
    if found not in known:
        raise ConfigError(f"{path}: found {found!r}, expected {' or '.join(known)}")


def at_least(path: str, found: float, least: float) -> None:
    if not found >= least:
        raise ConfigError(f"{path}: found {found}, expected at least {least}")


def above(path: str, found: float, bound: float) -> None:
    if not found > bound:
        raise ConfigError(f"{path}: found {found}, expected more than {bound}")


def between(path: str, found: float, low: float, high: float) -> None:
    if not low < found < high:
        raise ConfigError(f"{path}: found {found}, expected a number between {low} and {high}")


def run_identity(seed: int, name: str) -> None:
    """The seed and the folder's name of a run."""
    if not 0 <= seed < 2**63:
        raise ConfigError(f"seed: found {seed}, expected at least 0 and less than 2^63")
    plain = Path(name).name == name and name not in ("", ".", "..")
    if not plain or len(os.fsencode(name)) > 255:
        raise ConfigError(f"name: found {name!r}, expected the name of a new folder")


def coverage(path: str, against: str, max_accepts: int | None) -> None:
    """Which games γ looks at, and that lists end where it looks at the scope alone."""
    one_of(f"{path}.coverage_against", against, ("scope_and_pending", "scope"))
    if against == "scope" and max_accepts is None:
        raise ConfigError(
            f"{path}.max_accepts_per_parent: found null, expected a number, because with "
            f"{path}.coverage_against=scope nothing else ends a parent's list"
        )
