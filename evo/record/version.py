"""Which version of this code writes a row."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def code_version() -> str | None:
    """None where the package is not installed."""
    try:
        return version("xent-evo")
    except PackageNotFoundError:
        return None
