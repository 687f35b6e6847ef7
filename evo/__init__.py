"""The search: scope growth on language models, and what it needs to run.

>>> import evo
>>> run = evo.grow({"seed": 3, "growth.max_candidates": 4})  # doctest: +SKIP
>>> evo.Run.open("runs/scope_growth-seed0").decisions()      # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evo.api import Run, grow, resume
    from xgl.version import __version__

__all__ = ["Run", "__version__", "grow", "resume"]


def __getattr__(name: str) -> Any:
    """Load a public name on first use: ``python -m evo.run --help`` needs none, and reading a run
    needs fewer packages than doing one. Raises ModuleNotFoundError that says what to install."""
    if name not in __all__:
        raise AttributeError(f"module 'evo' has no attribute {name!r}")
    try:
        return getattr(import_module("xgl.version" if name == "__version__" else "evo.api"), name)
    except ModuleNotFoundError as error:
        from xgl.errors import missing_package

        if (message := missing_package(error)) is None:
            raise
        raise ModuleNotFoundError(message, name=error.name) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
