"""η-covers of a scope: the fewest games that teach all others, and of those the best (Def. 45).

``values`` (candidates, targets) float64 throughout: V of Def. 37 or the captured fraction C, NaN if
a value is missing and −inf if it is known to be undefined. Δ_Γ(Σ) = min over the targets of max
over Γ. A missing value is not 0: for :func:`best_cover` it covers nothing, so that the result is a
cover whatever the missing values are, but perhaps not the smallest.

Both the number of games and Δ come from 0–1 programs, solved and proved by HiGHS:
Huangfu, Q. and Hall, J. A. J. (2018), Parallelizing the dual revised simplex method, Mathematical
Programming Computation 10(1). Related: the fewest games that tell models apart as a whole measure
does (docs/specification.md, "Xent Measures").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.errors import CoverError
from archive.run import Run
from archive.schema import Definition, GainKind, TaskId
from archive.statistics.intervals import Scores
from archive.statistics.matrix import TransferMatrix, transfer_matrix

EXACT_UP_TO = 400
"""Candidates or targets beyond which a cover is greedy."""
NODES = 1000
"""Largest number of nodes of a branch-and-bound tree."""
TOLERANCE = 1e-6
"""Tolerance of HiGHS."""

Truths = NDArray[np.bool_]
"""Whether a candidate's value reaches η (candidates, targets); every column has a True."""


class Cover(NamedTuple):
    """Candidates ``members``, ascending, with Δ = ``delta``, and proved bounds.

    No cover at this η has fewer than ``least`` games, and none with at most as many games as this
    one has a Δ above ``delta_bound``.
    """

    members: tuple[int, ...]
    delta: float
    least: int
    delta_bound: float

    @property
    def gap(self) -> int:
        """Largest number of games that a better search might save."""
        return len(self.members) - self.least

    @property
    def exact(self) -> bool:
        """Whether the number of games and Δ are proved to be optimal."""
        return self.gap == 0 and self.delta == self.delta_bound


def pessimistic(values: Scores) -> Scores:
    """The values with the missing ones covering nothing."""
    return np.where(np.isnan(values), -math.inf, values)


def transfer_cover(values: Scores, members: Sequence[int]) -> float:
    """Δ of the members, at least one: the value of the target that they teach least."""
    return float(pessimistic(values)[list(members)].max(axis=0).min())


def largest_eta(values: Scores) -> float:
    """Δ of all candidates together: no cover exists at a larger η."""
    return transfer_cover(values, range(len(values)))


def best_cover(values: Scores, eta: float, exact_up_to: int = EXACT_UP_TO) -> Cover:
    """The optimal η-cover, or the greedy one if candidates or targets exceed ``exact_up_to``: the
    fewest games, then, by bisection over the values that occur, the largest Δ of so many.

    Raises CoverError if no set of the candidates is an η-cover, naming the largest η.
    """
    if not values.size:
        raise CoverError("found no games, expected at least one to cover and one to cover with")
    lower = pessimistic(values)
    if not (largest := largest_eta(lower)) >= eta:  # NaN too
        raise CoverError(_out_of_reach(eta, largest, int(np.isnan(values).sum())))
    whole = max(values.shape) <= exact_up_to
    (members, least), bound = fewest(lower >= eta, whole), largest
    levels = np.unique(lower[(lower >= eta) & (lower <= bound)])
    low, high = int(np.searchsorted(levels, transfer_cover(lower, members))), len(levels)
    while low + 1 < high:
        middle = (low + high) // 2
        found, needed = fewest(lower >= levels[middle], whole, enough=len(members))
        if len(found) <= len(members):
            members = found
            low = int(np.searchsorted(levels, transfer_cover(lower, members)))
        else:
            high = middle
            if needed > len(members):
                bound = min(bound, float(levels[middle - 1]))
    return Cover(members, transfer_cover(lower, members), least, bound)


def missing_for_fewer(values: Scores, eta: float, games: int) -> list[tuple[int, int]]:
    """Missing values, as (candidate, target), of fewer than ``games`` candidates that would be an
    η-cover if all of them reached ``eta``: none if no missing value can make it smaller."""
    members, _ = fewest(~(values < eta), max(values.shape) <= EXACT_UP_TO)  # NaN reaches
    if len(members) >= games:
        return []
    open_targets = np.flatnonzero(pessimistic(values)[list(members)].max(axis=0) < eta)
    return [
        next((row, int(column)) for row in members if np.isnan(values[row, column]))
        for column in open_targets
    ]


def _out_of_reach(eta: float, largest: float, unknown: int) -> str:
    end = f"; values not measured: {unknown}" if unknown else ""
    if not math.isfinite(largest):
        return f"found η {eta:g}, and some game that nothing at hand covers at any η{end}"
    return (
        f"found η {eta:g}, expected at most {rounded_down(largest):g}: these games teach no larger "
        f"share of every game's lesson{end}"
    )


def rounded_down(eta: float) -> float:
    """η to four digits, so that the number that is shown works."""
    return math.floor(eta * 1e4) / 1e4


def fewest(reaches: Truths, whole: bool = True, enough: int = 1) -> tuple[tuple[int, ...], int]:
    """The fewest rows, ascending, that reach every column, if :data:`NODES` nodes of a search tree
    prove them, and the number of rows below which none do, proved; not ``whole``: the greedy
    answer with the bound of the linear relaxation. A greedy answer of ``enough`` rows is taken.

    The limit is one of nodes and not of seconds, so that an answer does not depend on the load of
    the machine.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load
    from scipy.sparse import csr_array

    members = _greedy_members(reaches)
    if len(members) <= enough:
        return members, 1
    result = milp(
        np.ones(len(reaches)),
        integrality=np.full(len(reaches), whole),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(csr_array(reaches.T.astype(np.float64)), 1, np.inf),
        options={"mip_rel_gap": 0.0, "node_limit": NODES},
    )
    if whole and result.x is not None and (result.x > 0.5).sum() < len(members):
        members = tuple(np.flatnonzero(result.x > 0.5).tolist())
    bound = result.mip_dual_bound if whole else result.fun
    least = 1 if bound is None or not math.isfinite(bound) else math.ceil(bound - TOLERANCE)
    return members, min(max(1, least), len(members))


def _greedy_members(reaches: Truths) -> tuple[int, ...]:
    """Repeatedly adds the row that reaches the most missing columns, then drops needless rows."""
    gains = reaches.sum(axis=1)
    missing = np.ones(reaches.shape[1], bool)
    members: list[int] = []
    while missing.any():
        best = int(gains.argmax())
        members.append(best)
        new_columns = reaches[best] & missing
        missing &= ~new_columns
        gains = gains - reaches[:, new_columns].sum(axis=1)
    # needless are members whose columns others reach too; the last rows are dropped first
    necessary = sorted(members)
    times = reaches[necessary].sum(axis=0)
    for member in reversed(list(necessary)):
        if (times[reaches[member]] > 1).all():
            necessary.remove(member)
            times = times - reaches[member]
    return tuple(necessary)


class CoverQuestion(NamedTuple):
    """Which cover to compute. ``from_finetuned``: Γ from all fine-tuned games Υ, else from Σ."""

    eta: float
    definition: Definition = Definition.CAPTURED
    gain: GainKind = GainKind.TOTAL
    from_finetuned: bool = False
    skip_unplayable: bool = False


class ScopeCover(NamedTuple):
    """A cover of a scope, by the places of ``matrix.sources``; ``skipped_targets``: targets left
    out as not playable."""

    question: CoverQuestion
    matrix: TransferMatrix
    skipped_targets: tuple[TaskId, ...]
    cover: Cover

    @property
    def values(self) -> Scores:
        """The values (sources, targets) that were covered."""
        return self.matrix.values(self.question.definition)

    @property
    def delta(self) -> float | None:
        """Δ; None if it is not known of the whole scope."""
        return None if self.skipped_targets else self.cover.delta

    @property
    def covers(self) -> dict[TaskId, tuple[TaskId, ...]]:
        """By member the targets that it covers; one that several cover is in several lists."""
        reaches, targets = pessimistic(self.values) >= self.question.eta, self.matrix.targets
        return {
            self.matrix.sources[member]: tuple(targets[t] for t in np.flatnonzero(reaches[member]))
            for member in self.cover.members
        }


def scope_cover(run: Run, scope: Sequence[TaskId], question: CoverQuestion) -> ScopeCover:
    """The optimal cover of ``scope``. Raises CoverError for an η below 0, naming games that nothing
    can cover, or the largest η in reach."""
    if not question.eta >= 0:
        raise CoverError(f"eta: found {question.eta}, expected a number from 0 up")
    sources = tuple(run.policies) if question.from_finetuned else tuple(scope)
    matrix = transfer_matrix(run.plays, run.policies, sources, scope, question.gain)
    values = matrix.values(question.definition)
    known = np.isfinite(values).any(axis=0)
    skipped, covered = ([scope[t] for t in np.flatnonzero(own).tolist()] for own in (~known, known))
    if skipped:
        if not question.skip_unplayable or not covered:
            raise CoverError(_no_value(matrix, values, skipped))
        matrix = transfer_matrix(run.plays, run.policies, sources, covered, question.gain)
    cover = best_cover(matrix.values(question.definition), question.eta)
    return ScopeCover(question, matrix, tuple(skipped), cover)


def cover_rows(
    run: Run, scope: Sequence[TaskId], number: int, question: CoverQuestion
) -> list[dict[str, Any]]:
    """Rows of covers, without run_id, for the scope of a number, with Γ from the scope.

    Games that are not playable on these plays are left out, and Δ is then not known. There are no
    rows if no cover exists.
    """
    try:
        answer = scope_cover(run, scope, question)
    except CoverError:
        return []
    facts = {"scope": number, "eta": question.eta, "definition": question.definition}
    facts |= {"delta": answer.delta, "exact": answer.cover.gap == 0}
    facts |= {"unknown": int(np.isnan(answer.values).sum())}
    return [
        {**facts, **member._asdict(), "covers": [target.game_id for target in targets]}
        for member, targets in answer.covers.items()
    ]


def _no_value(matrix: TransferMatrix, values: Scores, uncoverable: Sequence[TaskId]) -> str:
    """The error message for a game that nothing covers: not measured, or not playable."""
    first, more = uncoverable[0], f", and {len(uncoverable) - 1} more like it"
    why = "no value of it is defined: its own gain is not significantly above 0"
    if np.isnan(values[:, matrix.targets.index(first)]).all():
        why = "its values are unknown: it was not played by its own fine-tuning and the base player"
    return (
        f"game {first.game_id} ({first.role}){more if len(uncoverable) > 1 else ''}: {why}; "
        "expected games with known values, or --skip-unplayable to cover the others"
    )


MOST_SUBSETS = 1 << 20
"""Subsets of one size that are all tried; beyond, games are left out one by one."""
DIGITS = 12
"""Decimal digits to which means and errors are compared: sums of equal scores may differ."""


def discriminating_games(scores: Scores, tolerance: float) -> tuple[tuple[int, ...], float]:
    """The smallest subset of the games of ``scores`` (models, games) that keeps the measure, as
    ascending indices; of several the one with the largest gap. Beyond ``MOST_SUBSETS`` games are
    left out one by one, each time the one without which the gap is largest.

    Also its error, the largest difference of a model's score, as a share of the distance between
    the best and the worst. The gap is the least difference of scores between models that all games
    tell apart. Raises ValueError for scores of fewer than two models, or of equal ones, which no
    game tells apart.
    """
    if not scores.size or not np.ptp(scores.mean(axis=1).round(DIGITS)) > 0:
        raise ValueError("found no two models with different scores on all games")

    def best(subsets: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
        rated = ((*_error_and_gap(scores, each), each) for each in subsets if each)
        kept = ((gap, each) for error, gap, each in rated if gap > 0 and error <= tolerance)
        return max(kept, key=itemgetter(0), default=(0.0, ()))[1]

    members = tuple(range(scores.shape[1]))
    for size in range(1, len(members)):
        if math.comb(len(members), size) > MOST_SUBSETS:
            while smaller := best(combinations(members, len(members) - 1)):
                members = smaller
            break
        if found := best(combinations(members, size)):
            members = found
            break
    return members, _error_and_gap(scores, members)[0]


def _error_and_gap(scores: Scores, members: tuple[int, ...]) -> tuple[float, float]:
    whole, part = (each.mean(axis=1).round(DIGITS) for each in (scores, scores[:, list(members)]))
    error = round(float(np.abs(part - whole).max() / np.ptp(whole)), DIGITS)
    above = whole[:, None] > whole[None]
    return error, float((part[:, None] - part[None])[above].min())
