"""What holds for every test."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator

# Two processes share two cores; to be said before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

# Dozens of processes import the same modules: they are compiled once, whoever starts the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

settings.register_profile("patient", deadline=None)  # how long an example takes proves nothing
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def no_fsync() -> Iterator[None]:
    """Flushing a disk protects from a loss of power, which no test in this process brings about,
    and a run that commits a hundred times would wait for it half of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Modules and tests are no garbage: to look at all of them, as is done whenever memory is out,
    took longer than what is tested."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()
