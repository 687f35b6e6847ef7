"""Out of memory halves a batch; nothing else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest
import torch

from xgl.lm.language_model import LanguageModel
from xgl.lm.memory import few_threads, retry_in_halves


def squares(room: int) -> tuple[list[int], object]:
    sizes: list[int] = []

    def run(batch: Sequence[int]) -> list[int]:
        sizes.append(len(batch))
        if len(batch) > room:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return [number * number for number in batch]

    return sizes, run


@pytest.mark.parametrize(("room", "attempts"), [(7, [7]), (3, [7, 3, 4, 2, 2]), (1, None)])
def test_halves_until_it_fits_and_keeps_the_order(room: int, attempts: list[int] | None) -> None:
    sizes, run = squares(room)
    assert retry_in_halves(run, range(7), "numbers") == [n * n for n in range(7)]
    assert attempts is None or sizes == attempts


def test_one_item_that_does_not_fit_raises() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        retry_in_halves(squares(0)[1], [1, 2], "numbers")


def test_other_errors_pass_through() -> None:
    def run(batch: Sequence[int]) -> list[int]:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        retry_in_halves(run, [1, 2], "numbers")


@pytest.mark.long
def test_what_a_cpu_says_when_it_has_no_memory_is_understood() -> None:
    """A real refusal of the allocator, under a limit on the process's address space."""
    script = (
        "import resource, torch\n"
        "from xgl.lm.memory import retry_in_halves\n"
        "def run(batch): return [float(x) for x in torch.ones(len(batch), 1 << 26).sum(1)]\n"
        "torch.ones(1 << 20).sum()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20),) * 2)\n"
        "print(retry_in_halves(run, range(8), 'rows'))\n"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert process.stdout.strip() == str([float(1 << 26)] * 8), process.stderr
    assert "out of memory at 8 rows" in process.stderr


@pytest.mark.parametrize(("parameters", "threads"), [(1000, 1), (20_000_000, 2)])
def test_a_small_model_computes_on_one_thread(parameters: int, threads: int) -> None:
    model = torch.nn.Linear(parameters, 1, bias=False, device="meta")
    lm = LanguageModel(model, None, torch.device("cpu"))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with few_threads(lm):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
