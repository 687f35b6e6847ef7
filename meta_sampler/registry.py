"""Meta-samplers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meta_sampler.base import MetaSampler, SamplerError
from meta_sampler.mutate.sampler import Mutate
from meta_sampler.settings import Caps, settings_of
from xgl.models.resolve import resolve


def make(name: str, settings: Caps | Mapping[str, Any] | None = None) -> MetaSampler:
    """The meta-sampler ``name``, from its settings or plain values for them.

    Raises :class:`SamplerError` for an unknown name, :class:`~xgl.errors.ConfigError` for an
    unknown key or an impossible value, :class:`~xgl.errors.ModelNotFound` for a model that
    cannot be had.
    """
    if name not in _SAMPLERS:
        known = ", ".join(sorted(_SAMPLERS))
        raise SamplerError(f"unknown meta-sampler {name!r}, expected one of: {known}")
    if not isinstance(settings, Caps):
        settings = settings_of(name, settings or {})
    return _SAMPLERS[name](settings)


def _local(settings: Any) -> MetaSampler:
    """Needs torch, which the other samplers do without; the model must be there."""
    from meta_sampler.constrained.local_sampler import Local

    resolve(settings.model)
    return Local(settings)


def _learned(settings: Any) -> MetaSampler:
    """Needs torch as well; its model is part of the package."""
    from meta_sampler.learned.sampler import Learned

    return Learned(settings)


def _chat(settings: Any) -> MetaSampler:
    """Needs the client of OpenAI's API; the key must be in the environment."""
    from meta_sampler.chat.sampler import Chat

    return Chat(settings)


_SAMPLERS: dict[str, Callable[[Any], MetaSampler]] = {
    "chat": _chat,
    "learned": _learned,
    "local": _local,
    "mutate": Mutate,
}
