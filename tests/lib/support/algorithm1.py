"""Algorithm 1 transcribed line by line from the paper (§6.3.2), for finite toy worlds.

Slow on purpose: every set is built from nothing, every value is looked up where the paper names it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from archive import Reason, Verdict
from evo.config.schema import GrowthSettings
from evo.growth.algorithm import AcceptanceResult, Assessment, Candidate, Place
from evo.record.steps import Steps

Values = Mapping[tuple[int, int], float | None]
"""V_source(target) by (source, target); None: undefined."""


@dataclass(frozen=True)
class FiniteWorld:
    """Games are numbers; Λ draws with replacement, sometimes fewer than asked, sometimes none."""

    games: int
    values: Values
    seed: int

    def candidates(self, k: int, parent: int, rounds: int, n: int) -> list[int]:
        draw = random.Random(f"{self.seed}/{k}/{parent}/{rounds}")
        return draw.choices(range(self.games), k=draw.choice([0, 1] + 8 * [n]) if n > 1 else n)

    # -- growth.Sampler and growth.Oracle ----------------------------------------------------

    def propose(self, place: Place[int], scope: Sequence[int], n: int) -> list[int]:
        return self.candidates(place.parent_generation, place.parent, place.round, n)

    def assess(
        self, candidates: Sequence[Candidate[int]], scope: Sequence[int]
    ) -> Steps[int, list[Assessment[int]]]:
        yield from ()
        return [self._assessment(each, scope) for each in candidates]

    def test(
        self, assessment: Assessment[int], scope: Sequence[int], doublings: int = 0
    ) -> Steps[int, AcceptanceResult]:
        yield from ()
        return AcceptanceResult(Verdict.ACCEPTED, assessment.gamma)

    def dismiss(
        self, assessment: Assessment[int], result: AcceptanceResult | None, reason: Reason
    ) -> None: ...

    def _assessment(self, candidate: Candidate[int], scope: Sequence[int]) -> Assessment[int]:
        game, parent = candidate.game, candidate.parent
        values = [v for g in scope if (v := self.values[g, game]) is not None]
        return Assessment(candidate, parent, self.values[game, parent], max(values, default=None))


def transcription(
    initial: Sequence[int], world: FiniteWorld, settings: GrowthSettings, seed: int
) -> list[list[int]]:
    """Σ_0, Σ_1, … as Algorithm 1 outputs them, each in the order in which games were added."""
    sigma: list[list[int]] = [[], list(initial)]  # Σ_{−1}, Σ_0
    sample_count = 0
    for k in range(settings.generations):
        omega: list[int] = []  # Ω_k = ∅
        fresh = [g for g in sigma[-1] if g not in sigma[-2]]  # Σ_k \ Σ_{k−1}
        random.Random(f"{seed}/order/{k}").shuffle(fresh)
        for parent in fresh:
            acceptances = 0
            while True:
                if acceptances == settings.max_accepts_per_parent:
                    break
                n = settings.list_size
                if settings.max_candidates is not None:
                    n = min(n, settings.max_candidates - sample_count)
                if n <= 0:
                    break
                candidates = world.candidates(k, parent, acceptances, n)
                sample_count += len(candidates)
                looked_at = set(sigma[-1])
                if settings.coverage_against == "scope_and_pending":
                    looked_at |= set(omega)
                best, gamma = None, 0.0
                for candidate in candidates:
                    to_parent = world.values[candidate, parent]
                    if to_parent is None or to_parent < settings.alpha1:
                        continue
                    towards = [world.values[g, candidate] for g in looked_at]
                    values = [v for v in towards if v is not None]
                    its_gamma = max(values) if values else 0.0
                    if best is None or its_gamma < gamma:
                        best, gamma = candidate, its_gamma
                if best is None or gamma > 1 - settings.alpha2:
                    break
                if best not in omega:
                    omega.append(best)
                acceptances += 1
        sigma.append(sigma[-1] + [g for g in omega if g not in sigma[-1]])
        is_spent = settings.max_candidates is not None and sample_count >= settings.max_candidates
        if not omega or is_spent:
            break
    return sigma[1:]
