"""The table of the best moves known: what solvers, and players before them, came to on each map."""

from __future__ import annotations

from archive.schema.column import (
    FLOAT64,
    FLOATS,
    GAME,
    INT64,
    INTS,
    ROLE,
    RUN,
    SECONDS,
    STRING,
    STRINGS,
    Column,
    Table,
)

CEILINGS = Table(
    "ceilings",
    "The best moves that one solver found on one map, by searching with the judge at hand.",
    (
        RUN,
        Column(
            "solver",
            STRING,
            "name",
            "samples, beam or gradient; or who played moves that an exported measure holds as the "
            "best known",
        ),
        GAME,
        ROLE,
        Column("map_seed", INT64, "seed", "the map searched"),
        Column("play_seed", INT64, "seed", "seed of all chance but the solver's"),
        Column("score", FLOAT64, "bits", "reward of the main player", finite=True),
        Column("moves", STRINGS, "text", "strings of the main player that earn it, in order"),
        Column("budget", INT64, "judge calls", "that it was allowed; 0: it came with the measure"),
        Column("calls", INT64, "judge calls", "that it took; a call is one play of one candidate"),
        Column("curve_calls", INTS, "judge calls", "taken at each improvement"),
        Column("curve", FLOATS, "bits", "best score then", finite=True),
        SECONDS,
    ),
)
