"""Columns that several tables have."""

from __future__ import annotations

from archive.schema.column import FLOAT64, INT32, STRING, Column

RUN = Column("run_id", STRING, "id", "the run that wrote the row")
GENERATION = Column("generation", INT32, "count", "k of Algorithm 1, from 0")
GAME = Column("game_id", STRING, "id", "the game, a key of games")
ROLE = Column("role", STRING, "name", "the main player of the game; (game_id, role) is the unit")
PARENT = Column(
    "parent_game_id", STRING, "id", "the game that it is related to", "of the initial scope"
)
PARENT_ROLE = Column(
    "parent_role", STRING, "name", "main player of the parent", "of the initial scope"
)
ROUND = Column("round", INT32, "count", "the round of proposals for this parent, from 0")
INDEX = Column("index", INT32, "count", "place within the round, from 0")
SECONDS = Column("seconds", FLOAT64, "s", "wall-clock time spent", finite=True)
