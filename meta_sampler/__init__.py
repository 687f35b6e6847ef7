"""Meta-samplers: games related to a game. Needs xgl and pydantic; samplers are imported when they
are made: ``local`` also needs torch and llguidance, ``chat`` needs httpx2."""

from meta_sampler.base import MetaSampler, Outcome, Progress, Proposal, Provenance, SamplerError
from meta_sampler.mutate import Mutate
from meta_sampler.registry import make
from meta_sampler.settings import MutateSettings

__all__ = [
    "MetaSampler",
    "Mutate",
    "MutateSettings",
    "Outcome",
    "Progress",
    "Proposal",
    "Provenance",
    "SamplerError",
    "make",
]
