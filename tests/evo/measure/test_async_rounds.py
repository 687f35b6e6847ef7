"""A conversation as evaluation frameworks show it."""

from __future__ import annotations

from evo.measure.async_rounds import news
from xgl.chat.client import follow_up

RULES = {"role": "system", "content": "rules"}


def first(view: str) -> list[dict[str, str]]:
    return [RULES, {"role": "user", "content": view}]


def test_a_conversation_has_the_rules_once_and_every_request_and_retry() -> None:
    once = first("round 1")
    retry = follow_up(once, "I pass.", "no move")
    again = follow_up(retry, "Still not.", "no move")
    assert news([], once) == once
    assert news(once, retry) == retry[-1:]
    assert news(retry, again) == again[-1:]
    assert news(again, first("round 2")) == [{"role": "user", "content": "round 2"}]
    assert news(once, once) == once[1:]  # the same view again
