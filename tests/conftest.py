"""What holds for every test."""

from __future__ import annotations

import gc
import os
import ssl
import sys
from collections.abc import Generator, Iterator
from functools import cache

# Two processes share two cores; to be said before torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No test needs the model hub, and each name that is none would be asked for there five times.
os.environ["HF_HUB_OFFLINE"] = "1"
# Ray's workers give way to other processes: beside other tests they would hardly get to work.
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112
# Servers of tests are in this process, whatever proxy the machine has.
os.environ["NO_PROXY"] = "127.0.0.1"

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


@pytest.fixture(scope="session", autouse=True)
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the tests write is theirs, and not that of whoever starts them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def short_back_off() -> Iterator[None]:
    """Servers of tests are ready for the next request at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xgl.chat.client.FIRST_BACKOFF", 0.001)
        yield


@pytest.fixture(scope="session", autouse=True)
def one_ssl_context() -> Iterator[None]:
    """Each client of an endpoint would read the certificates of the machine again, and hundreds of
    clients are made here, for servers in this process that have none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
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


@pytest.fixture(scope="module", autouse=True)
def frozen_heap() -> None:
    """What modules imported is not searched for garbage again: a twelfth of the tests' time went
    into that. What earlier tests left is collected first."""
    gc.collect()
    gc.freeze()
