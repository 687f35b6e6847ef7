"""What a player is shown (SPEC §3): a function of the strings it may see, its own reward
numbers and its own ensure outcomes, and of nothing else. The omniscient see every string, so
they see every reward too."""

from __future__ import annotations

from collections.abc import Iterable

from xgl.requests import Assigned, Ensured, Event, Item, Moved, Revealed, Rewarded, View
from xgl.syntax import LIST_REGISTERS, OMNISCIENT, PUBLIC_TYPES, REGISTERS

STOP = "\n"
"""A move ends where a line ends."""


def visible(events: Iterable[Event], player: str, live: bool = False) -> tuple[Item, ...]:
    """The part of the event log that ``player`` may see, in order.

    A value that it has before it already is not shown again: the repetition would tell of a
    failed ensure of somebody else. ``live``: a register that was revealed to it stays in its
    sight.
    """
    watched: set[str] = set()
    shown: dict[str, str] = {}
    items: list[Item] = []
    for event in events:
        for item in _items(event, player, watched):
            stale = isinstance(event, Assigned | Revealed) and shown.get(item.label) == item.text
            shown[item.label] = item.text
            items += [] if stale else [item]
        if live and isinstance(event, Revealed) and event.player == player:
            watched.update(name for name, _ in event.values if name in _NAMES)
    return tuple(items)


_NAMES = frozenset((*REGISTERS, *LIST_REGISTERS))


def _items(event: Event, player: str, watched: set[str]) -> list[Item]:
    sees_all = player in OMNISCIENT

    def seen(name: str) -> bool:
        return sees_all or name[0] in PUBLIC_TYPES or name in watched

    match event:
        case Assigned(values):
            return [Item(name, text) for name, text in values if seen(name)]
        case Moved(mover, register, move) if mover == player or seen(register):
            return [Item(register, move.text)]
        case Revealed(to, values) if to == player:
            return [Item(label, text) for label, text in values]
        case Ensured(by, passed, failures) if by == player and not passed:
            return [Item("ensure", f"failed {failures}")]
        case Rewarded(to, bits, _) if to == player:
            return [Item("reward", _reward_text(event, bits))]
        case Rewarded(to, bits, _) if sees_all:
            return [Item(f"reward {to}", _reward_text(event, bits))]
    return []


def _reward_text(event: Rewarded, bits: float) -> str:
    per_token = "; ".join(
        " ".join(f"{sign * bit:.1f}" for bit in scores.bits) for sign, _, scores in event.terms
    )
    return f"{bits:.1f} ({per_token})" if per_token else f"{bits:.1f}"


def render(view: View) -> str:
    """The prompt of a local policy: code, one line for each visible item, the asked register.

    >>> render(View("black", "assign(s=story())", (Item("s", "A cat."),), "t"))
    'assign(s=story())\\ns: A cat.\\nt:'
    """
    lines = [view.code]
    lines += [f"{item.label}: {' '.join(item.text.split())}" for item in view.items]
    return "\n".join([*lines, f"{view.register}:"])
