"""η-covers of a scope: the fewest games that teach all others, and of those the best (Def. 45).

``values`` (candidates, targets) float64 throughout: V of Def. 37 or the captured fraction C, NaN if
a value is missing and −inf if it is known to be undefined. Δ_Γ(Σ) = min over the targets of max
over Γ. A missing value is not 0: for :func:`best_cover` it covers nothing, so that the result is a
cover whatever the missing values are, but perhaps not the smallest.

Optimal means fewest games, then largest Δ. Among equals the first candidates win: the cover with
candidate 0 if any of the equal ones has it, among those the one with candidate 1 if any has it, and
so on. The order of the rows thus matters; an archive uses the order in which games were accepted,
so that older games stay.

Both the number of games and Δ come from 0–1 programs, solved and proved by HiGHS:
Huangfu, Q. and Hall, J. A. J. (2018), Parallelizing the dual revised simplex method, Mathematical
Programming Computation 10(1). Related: the fewest games that tell models apart as a whole measure
does (docs/specification.md, "Xent Measures").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from archive.errors import CoverError
from archive.run import Run
from archive.schema import Definition, GainKind, TaskId
from archive.statistics.intervals import Scores
from archive.statistics.matrix import TransferMatrix, simultaneous_matrix, transfer_matrix

EXACT_UP_TO = 400
"""Candidates or targets beyond which a cover is greedy."""
NODES = 1000
"""Largest number of nodes of a branch-and-bound tree."""
TOLERANCE = 1e-6
"""Tolerance of HiGHS."""
BLOCK = 16
"""Number of rows whose order is weighed in one program: 2^16 is exact within HiGHS's 1e-6."""

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


Fewest = tuple[tuple[int, ...], int]
"""Rows, ascending, that reach every column, and the number of rows below which none do, proved."""


def pessimistic(values: Scores) -> Scores:
    """The values with the missing ones covering nothing."""
    return np.where(np.isnan(values), -math.inf, values)


def transfer_cover(values: Scores, members: Sequence[int]) -> float:
    """Δ of the members: the value of the target that they teach least; −inf without members."""
    if not members:
        return -math.inf
    return float(pessimistic(values)[list(members)].max(axis=0).min())


def largest_eta(values: Scores) -> float:
    """Δ of all candidates together: no cover exists at a larger η."""
    return transfer_cover(values, range(len(values)))


def best_cover(values: Scores, eta: float, exact_up_to: int = EXACT_UP_TO) -> Cover:
    """The optimal η-cover, or the greedy one if candidates or targets exceed ``exact_up_to``.

    Raises CoverError if no set of the candidates is an η-cover, naming the largest η.
    """
    if not values.size:
        raise CoverError("found no games, expected at least one to cover and one to cover with")
    lower_values = pessimistic(values)
    if (largest := largest_eta(lower_values)) < eta:
        if not math.isfinite(largest):
            raise CoverError(f"found η {eta:g}, and some game that nothing at hand covers at any η")
        rounded_down = math.floor(largest * 1e4) / 1e4  # so that this number works
        raise CoverError(
            f"found η {eta:g}, expected at most {rounded_down:g}: these games teach no larger "
            "share of every game's lesson"
        )
    whole = max(values.shape) <= exact_up_to
    cover = _largest_delta(lower_values, eta, whole)
    if not cover.exact or not whole:
        return cover
    first = _first_of_equals(lower_values >= cover.delta, len(cover.members))
    return Cover(first or cover.members, cover.delta, cover.least, cover.delta_bound)


def smallest_covers(values: Scores, etas: Sequence[float]) -> Iterator[tuple[float, Cover | None]]:
    """The optimal cover at each η, ascending; None where η is out of reach.

    Up to the Δ of an exact cover no other cover is better, so the search goes on only beyond it.
    """
    cover, largest = None, largest_eta(values)
    for eta in etas:
        if eta <= largest and (cover is None or not cover.exact or eta > cover.delta):
            cover = best_cover(values, eta)
        yield eta, cover if eta <= largest else None


def _largest_delta(values: Scores, eta: float, whole: bool) -> Cover:
    """Fewest games at η; then, by bisection over the values that occur, the largest Δ that this
    number of games reaches."""
    (members, least), bound = fewest(values >= eta, whole=whole), largest_eta(values)
    levels = np.unique(values[(values >= eta) & (values <= bound)])
    low, high = int(np.searchsorted(levels, transfer_cover(values, members))), len(levels)
    while low + 1 < high:
        middle = (low + high) // 2
        found, needed = fewest(values >= levels[middle], len(members), whole)
        if len(found) <= len(members):
            members = found
            low = int(np.searchsorted(levels, transfer_cover(values, members)))
        else:
            high = middle
            if needed > len(members):
                bound = min(bound, float(levels[middle - 1]))
    return Cover(members, transfer_cover(values, members), least, bound)


# -- the fewest rows that reach every column -------------------------------------------------


def fewest(reaches: Truths, enough: int | None = None, whole: bool = True) -> Fewest:
    """The fewest rows, if :data:`NODES` nodes of a search tree prove them; not ``whole``: the
    greedy answer with the bound of the linear relaxation.

    With ``enough`` this only decides whether that many rows suffice, and returns the greedy answer
    if it is small enough. The limit is one of nodes and not of seconds, so that an answer does not
    depend on the load of the machine.
    """
    members = _greedy_members(reaches)
    if len(members) == 1 or (enough is not None and len(members) <= enough):
        return members, 1
    if enough == 1:  # greedy takes a row that reaches every column if there is one
        return members, 2
    size = enough if whole else None
    columns = reaches[:, _essential(reaches)]
    choice, bound, status = minimise(np.ones(len(reaches)), columns, size, whole=whole)
    if status == INFEASIBLE and size is not None:
        return members, size + 1
    if choice is not None and len(choice) < len(members):
        members = choice
    least = math.ceil(bound - TOLERANCE) if math.isfinite(bound) else 1
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


def _essential(reaches: Truths) -> NDArray[np.int64]:
    """Columns, ascending, such that rows that reach them reach all columns: the first of equal
    columns, and none whose rows include all rows of another."""
    columns = np.sort(np.unique(reaches, axis=1, return_index=True)[1])
    distinct = reaches[:, columns].astype(np.float32)
    sizes = distinct.sum(axis=0)
    shared = distinct.T @ distinct
    is_implied = (shared == sizes[:, None]) & (sizes[:, None] < sizes[None, :])
    essential: NDArray[np.int64] = columns[~is_implied.any(axis=0)]
    return essential


def _first_of_equals(reaches: Truths, size: int) -> tuple[int, ...] | None:
    """The first of all choices of ``size`` rows that reach every column: the one with row 0 if any
    has it, among those the one with row 1 if any has it, and so on.

    ``BLOCK`` rows at a time get the weights 2^k, so that no sum of later weights exceeds an earlier
    one. None if the search did not end within its nodes.
    """
    rows, columns = len(reaches), reaches[:, _essential(reaches)]
    low, high = np.zeros(rows), np.ones(rows)
    for start in range(0, rows, BLOCK):
        block = np.arange(start, min(start + BLOCK, rows))
        costs = np.zeros(rows)
        costs[block] = -(2.0 ** np.arange(len(block))[::-1])
        choice, _, status = minimise(costs, columns, size, (low, high))
        if choice is None or status != PROVED:
            return None
        low[block] = high[block] = np.isin(block, choice)
        if low.sum() == size:
            return choice
    return tuple(np.flatnonzero(low).tolist())


PROVED, INFEASIBLE = 0, 2
"""What HiGHS says: the choice is proved to be the cheapest; it is proved that there is none."""


def minimise(
    costs: Scores,
    reaches: Truths,
    size: int | None = None,
    limits: tuple[Scores, Scores] | None = None,
    whole: bool = True,
) -> tuple[tuple[int, ...] | None, float, int]:
    """The choice of rows of least ``costs`` (rows,) that reaches all columns: 0–1 programming.
    None if none was found; a lower bound on the costs of any choice; the status.

    ``size``: largest number of rows; ``limits``: lower and upper bounds (rows,), each 0 or 1;
    not ``whole``: the linear relaxation, which only gives a bound.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to load
    from scipy.sparse import csr_array

    rows = len(reaches)
    constraints = [LinearConstraint(csr_array(reaches.T.astype(np.float64)), 1, np.inf)]
    if size is not None:
        constraints.append(LinearConstraint(np.ones((1, rows)), 0, size))
    result = milp(
        costs,
        integrality=np.full(rows, whole),
        bounds=Bounds(*(limits or (0, 1))),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "node_limit": NODES},
    )
    has_choice = whole and result.x is not None
    members = tuple(np.flatnonzero(result.x > 0.5).tolist()) if has_choice else None
    relaxed_cost = result.fun if result.status == PROVED else None
    bound = result.mip_dual_bound if whole else relaxed_cost
    return members, -math.inf if bound is None else float(bound), result.status


# -- the cover of a run's scope, for ``python -m archive cover`` and the search --------------------


class CoverQuestion(NamedTuple):
    """Which cover to compute. ``from_finetuned``: Γ from all fine-tuned games Υ, else from Σ."""

    eta: float
    definition: Definition = Definition.CAPTURED
    gain: GainKind = GainKind.TOTAL
    from_finetuned: bool = False
    skip_unplayable: bool = False


SweepStep = tuple[float, Cover | None, Cover | None]
"""One η of a sweep, its cover, None if η is out of reach, and the cover that holds with confidence,
None if there is none."""


@dataclass(frozen=True)
class ScopeCover:
    """A cover of a scope; its indices are those of ``matrix``.

    ``skipped_targets``: targets left out as not playable. ``bounds``: lower bounds that hold
    together, ``statements`` of them; ``simultaneous``: the cover that they prove. ``largest_eta``
    and ``simultaneous_largest_eta``: the largest η in reach, of estimates and of these bounds.
    """

    question: CoverQuestion
    matrix: TransferMatrix
    skipped_targets: tuple[TaskId, ...]
    cover: Cover
    covers: tuple[tuple[TaskId, ...], ...]
    largest_eta: float
    bounds: TransferMatrix
    statements: int
    simultaneous: Cover | None
    simultaneous_largest_eta: float


def scope_cover(run: Run, scope: Sequence[TaskId], question: CoverQuestion) -> ScopeCover:
    """The optimal cover of ``scope``, and the simultaneous cover.

    Raises CoverError naming games that nothing can cover, or the largest η in reach.
    """
    matrix, skipped_targets = _matrix(run, scope, question)
    values = matrix.values(question.definition)
    cover = _best(values, question.eta)
    sample = run.plays, run.policies, matrix.sources, matrix.targets, question.gain
    bounds, statements = simultaneous_matrix(*sample)
    lower = bounds.lower(question.definition)
    return ScopeCover(
        question=question,
        matrix=matrix,
        skipped_targets=skipped_targets,
        cover=cover,
        covers=_covered(matrix, values, cover, question.eta),
        largest_eta=largest_eta(values),
        bounds=bounds,
        statements=statements,
        simultaneous=next(smallest_covers(lower, [question.eta]))[1],
        simultaneous_largest_eta=largest_eta(lower),
    )


def _covered(
    matrix: TransferMatrix, values: Scores, cover: Cover, eta: float
) -> tuple[tuple[TaskId, ...], ...]:
    """For each member the targets that it covers; one that several cover is in several lists."""
    reaches = pessimistic(values)[list(cover.members)] >= eta
    return tuple(
        tuple(t for t, is_in in zip(matrix.targets, row, strict=True) if is_in) for row in reaches
    )


def sweep(scope_cover: ScopeCover) -> list[SweepStep]:
    """Covers at η = 0, 0.05, …, 1, of point estimates and with confidence."""
    etas = [step / 20 for step in range(21)]
    definition = scope_cover.question.definition
    values = scope_cover.matrix.values(definition)
    lower = scope_cover.bounds.lower(definition)
    both = zip(smallest_covers(values, etas), smallest_covers(lower, etas), strict=True)
    return [(eta, cover, simultaneous) for (eta, cover), (_, simultaneous) in both]


def cover_rows(
    run: Run, scope: Sequence[TaskId], number: int, question: CoverQuestion
) -> list[dict[str, Any]]:
    """Rows of covers, without run_id, for the scope of a number, with Γ from the scope.

    Games that are not playable on these plays are left out, and Δ is then not known. There are no
    rows if no cover exists.
    """
    try:
        matrix, skipped_targets = _matrix(run, scope, question)
        values = matrix.values(question.definition)
        cover = best_cover(values, question.eta)
    except CoverError:
        return []
    lists = _covered(matrix, values, cover, question.eta)
    return [
        {
            "scope": number,
            "eta": question.eta,
            "definition": question.definition,
            "delta": None if skipped_targets else cover.delta,
            "game_id": matrix.sources[member].game_id,
            "role": matrix.sources[member].role,
            "covers": [target.game_id for target in targets],
            "exact": cover.gap == 0,
            "unknown": int(np.isnan(values).sum()),
        }
        for member, targets in zip(cover.members, lists, strict=True)
    ]


def _matrix(
    run: Run, scope: Sequence[TaskId], question: CoverQuestion
) -> tuple[TransferMatrix, tuple[TaskId, ...]]:
    """Values for a cover of the scope, and the targets left out of it."""
    sources = tuple(run.policies) if question.from_finetuned else tuple(scope)
    # the scope's own games come first: equal covers prefer them
    sources = tuple(
        dict.fromkeys((*(task_id for task_id in scope if task_id in sources), *sources))
    )
    matrix = transfer_matrix(run.plays, run.policies, sources, scope, question.gain)
    values = matrix.values(question.definition)
    uncoverable = [
        task_id
        for task_id, column in zip(matrix.targets, values.T, strict=True)
        if not np.isfinite(column).any()
    ]
    if not uncoverable:
        return matrix, ()
    coverable = [task_id for task_id in scope if task_id not in uncoverable]
    if not question.skip_unplayable or not coverable:
        raise CoverError(_no_value(matrix, values, uncoverable))
    matrix = transfer_matrix(run.plays, run.policies, sources, coverable, question.gain)
    return matrix, tuple(uncoverable)


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


def _best(values: Scores, eta: float) -> Cover:
    """The optimal cover; an error message says how many values are missing."""
    try:
        return best_cover(values, eta)
    except CoverError as error:
        unknown = int(np.isnan(values).sum())
        if not unknown:
            raise
        raise CoverError(f"{error}; {unknown} pairs of games were not measured") from None


MOST_SUBSETS = 1 << 20
"""Subsets of one size that are all tried; beyond, games are left out one by one."""


def discriminating_games(scores: Scores, tolerance: float) -> tuple[tuple[int, ...], float, float]:
    """The smallest subset of the games of ``scores`` (models, games) that keeps the measure, as
    ascending indices; of several the one with the largest gap. Beyond ``MOST_SUBSETS`` games are
    left out one by one, each time the one without which the gap is largest.

    Also its error, the largest difference of a model's score, as a share of the distance between
    the best and the worst; and its gap, the least difference of scores between models that all
    games tell apart. Raises ValueError for scores of fewer than two models, or of equal ones, which
    no game tells apart.
    """
    if len(scores) < 2 or not np.isfinite(scores).all() or np.ptp(scores.mean(axis=1)) <= 0:
        raise ValueError("found no two models with different scores on all games")
    members = tuple(range(scores.shape[1]))
    for size in range(1, len(members)):
        if math.comb(len(members), size) > MOST_SUBSETS:
            while len(members) > 1:
                smaller = [tuple(m for m in members if m != out) for out in members]
                if not (found := _best_subset(scores, smaller, tolerance)):
                    break
                members = found
            break
        if found := _best_subset(scores, combinations(members, size), tolerance):
            members = found
            break
    return members, *_error_and_gap(scores, members)


def _best_subset(
    scores: Scores, subsets: Iterable[tuple[int, ...]], tolerance: float
) -> tuple[int, ...]:
    """The subset with the largest gap among those that keep the measure; empty without one."""
    largest, best = 0.0, tuple[int, ...]()
    for members in subsets:
        error, gap = _error_and_gap(scores, members)
        if gap > largest and error <= tolerance:
            largest, best = gap, members
    return best


def _error_and_gap(scores: Scores, members: tuple[int, ...]) -> tuple[float, float]:
    whole, part = scores.mean(axis=1), scores[:, list(members)].mean(axis=1)
    error = float(np.abs(part - whole).max() / np.ptp(whole))
    above = whole[:, None] > whole[None]
    return error, float((part[:, None] - part[None])[above].min())
