"""What a verdict is worth to a sampler: how far a candidate came on its way
(docs/specification.md, "The decision rule")."""

from __future__ import annotations

from collections.abc import Mapping

from meta_sampler.base import Progress

REWARDS: Mapping[Progress, float] = {
    Progress.UNPLAYABLE: -0.3,
    Progress.UNLEARNED: 0.0,
    Progress.UNCONFIRMED: 0.1,
    Progress.UNHELPFUL: 0.2,
    Progress.COVERED: 0.4,
    Progress.OPEN: 0.5,
    Progress.OUTRANKED: 0.7,
    Progress.ACCEPTED: 1.0,
}
