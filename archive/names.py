"""Names of a run's games: by descent, as the report gives them, beside their ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from string import ascii_uppercase
from typing import Any

import xgl.library
from archive.schema import ScopeRow
from xgl.language.canonical import game
from xgl.language.parser import parse


def library_title(row: Mapping[str, Any]) -> str:
    """Title of the library's game that a row of ``games`` equals; empty if there is none."""
    return _library_titles().get((row["dialect"], row["code"]), "")


@cache
def _library_titles() -> Mapping[tuple[str, str], str]:
    """Titles of the library's games by (dialect, canonical text)."""
    titles: dict[tuple[str, str], str] = {}
    for entry in xgl.library.entries():
        code = game(parse(entry.text, entry.dialect)).code
        titles.setdefault((entry.dialect, code), entry.title)
    return titles


def parents(members: Sequence[ScopeRow]) -> list[int | None]:
    """The place of each member's parent, a game in a role; None if it has none, or none that came
    before it. A parent without a role is the first member of its game."""
    places: list[int | None] = []
    first: dict[tuple[str, str | None], int] = {}
    for place, member in enumerate(members):
        parent = member.parent_game_id
        places.append(None if parent is None else first.get((parent, member.parent_role)))
        first.setdefault((member.game_id, member.role), place)
        first.setdefault((member.game_id, None), place)
    return places


def names_by_descent(members: Sequence[ScopeRow], titles: Sequence[str]) -> list[str]:
    """``Rival.2`` is the second game that was accepted from ``Rival``; a game without a parent has
    its library title or a letter."""
    letters, used_names = _letters(), set()
    names: list[str] = []
    child_counts: dict[int, int] = {}
    several = len({member.role for member in members}) > 1
    for place, parent in enumerate(parents(members)):
        if parent is None:
            name = titles[place] if titles[place] not in used_names else ""
            name = name or f"Game {next(letters)}"
            if several and members[place].role:
                name = f"{name} ({members[place].role})"
        else:
            child_counts[parent] = child_counts.get(parent, 0) + 1
            name = f"{names[parent]}.{child_counts[parent]}"
        used_names.add(name)
        names.append(name)
    return names


def _letters() -> Iterator[str]:
    yield from ascii_uppercase
    yield from (str(number) for number in count(27))
