"""A cover that holds with simultaneous confidence, though it was chosen from the data
(docs/specification.md, "Simultaneous confidence").

*The claim.* With probability of at least ``confidence`` over evaluation seeds, given the adapters:
every target is covered at η by a member, Δ_Γ(Σ) ≥ η, in true values.

*What must hold together.* Were Γ fixed beforehand, one lower bound a target would do. But the
members are picked because their estimates are large, the covering member of each target likewise,
and so is the scope itself: games were accepted on plays that these values may rest on. A rule
that looks at all values and picks some is safe only if the bounds it could have picked hold
together. So the family is:

* for every ordered pair of fine-tuned games, those of refused candidates too, the statement
  "V_{G'}(G) is at least its lower bound"; on the diagonal, where V_G(G) = 1 by definition, the
  statement is that G is playable: its own gain is above 0;
* each of them once for every sample that the pair could have been judged on. Which purpose has
  more plays, and at which look acceptance ended, hung on the data too. The samples are counted as
  the (purpose, number of plays) that occur in the run.

With m statements in all, each one-sided bound is taken at 1 − (1 − ``confidence``)/m (Bonferroni;
the gains share map seeds, so nothing sharper that assumes independence would do). If all hold,
which fails with probability of at most 1 − ``confidence``, *every* set Γ read off the lower bounds
keeps its promise: any Σ and Γ out of Υ, the optimal one, and every η of a sweep at once. This is
why no step-down test is used: it would be sharper for one η fixed in advance, and void for a
sweep.

*What it does not say.* Nothing of other training seeds, unless several were tried. Nothing of how
games came to be proposed: the family is the fine-tuned games that there are, taken as given. And
the bounds are Student's and Fieller's, exact for normal gains only; m can be large, and the tail
of a skewed gain is felt there first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archive.schema import GainKind, PlaysKey, TaskId
from archive.statistics.decision_rule import simultaneous
from archive.statistics.plays import Plays, sample_sizes
from archive.statistics.transfer_matrix import TransferMatrix, transfer_matrix


@dataclass(frozen=True)
class Simultaneous:
    """A matrix whose lower bounds hold together: ``statements`` of them at ``confidence``."""

    matrix: TransferMatrix
    statements: int
    confidence: float


def statements(finetuned: int, samples: int) -> int:
    """m: ordered pairs of so many fine-tuned games, each on so many samples."""
    return finetuned**2 * max(1, samples)


def simultaneous_matrix(
    plays: Mapping[PlaysKey, Plays],
    policies: Mapping[TaskId, Sequence[str]],
    sources: Sequence[TaskId],
    targets: Sequence[TaskId],
    kind: GainKind = GainKind.TOTAL,
    confidence: float = 0.95,
) -> Simultaneous:
    """The values with lower bounds that hold together, as the module says, at ``confidence``."""
    count = statements(len(policies), sample_sizes(plays))
    level = simultaneous(confidence, count)
    # what is defined is asked as everywhere, so that point estimates stay what they are
    found = transfer_matrix(plays, policies, sources, targets, kind, bounds_at=level)
    return Simultaneous(found, count, confidence)
