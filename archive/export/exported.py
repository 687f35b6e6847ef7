"""What is exported: a run's games, each with its conversion, its maps and its plays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from archive.errors import ExportError
from archive.export.maps import Map
from archive.schema import TaskId
from xgl.errors import DialectError, ProgramError
from xgl.language.canonical import Game, Metadata, game
from xgl.language.dialects import PAPER
from xgl.language.parser import parse
from xgl.language.syntax import MAX_LINES
from xgl.lowering import Lowered
from xgl.lowering.strings import stories


@dataclass(frozen=True)
class Chosen:
    """Which games are exported: ``covers`` by task, for η and Δ (None: not known)."""

    run_id: str
    generation: int
    eta: float | None
    delta: float | None
    definition: str
    covers: Mapping[TaskId, tuple[str, ...]]


@dataclass(frozen=True)
class ExportedGame:
    """One game in one role, as it leaves the archive."""

    game: Game
    role: str
    name: str
    lowered: Lowered
    maps: tuple[Map, ...]
    purpose: str
    """What plays on ``maps`` served."""

    @property
    def task_id(self) -> TaskId:
        return TaskId(self.game.game_id, self.role)

    @property
    def file(self) -> str:
        return f"{self.name}.xent"

    @property
    def presentation(self) -> str:
        return f"{self.name}_presentation.py"

    @property
    def text(self) -> str:
        """The file's text. The authors' engine counts an empty last line among its 64."""
        lines = self.lowered.text.count("\n") + 1
        return self.lowered.text + ("\n" if lines < MAX_LINES else "")


def archived(row: Mapping[str, Any]) -> Game:
    """The game of a row of ``games``. Raises ExportError where it is none."""
    name = row["game_id"]
    try:
        metadata = Metadata(**json.loads(row["metadata_json"]))
        found = game(parse(row["code"], row["dialect"]), metadata)
    except ProgramError as error:
        problem = error.problems[0]
        raise ExportError(
            f"game {name}, line {problem.line}: found {problem.found}, expected {problem.expected}"
        ) from error
    except (DialectError, ValueError, TypeError) as error:
        raise ExportError(f"game {name}: found {error}, expected an archived game") from error
    if found.game_id != name:
        raise ExportError(f"game {name}: found a program of id {found.game_id}, expected its own")
    return found


def story_limits(of: Game) -> tuple[int, ...]:
    """Judge tokens that each ``story()`` of a game asks for, in the order of sites."""
    usual = of.metadata.story_tokens
    heeded = of.dialect == PAPER.name
    found = [(story.tokens or usual) if heeded else usual for story in stories(of.program)]
    return tuple(min(tokens, of.metadata.max_characters) for tokens in found)
