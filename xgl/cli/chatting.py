"""``--chat MODEL``: a model behind an OpenAI-compatible endpoint plays instead of the person."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from xgl.errors import PlayerError

if TYPE_CHECKING:
    from xgl.players.chat import ChatPlayer


def chat_player(arguments: Namespace) -> ChatPlayer | None:
    """The player that the arguments name; None without ``--chat``.

    Raises :class:`~xgl.errors.PlayerError`, for a key that is not set too, before anything is
    loaded.
    """
    if arguments.chat is None:
        for option in ("base_url", "key_variable"):
            if getattr(arguments, option) is not None:
                given = option.replace("_", "-")
                raise PlayerError(f"--{given} belongs to a model; expected --chat MODEL with it")
        return None
    from xgl.chat.client import read_key
    from xgl.chat.settings import OPENAI, ChatSettings
    from xgl.players.chat import ChatPlayer

    url = OPENAI if arguments.base_url is None else arguments.base_url
    variable = arguments.key_variable
    settings = ChatSettings(model=arguments.chat, base_url=url, key_variable=variable)
    read_key(settings)
    return ChatPlayer(settings)


def chat_record(player: ChatPlayer) -> dict[str, Any]:
    """Model, endpoint and usage, for programs."""
    settings = player.settings
    usage = asdict(player.usage)
    del usage["dollars"]  # the command knows no prices
    return {"model": settings.model, "base_url": settings.base_url, "usage": usage}


def chat_summary(player: ChatPlayer) -> str:
    """What the model was asked and what that cost, for a person."""
    usage = player.usage
    requests = "1 request" if usage.requests == 1 else f"{usage.requests} requests"
    told = f"{requests}, {usage.prompt_tokens} + {usage.new_tokens} tokens"
    if usage.unmetered:
        told += f" ({usage.unmetered} unmetered)"
    if usage.failed_attempts:
        told += f", {usage.failed_attempts} without a move"
    return f"{player.settings.model}: {told}"
