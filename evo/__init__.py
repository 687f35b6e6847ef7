"""The search: scope growth on language models (Algorithm 1), and what it needs to run."""

from __future__ import annotations

from typing import Any

__all__ = ["__version__"]


def __getattr__(name: str) -> Any:
    """Loaded when it is asked for: ``python -m evo.run --help`` needs nothing of it."""
    if name == "__version__":
        from xgl.version import __version__

        return __version__
    raise AttributeError(f"module 'evo' has no attribute {name!r}")
