"""Meta-samplers by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from meta_sampler.base import MetaSampler, SamplerError
from meta_sampler.mutate.sampler import Mutate
from meta_sampler.mutate.settings import MutateSettings
from xgl.models.resolve import resolve


def make(name: str, settings: Mapping[str, Any] | None = None) -> MetaSampler:
    """The meta-sampler ``name``, built from plain settings.

    Raises :class:`SamplerError` for an unknown name, an unknown key or an impossible value,
    :class:`~xgl.errors.ModelNotFound` for a model that cannot be had.
    """
    if name not in _SAMPLERS:
        known = ", ".join(sorted(_SAMPLERS))
        raise SamplerError(f"unknown meta-sampler {name!r}, expected one of: {known}")
    return _SAMPLERS[name](settings or {})


def _mutate(settings: Mapping[str, Any]) -> MetaSampler:
    return Mutate(MutateSettings(**_checked("mutate", settings, MutateSettings)))


def _local(settings: Mapping[str, Any]) -> MetaSampler:
    """Needs torch, which the other samplers do without; the model must be there."""
    from meta_sampler.constrained.local_sampler import Local
    from meta_sampler.constrained.local_settings import LocalSettings

    chosen = LocalSettings(**_checked("local", settings, LocalSettings))
    resolve(chosen.model)
    return Local(chosen)


def _learned(settings: Mapping[str, Any]) -> MetaSampler:
    """Needs torch as well; its model is part of the package."""
    from meta_sampler.learned.sampler import Learned
    from meta_sampler.learned.settings import LearnedSettings

    return Learned(LearnedSettings(**_checked("learned", settings, LearnedSettings)))


def _chat(settings: Mapping[str, Any]) -> MetaSampler:
    """Needs the client of OpenAI's API; the key must be in the environment."""
    from meta_sampler.chat.sampler import Chat
    from meta_sampler.chat.settings import ChatSamplerSettings

    return Chat(ChatSamplerSettings(**_checked("chat", settings, ChatSamplerSettings)))


def _checked(name: str, settings: Mapping[str, Any], kind: type[Any]) -> dict[str, Any]:
    known = [item.name for item in fields(kind)]
    for key in settings:
        if key not in known:
            raise SamplerError(f"unknown setting {key!r} of {name}, expected {', '.join(known)}")
    return dict(settings)


_SAMPLERS: dict[str, Callable[[Mapping[str, Any]], MetaSampler]] = {
    "chat": _chat,
    "learned": _learned,
    "local": _local,
    "mutate": _mutate,
}
