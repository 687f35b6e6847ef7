"""Meta-samplers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from meta_sampler.base import MetaSampler, SamplerError
from meta_sampler.mutate import Mutate
from meta_sampler.settings import MutateSettings


def make(name: str, settings: Mapping[str, Any] | None = None) -> MetaSampler:
    """The meta-sampler ``name``, built from plain settings.

    Raises :class:`SamplerError` for an unknown name, an unknown key or an impossible value.
    """
    if name not in _SAMPLERS:
        known = ", ".join(sorted(_SAMPLERS))
        raise SamplerError(f"unknown meta-sampler {name!r}, expected one of: {known}")
    return _SAMPLERS[name](settings or {})


def _mutate(settings: Mapping[str, Any]) -> MetaSampler:
    known = [item.name for item in fields(MutateSettings)]
    for key in settings:
        if key not in known:
            raise SamplerError(f"unknown setting {key!r} of mutate, expected {', '.join(known)}")
    return Mutate(MutateSettings(**settings))


_SAMPLERS: dict[str, Callable[[Mapping[str, Any]], MetaSampler]] = {"mutate": _mutate}
