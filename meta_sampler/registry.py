"""Meta-samplers by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meta_sampler.base import MetaSampler, Remote, SamplerError
from meta_sampler.mutate.sampler import Mutate
from meta_sampler.portfolio import PaidPortfolio, Portfolio
from meta_sampler.settings import SETTINGS, Caps, settings_of
from xgl.models.resolve import resolve


def make(name: str, settings: Caps | Mapping[str, Any] | None = None) -> MetaSampler:
    """The meta-sampler ``name``, from its settings or plain values for them.

    ``local`` needs torch and llguidance, ``chat`` needs httpx2 and its key in the environment.
    Raises :class:`SamplerError` for an unknown name, :class:`~xgl.errors.ConfigError` for an
    unknown key or an impossible value, :class:`~xgl.errors.ModelNotFoundError` for a model that is
    not available.
    """
    if name not in SETTINGS:
        names = ", ".join(sorted(SETTINGS))
        raise SamplerError(f"unknown meta-sampler {name!r}, expected one of: {names}")
    values: Any = settings if isinstance(settings, Caps) else settings_of(name, settings or {})
    match name:
        case "local":
            from meta_sampler.constrained.local_sampler import Local

            resolve(values.model)
            return Local(values)
        case "chat":
            from meta_sampler.chat.sampler import Chat

            return Chat(values)
        case "mutate":
            return Mutate(values)
        case "portfolio":
            members = {each: make(each, own) for each, own in values.members().items()}
            chat = members.get("chat")
            return PaidPortfolio(members, chat) if isinstance(chat, Remote) else Portfolio(members)
    raise SamplerError(
        f"meta-sampler {name!r} has settings, but no class in meta_sampler/registry.py"
    )
