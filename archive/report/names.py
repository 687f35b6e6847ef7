"""Names that a reader can follow: the library's titles, and descent from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from string import ascii_uppercase

from archive.query import ScopeRow
from archive.schema import TaskId
from xgl import game, library, parse


@cache
def titles() -> Mapping[tuple[str, str], str]:
    """Titles of the library's games by (dialect, canonical text)."""
    found: dict[tuple[str, str], str] = {}
    for entry in library.entries():
        if not entry.refused:
            code = game(parse(entry.text, entry.dialect)).code
            found.setdefault((entry.dialect, code), entry.title)
    return found


def parents(members: Sequence[ScopeRow]) -> list[int | None]:
    """The place of each member's parent; None where it has none, or none that came before it."""
    found: list[int | None] = []
    first: dict[str, int] = {}
    for place, member in enumerate(members):
        found.append(None if member.parent_game_id is None else first.get(member.parent_game_id))
        first.setdefault(member.game_id, place)
    return found


def by_descent(members: Sequence[ScopeRow], known: Sequence[str]) -> list[str]:
    """``Rival.2`` is the second game that was accepted from ``Rival``; a game without a parent has
    its library title (``known``) or a letter."""
    letters, used = _letters(), set()
    names: list[str] = []
    born: dict[int, int] = {}
    several = len({member.role for member in members}) > 1
    for place, parent in enumerate(parents(members)):
        if parent is None:
            name = known[place] if known[place] not in used else ""
            name = name or f"Game {next(letters)}"
            if several and members[place].role:
                name = f"{name} ({members[place].role})"
        else:
            born[parent] = born.get(parent, 0) + 1
            name = f"{names[parent]}.{born[parent]}"
        used.add(name)
        names.append(name)
    return names


def task_ids(members: Sequence[ScopeRow]) -> list[TaskId]:
    return [member.task_id for member in members]


def _letters() -> Iterator[str]:
    yield from ascii_uppercase
    yield from (str(number) for number in count(27))
