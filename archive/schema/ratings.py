"""Tables of equilibrium ratings of a measure, and of simulations: improvement paths and redundant
tasks."""

from __future__ import annotations

from archive.schema.column import FLOAT64, FLOATS, INT32, RUN, SECONDS, STRING, Column, Table

_GAME, _MODEL = "of a game", "of a model"
_NO_RESAMPLES = "nothing was resampled, or no resample reached an equilibrium"
_NOT_FITTED = "a game has a single map, or no half of the maps has an equilibrium"
_PREFERENCE = "preference"


def _float(name: str, meaning: str, null: str | None = None, unit: str = _PREFERENCE) -> Column:
    return Column(name, FLOAT64, unit, meaning, null, finite=True)


RATINGS = Table(
    "ratings",
    "A model's or a game's rating, both rated together on one measure (docs/ratings.md).",
    (
        RUN,
        Column(
            "rating_id",
            STRING,
            "id",
            "names what was rated and how; rows of one id were rated together",
        ),
        Column("kind", STRING, "enum", "what the row rates", values=("model", "game")),
        Column("policy_id", STRING, "name", "the model; its plays are in rounds", _GAME),
        Column("game_id", STRING, "id", "the game, a key of games", _MODEL),
        Column("role", STRING, "name", "the main player of the game", _MODEL),
        Column(
            "preference",
            STRING,
            "enum",
            "what a map says of two models: who scored more, or by how much of mθ",
            values=("win", "margin"),
        ),
        Column(
            "copies",
            STRING,
            "enum",
            "which games count as copies: equal ones, near ones the more, or merged ones",
            values=("exact", "noise", "merged"),
        ),
        Column("confidence", FLOAT64, "probability", "of each pair of bounds"),
        Column("resamples", INT32, "count", "bootstrap samples of the maps"),
        Column("seed", INT32, "seed", "of the resampling"),
        _float("rating", "regret at the limiting logit equilibrium: 0 for the best, below 0 else"),
        _float("rating_low", "lower bound over maps", _NO_RESAMPLES),
        _float("rating_high", "upper bound over maps", _NO_RESAMPLES),
        Column("rank", INT32, "rank", "1 for the best; ratings within 1e-4 share a rank"),
        _float("rank_low", "lower bound over maps", f"{_NO_RESAMPLES}; {_GAME}", "rank"),
        _float("rank_high", "upper bound over maps", f"{_NO_RESAMPLES}; {_GAME}", "rank"),
        _float("first", "share of resamples with rank 1", f"{_NO_RESAMPLES}; {_GAME}", "share"),
        _float("mass", "probability of the model as king, or of the game", None, "probability"),
        _float("mass_low", "lower bound over maps", f"{_NO_RESAMPLES}; {_MODEL}", "probability"),
        _float("mass_high", "upper bound over maps", f"{_NO_RESAMPLES}; {_MODEL}", "probability"),
        _float("cce_rating", "regret at the coarse correlated equilibrium nearest to the target"),
        _float("cce_mass", "probability there", None, "probability"),
        _float("warm_rating", "rating at temperature 0.1", _GAME),
        _float("fitted_rating", "rating on maps that its equilibrium did not see", _NOT_FITTED),
        _float("fitted_mass", "mean mass on halves of the maps", f"{_NOT_FITTED}; {_MODEL}", "1"),
        _float("elo", "Bradley–Terry strength, one drawn comparison a pair added", _GAME, "Elo"),
        _float("narms", "mean normalised score over games with levels", f"none; {_GAME}", "1"),
        Column("equal_to", INT32, "class", "games of one number count as one", _MODEL),
        _float("separation", "mean distance of two models", _MODEL),
        Column("better", STRING, "name", "of the two models furthest apart", f"{_MODEL}; alike"),
        Column("worse", STRING, "name", "of the two models furthest apart", f"{_MODEL}; alike"),
        _float("exploitability", "largest regret left at the equilibrium; 0 at an exact one"),
        _float("effective_games", "exp of the entropy of the games' masses", None, "games"),
    ),
)


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
