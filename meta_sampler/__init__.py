"""Meta-samplers: games related to a game. Needs xgl and the standard library only; of the samplers
that are loaded when they are made, ``local`` needs torch and llguidance too, ``chat`` openai."""

from meta_sampler.base import (
    ACCESS,
    BudgetReached,
    MetaSampler,
    Outcome,
    Progress,
    Proposal,
    Provenance,
    Remote,
    SamplerError,
)
from meta_sampler.mutate.sampler import Mutate
from meta_sampler.mutate.settings import MutateSettings
from meta_sampler.registry import make

__all__ = [
    "ACCESS",
    "BudgetReached",
    "MetaSampler",
    "Mutate",
    "MutateSettings",
    "Outcome",
    "Progress",
    "Proposal",
    "Provenance",
    "Remote",
    "SamplerError",
    "make",
]
