"""Meta-samplers: games related to a game. Needs xgl and the standard library only;
the sampler ``local``, loaded when it is made, torch and llguidance too."""

from meta_sampler.base import (
    BudgetReached,
    MetaSampler,
    Outcome,
    Proposal,
    Provenance,
    SamplerError,
)
from meta_sampler.mutate import Mutate
from meta_sampler.registry import make
from meta_sampler.settings import MutateSettings

__all__ = [
    "BudgetReached",
    "MetaSampler",
    "Mutate",
    "MutateSettings",
    "Outcome",
    "Proposal",
    "Provenance",
    "SamplerError",
    "make",
]
