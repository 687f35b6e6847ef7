"""How well a judge decides statements that no function decides: 62 true ones and 62 false ones.

Each subject has an end that makes a true statement and one that makes a false one, so that what the
judge thinks of a subject alone tells nothing. A game with an ``ensure`` of such a statement is
played by the judge's verdicts, good or bad (paper §2.4.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from xgl.errors import JudgeError, OversizeError
from xgl.runtime.requests import TruthRequest

if TYPE_CHECKING:  # which loads torch
    from xgl.judge.transformer_judge import TransformerJudge

CHANCE = 0.6
"""A judge with a lower bound of the area up to here decides near chance."""
RESAMPLES = 2000
Pairs = Sequence[tuple[str, str]]


def statement_pairs() -> list[tuple[str, str]]:
    """The committed statements: of each subject a true one and a false one."""
    text = files("xgl.judge").joinpath("statements.txt").read_text(encoding="utf-8")
    lines = [line.split(" | ") for line in text.splitlines() if not line.startswith("#")]
    return [(f"{subject} {true}", f"{subject} {false}") for subject, true, false in lines]


class Reliability(NamedTuple):
    """Verdicts of a judge on ``pairs`` of statements: how many true ones it calls true, and false
    ones false.

    ``area``: that under the ROC curve of its margins, the probability that a true statement has a
    larger margin than a false one, 0.5 by chance; ``low`` and ``high``: 95 % bounds over the pairs.
    """

    pairs: int
    called_true: int
    called_false: int
    area: float
    low: float
    high: float


def reliability(judge: TransformerJudge, pairs: Pairs | None = None) -> Reliability:
    """Measure a judge on pairs of statements, by default the committed ones. Raises JudgeError if
    one does not fit its window."""
    pairs = statement_pairs() if pairs is None else pairs
    found = judge.margins([TruthRequest(each, named=each) for pair in pairs for each in pair])
    if wrong := next((each for each in found if isinstance(each, OversizeError)), None):
        raise JudgeError(f"a statement does not fit the judge: {wrong}")
    margins = np.array(found, np.float64).reshape(-1, 2)
    draws = np.random.default_rng(0).integers(len(margins), size=(RESAMPLES, len(margins)))
    low, high = np.quantile([_area(margins[draw]) for draw in draws], (0.025, 0.975))
    true, false = (margins > 0).T
    return Reliability(
        len(margins), int(true.sum()), int((~false).sum()), _area(margins), float(low), float(high)
    )


def _area(margins: NDArray[np.float64]) -> float:
    """Of margins (pairs, 2): true statements against false ones, ties half."""
    true, false = margins[:, 0, None], margins[None, :, 1]
    return float(np.mean((true > false) + 0.5 * (true == false)))
