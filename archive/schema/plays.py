"""Tables of plays and training: maps, fine-tunings, scores, rounds, measures, best known moves."""

from __future__ import annotations

from archive.schema.column import (
    BOOL,
    FLOAT64,
    FLOATS,
    GAME,
    INT32,
    INT64,
    INTS,
    ROLE,
    RUN,
    SECONDS,
    STRING,
    STRINGS,
    Column,
    Table,
    values_of,
)
from archive.schema.enums import (
    BASE_POLICY,
    SCRIPT_POLICY,
    PlayOutcome,
    Purpose,
)

MAPS = Table(
    "maps",
    "One text drawn for one story() of a program on one map.",
    (
        Column("map_seed", INT64, "seed", "the map"),
        Column("site", INT32, "count", "the story() it fills, the first of a program being 0"),
        Column("purpose", STRING, "enum", "what the map serves", values=values_of(Purpose)),
        Column("source", STRING, "name", "the story source that it was drawn from"),
        Column("text", STRING, "text", "the text drawn"),
        Column("n_tokens", INT32, "judge tokens", "length of the text"),
    ),
)

FINETUNES = Table(
    "finetunes",
    "One fine-tuning of the base player on one game.",
    (
        RUN,
        Column("finetune_id", STRING, "id", "the fine-tuning; the policy_id of its scores"),
        GAME,
        ROLE,
        Column("replicate", INT32, "count", "which repetition under another seed, from 0"),
        Column("seed", INT64, "seed", "seed of initialisation, maps and sampling"),
        Column("steps", INT32, "steps", "optimiser steps made"),
        Column("prompt_tokens", INT64, "player tokens", "tokens read while training"),
        Column("generated_tokens", INT64, "player tokens", "tokens sampled while training"),
        Column("curve", FLOATS, "bits", "mean score at each step", finite=True),
        Column("entropy", FLOATS, "bits a token", "mean entropy of the policy at each step"),
        Column("grad_norm", FLOATS, "1", "norm of the gradient, before clipping, at each step"),
        Column(
            "distinct_moves",
            FLOAT64,
            "share",
            "distinct moves over the maps of the last step; near 0, the policy collapsed",
            "no step was made",
        ),
        Column(
            "forfeit_rate",
            FLOAT64,
            "share",
            "plays of the last step that did not finish",
            "no play was made",
        ),
        Column(
            "adapter_hash",
            STRING,
            "SHA-256",
            "names adapters/HASH.safetensors; a refused game's file is removed (archive.keep)",
            "never written",
        ),
        Column("settings_json", STRING, "JSON", "settings of the fine-tuning"),
        Column("tokens", INT64, "player tokens", "read and sampled: the budget spent"),
        SECONDS,
    ),
)

CURRICULA = Table(
    "curricula",
    "One fine-tuning of the base player on several games together.",
    (
        RUN,
        Column("finetune_id", STRING, "id", "the fine-tuning; the policy_id of its scores"),
        Column("curriculum", STRING, "name", "which games: cover, initial, random or covered"),
        Column("game_ids", STRINGS, "ids", "the games"),
        Column("roles", STRINGS, "names", "their main players"),
        Column("replicate", INT32, "count", "which repetition under another seed, from 0"),
        Column("seed", INT64, "seed", "seed of initialisation, maps and sampling"),
        Column(
            "steps", INT32, "steps", "steps on all games; a round of the warm start is one of each"
        ),
        Column("curve", FLOATS, "bits", "mean score at each step, of its game", finite=True),
        Column("entropy", FLOATS, "bits a token", "mean entropy of the policy at each step"),
        Column("grad_norm", FLOATS, "1", "norm of the gradient, before clipping, at each step"),
        Column("adapter_hash", STRING, "SHA-256", "names adapters/HASH.safetensors"),
        Column("settings_json", STRING, "JSON", "settings of the fine-tuning"),
        Column("tokens", INT64, "player tokens", "read and sampled: the budget spent"),
        SECONDS,
    ),
)

CLIPPED = "with the judge's probabilities clipped at ε = 1/vocabulary (Def. 30)"

SCORES = Table(
    "scores",
    "One play of one game by one policy: the facts that every value is derived from.",
    (
        RUN,
        Column(
            "policy_id",
            STRING,
            "id",
            f"who played: '{BASE_POLICY}', a finetune_id, or '{SCRIPT_POLICY}' and the name of a "
            "scripted player",
        ),
        GAME,
        ROLE,
        Column("purpose", STRING, "enum", "what the play serves", values=values_of(Purpose)),
        Column("map_seed", INT64, "seed", "the map played"),
        Column("play_seed", INT64, "seed", "seed of the sampled moves; paired across policies"),
        Column(
            "score",
            FLOAT64,
            "bits",
            "reward of the main player; a forfeit counts as the finite score fixed for its game",
            finite=True,
        ),
        Column("raw_score", FLOAT64, "bits", "the same, but −inf for a forfeit"),
        Column("outcome", STRING, "enum", "how the play ended", values=values_of(PlayOutcome)),
        Column(
            "permuted_score",
            FLOAT64,
            "bits",
            "score of the moves that the policy made for another map",
            "not computed",
        ),
        Column(
            "clipped_score",
            FLOAT64,
            "bits",
            f"score of the same play {CLIPPED}",
            "not computed",
        ),
        Column(
            "permuted_clipped_score",
            FLOAT64,
            "bits",
            f"permuted_score {CLIPPED}",
            "not computed",
        ),
        Column("moves", STRINGS, "text", "strings that the main player gave, in order"),
        Column("tokens", INT64, "player tokens", "read and sampled in this play"),
        SECONDS,
    ),
)

SECOND_SCORES = Table(
    "second_scores",
    "One archived play of one policy scored again by another judge (judge.second): the same moves "
    "on the same texts.",
    (
        RUN,
        Column("judge", STRING, "name", "model reference of the other judge"),
        Column("policy_id", STRING, "id", "who played; the play is in scores"),
        GAME,
        ROLE,
        Column("purpose", STRING, "enum", "what the play served", values=values_of(Purpose)),
        Column("map_seed", INT64, "seed", "the map played"),
        Column("play_seed", INT64, "seed", "seed of the sampled moves"),
        Column(
            "score", FLOAT64, "bits", "reward of the main player", "an ensure refused the moves"
        ),
        Column(
            "permuted_score",
            FLOAT64,
            "bits",
            "of the moves that the policy made on the next map that it was scored on here",
            "an ensure refused them",
        ),
        SECONDS,
    ),
)

SCORED_TEXTS = Table(
    "scored_texts",
    "One text that a reward scored in one of a game's best plays, token by token: what the report "
    "shows. Written when a run ends, for the plays that were best then.",
    (
        RUN,
        Column("policy_id", STRING, "id", "who played; the play is in scores"),
        GAME,
        ROLE,
        Column("map_seed", INT64, "seed", "the map played"),
        Column("play_seed", INT64, "seed", "seed of the sampled moves"),
        Column("place", INT32, "count", "which of the play's scored texts, from 0"),
        Column("expression", STRING, "xent", "what the reward pays for it, with its sign"),
        Column("tokens", STRINGS, "text", "the text, cut as the judge reads it"),
        Column(
            "token_bits",
            FLOATS,
            "bits",
            "what each of the last tokens adds to the score; those before them do not count",
            finite=True,
        ),
    ),
)

MOVE_COUNTS = (
    Column("failed_ensures", INT32, "moves", "of the main player, that an ensure sent back"),
    Column("format_failures", INT32, "moves", "that no answer held, played as empty ones"),
    Column("cut_moves", INT32, "moves", "that were longer than their limit"),
    Column("cut_tokens", INT64, "judge tokens", "cut off them"),
)
"""Counts of failed and shortened moves of a player."""

ROUNDS = Table(
    "rounds",
    "One play of a series on one map, with earlier rounds in the main player's view.",
    (
        RUN,
        Column(
            "policy_id",
            STRING,
            "id",
            f"who played: '{BASE_POLICY}', a finetune_id, or a measured player as it was named",
        ),
        GAME,
        ROLE,
        Column("purpose", STRING, "enum", "what the play serves", values=values_of(Purpose)),
        Column("map_seed", INT64, "seed", "the map played, the same in every round"),
        Column("play_seed", INT64, "seed", "seed of all chance but the main player's"),
        Column("round", INT32, "count", "place in the series, from 1; nothing is shown in round 1"),
        Column(
            "control",
            BOOL,
            "bool",
            "whether the earlier rounds in view came from another map; begins at round 2, since "
            "round 1 is its own control",
        ),
        Column("rounds_shown", INT32, "count", "fewest earlier rounds that the window held"),
        Column(
            "score",
            FLOAT64,
            "bits",
            "reward of the main player, at least the finite score fixed for its game, which a "
            "forfeit and a play with a format failure count as",
            finite=True,
        ),
        Column("raw_score", FLOAT64, "bits", "the reward itself, −inf for a forfeit"),
        Column("clipped_score", FLOAT64, "bits", f"score {CLIPPED}", "not computed"),
        Column("outcome", STRING, "enum", "how the play ended", values=values_of(PlayOutcome)),
        Column("moves", STRINGS, "text", "strings that the main player gave, in order"),
        Column("tokens", INT64, "player tokens", "read and sampled in this play"),
        Column("new_tokens", INT64, "player tokens", "sampled, of tokens"),
        *MOVE_COUNTS,
        SECONDS,
    ),
)

MEASURES = Table(
    "measures",
    "One player's normalised score on one game of a Xent Measure (Def. 42, 43).",
    (
        RUN,
        Column("policy_id", STRING, "name", "the measured player; its plays are in rounds"),
        GAME,
        ROLE,
        Column(
            "exported_game_id",
            STRING,
            "id",
            "the game of the scope that this one was exported from; its id in the search's archive",
        ),
        Column("base", STRING, "name", "the player whose arms gave b, theta, m, rounds, k_m"),
        Column("b", FLOAT64, "bits", "mean score of the base at round 1", finite=True),
        Column("theta", FLOAT64, "bits", "θ: (arms of the base at round K − b)/m", finite=True),
        Column("m", INT32, "count", "number of levels b + jθ"),
        Column("rounds", INT32, "rounds", "K, of the base"),
        Column("maps", INT32, "maps", "N, of the base"),
        Column("k_m", INT32, "round", "first round at which the base's arms reached b + mθ"),
        Column(
            "crosses_low",
            FLOAT64,
            "probability",
            "lower bound: the base's arms first reach b + jθ at m different rounds (Def. 33)",
            "the levels came with the measure",
        ),
        Column(
            "crosses_high",
            FLOAT64,
            "probability",
            "upper bound of the same",
            "the levels came with the measure",
        ),
        Column("at_round", INT32, "round", "ℓ ≤ k_m: the round at which narms was taken"),
        Column("floor", FLOAT64, "bits", "what an unfinished play counts as", finite=True),
        Column("narms", FLOAT64, "1", "normalised score after ℓ rounds", finite=True),
        Column("narms_low", FLOAT64, "1", "lower bound over maps (bootstrap, given the levels)"),
        Column("narms_high", FLOAT64, "1", "upper bound over maps"),
        Column("confidence", FLOAT64, "probability", "of the two bounds together"),
        Column("control_narms", FLOAT64, "1", "narms of the control", "no control was played"),
        Column(
            "above_control",
            FLOAT64,
            "bits",
            "arms after ℓ rounds, above that of the control",
            "no control was played",
        ),
        Column("above_control_low", FLOAT64, "bits", "its lower bound", "no control was played"),
        Column("above_control_high", FLOAT64, "bits", "its upper bound", "no control was played"),
        Column("forfeits", INT32, "plays", "of all rounds and the control, forfeited"),
        *MOVE_COUNTS,
        Column("tokens", INT64, "player tokens", "read and sampled in all rounds of the game"),
        Column(
            "dollars",
            FLOAT64,
            "dollars",
            "what the player's endpoint charged by the configured prices, retries included",
            "no price was configured",
        ),
        SECONDS,
    ),
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
