"""What goes to a chat model and what comes back."""

from __future__ import annotations

from dataclasses import dataclass

Message = dict[str, str]
"""``role`` (system, user, assistant) and ``content``."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer's text, empty where it has none; ``cut``: it ended at its token limit."""

    text: str
    cut: bool = False


def after(messages: list[Message], reply: Reply, said: str) -> list[Message]:
    """The conversation so far, the answer, and what is said to it."""
    return [
        *messages,
        # some servers refuse an assistant message without text
        {"role": "assistant", "content": reply.text.strip() or "(no text)"},
        {"role": "user", "content": said},
    ]
