"""Simulations of how ratings steer what enters, and of redundant tasks."""

from __future__ import annotations

from archive.schema.column import FLOAT64, FLOATS, INT32, RUN, SECONDS, STRING, Column, Table

_TRIAL = Column("trial", INT32, "count", "the draw, from 0; it names the random numbers")
_NO_PROMPT = "none entered: the prompts stay the initial ones"

IMPROVEMENT_PATHS = Table(
    "improvement_paths",
    "One iteration of a simulated path of improvement (first figure of the ratings paper).",
    (
        RUN,
        Column("setting", STRING, "name", "the variant, by its title"),
        Column(
            "system",
            STRING,
            "enum",
            "how models and prompts are rated",
            values=("elo", "equilibrium"),
        ),
        Column(
            "prompt_setting",
            STRING,
            "enum",
            "whether prompts enter beside models",
            values=("initial", "additional"),
        ),
        _TRIAL,
        Column("iteration", INT32, "count", "from 0, the initial vectors"),
        Column("prompts", FLOATS, "1", "vectors that entered, one after the other", _NO_PROMPT),
        Column("models", FLOATS, "1", "vectors that entered, one after the other"),
        Column("skills", INT32, "count", "K, the length of a vector"),
        Column("prompt_entropy", FLOAT64, "nat", "of the mean of all prompts so far", finite=True),
        Column("model_entropy", FLOAT64, "nat", "of the mean of all models so far", finite=True),
        SECONDS,
    ),
)

REDUNDANCY_RATINGS = Table(
    "redundancy_ratings",
    "A model's rating where tasks against one model were added (figures 3 and 11 of that paper).",
    (
        RUN,
        _TRIAL,
        Column("jitter", FLOAT64, "preference", "largest change of a copy's payoff; 0: none"),
        Column("copies", INT32, "count", "tasks added to the table"),
        Column(
            "system",
            STRING,
            "enum",
            "how models are rated",
            values=("elo", "ne", "cce", "ne_shannon", "cce_shannon"),
        ),
        Column("model", INT32, "count", "place of the model, from 0"),
        Column("against", INT32, "count", "place of the model that the copies are against"),
        Column(
            "rating",
            FLOAT64,
            "preference",
            "Elo points, or regret at the equilibrium",
            "no equilibrium was reached",
            finite=True,
        ),
        Column("rank", INT32, "rank", "1 for the best", "no equilibrium was reached"),
        SECONDS,
    ),
)
