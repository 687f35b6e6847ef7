"""What the archive holds: nine tables, each column with type, unit, meaning and null meaning.

Bits are base-2 logarithms of the judge's probabilities. Tokens of the player and tokens of the
judge are told apart in the units. An added, changed or removed column raises SCHEMA_VERSION.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from archive.column import (
    BOOL,
    FLOAT64,
    FLOATS,
    INSTANT,
    INT32,
    INT64,
    STRING,
    STRINGS,
    Column,
    Table,
    values_of,
)

SCHEMA_VERSION = 3


class RunEvent(StrEnum):
    """What happened to a run."""

    CREATED = "created"
    RESUMED = "resumed"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"


class Purpose(StrEnum):
    """What a map or a play serves; maps of different purposes are disjoint by seed."""

    CALIBRATION = "calibration"
    TRAINING = "training"
    SELECTION = "selection"
    ACCEPTANCE = "acceptance"


class ProposalOutcome(StrEnum):
    """The usual fates of a proposal. The column is an open string: samplers may add their own."""

    CANDIDATE = "candidate"
    INVALID = "invalid"
    SEEN = "seen"
    DEGENERATE = "degenerate"
    TOO_LONG = "too_long"
    INFEASIBLE = "infeasible"
    CONSTANT = "constant"
    ILL_POSED = "ill_posed"
    PASSED_OVER = "passed_over"


class PlayOutcome(StrEnum):
    """How a play ended."""

    FINISHED = "finished"
    FORFEIT = "forfeit"
    OVERSIZE = "oversize"


class Verdict(StrEnum):
    """What was decided on a candidate; undecided counts as refused in the search."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNDECIDED = "undecided"


class Definition(StrEnum):
    """Which transfer value decides: the captured fraction C, or V of Definition 37."""

    CAPTURED = "captured"
    DEF37 = "def37"


class GainKind(StrEnum):
    """Which gain C and V are made of: all of it, or what permuting the moves takes away."""

    TOTAL = "total"
    SPECIFIC = "specific"


BASE_POLICY = "base"

_RUN = Column("run_id", STRING, "id", "the run that wrote the row")
_GENERATION = Column("generation", INT32, "count", "k of Algorithm 1, from 0")
_GAME = Column("game_id", STRING, "id", "the game, a key of games")
_ROLE = Column("role", STRING, "name", "the main player of the game; (game_id, role) is the unit")
_PARENT = Column(
    "parent_game_id", STRING, "id", "the game that it is related to", "of the initial scope"
)
_PARENT_ROLE = Column(
    "parent_role", STRING, "name", "main player of the parent", "of the initial scope"
)
_ROUND = Column("round", INT32, "count", "the round of proposals for this parent, from 0")
_INDEX = Column("index", INT32, "count", "place within the round, from 0")
_SECONDS = Column("seconds", FLOAT64, "s", "wall-clock time spent", finite=True)

_RUNS = Table(
    "runs",
    "One event in the life of a run.",
    (
        _RUN,
        Column("event", STRING, "enum", "what happened", values=values_of(RunEvent)),
        Column("at", INSTANT, "µs, UTC", "when it happened"),
        Column("seed", INT64, "seed", "the seed that every other seed is derived from"),
        Column("config_json", STRING, "JSON", "the whole composed configuration"),
        Column("config_hash", STRING, "hash", "hash of the settings that change results"),
        Column("schema_version", INT32, "version", "SCHEMA_VERSION of the writer"),
        Column("code_version", STRING, "version", "version of the writing code", "not known"),
    ),
)

_GAMES = Table(
    "games",
    "One game, written once, when first met.",
    (
        Column("game_id", STRING, "id", "hash of canonical text, dialect and metadata"),
        Column("dialect", STRING, "name", "dialect of the program, such as xent or paper"),
        Column("code", STRING, "text", "the canonical program, as players are shown it"),
        Column("metadata_json", STRING, "JSON", "metadata that change play"),
        Column("steps", INT32, "steps", "unrolled length of the program"),
    ),
)

_PROPOSALS = Table(
    "proposals",
    "One text that a meta-sampler proposed, whatever became of it.",
    (
        _RUN,
        Column("proposal_id", STRING, "id", "the proposal, unique in its run"),
        _GENERATION,
        _PARENT,
        _PARENT_ROLE,
        _ROUND,
        _INDEX,
        Column("sampler", STRING, "name", "the meta-sampler that proposed it"),
        Column("operators", STRINGS, "names", "edits that led to the text, in order"),
        Column("parents", STRINGS, "ids", "game ids that the text was made from"),
        Column("text", STRING, "text", "the program as proposed"),
        Column("game_id", STRING, "id", "the game that the text means", "not a valid program"),
        Column("role", STRING, "name", "the main player", "not a valid program"),
        Column(
            "outcome",
            STRING,
            "name",
            f"what became of it: {', '.join(values_of(ProposalOutcome))}, or a sampler's own word",
        ),
        Column("errors", STRINGS, "text", "all errors of the program; empty when valid"),
        Column("model", STRING, "name", "reference of the model that wrote it", "no model did"),
        Column("prompt_hash", STRING, "hash", "hash of the prompt that was read", "no model wrote"),
        Column("raw_text", STRING, "text", "what the model wrote, unrepaired", "no model wrote"),
        Column("repairs", STRINGS, "names", "what was mended in raw_text, in order"),
        Column("tokens", INT64, "sampler tokens", "tokens read and written, failed drafts too"),
        Column("seconds", FLOAT64, "s", "wall-clock time spent, failed drafts too", finite=True),
        Column("dollars", FLOAT64, "dollars", "price of those tokens; 0: not priced", finite=True),
        Column("intent", STRING, "text", "what its writer said it was after", "nothing was said"),
        Column(
            "distance",
            INT32,
            "edits",
            "tree edits to the nearest game known before (xgl/distance.py)",
            "not a valid program",
        ),
        Column("nearest_game_id", STRING, "id", "that game", "not a valid program"),
    ),
)

_MAPS = Table(
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

_FINETUNES = Table(
    "finetunes",
    "One fine-tuning of the base player on one game.",
    (
        _RUN,
        Column("finetune_id", STRING, "id", "the fine-tuning; the policy_id of its scores"),
        _GAME,
        _ROLE,
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
        _SECONDS,
    ),
)

_SCORES = Table(
    "scores",
    "One play of one game by one policy: the facts that every value is derived from.",
    (
        _RUN,
        Column("policy_id", STRING, "id", f"who played: '{BASE_POLICY}' or a finetune_id"),
        _GAME,
        _ROLE,
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
            "score under clipped judge probabilities",
            "not computed",
        ),
        Column("moves", STRINGS, "text", "strings that the main player gave, in order"),
        Column("tokens", INT64, "player tokens", "read and sampled in this play"),
        _SECONDS,
    ),
)

_INTERVAL = "one-sided bound over evaluation seeds, at the row's confidence,"
_BOUNDED = "undefined, unbounded or not measured"


def _estimate(name: str, unit: str, meaning: str) -> Column:
    null = _BOUNDED if name.endswith(("_low", "_high")) else "undefined or not measured"
    return Column(name, FLOAT64, unit, meaning, null)


_DECISIONS = Table(
    "decisions",
    "One verdict on one candidate, with the numbers that it was taken on.",
    (
        _RUN,
        _GENERATION,
        _PARENT,
        _PARENT_ROLE,
        _ROUND,
        _INDEX,
        _GAME,
        _ROLE,
        Column("finetune_id", STRING, "id", "its fine-tuning", "refused before fine-tuning"),
        Column("verdict", STRING, "enum", "what was decided", values=values_of(Verdict)),
        Column("reason", STRING, "name", "why, in one or a few words"),
        Column(
            "definition", STRING, "enum", "the value that decides", values=values_of(Definition)
        ),
        Column("gain_kind", STRING, "enum", "the gain that values use", values=values_of(GainKind)),
        _estimate("captured", "1", "C of the candidate on its parent: the share it teaches"),
        _estimate("captured_low", "1", f"lower {_INTERVAL} of captured"),
        _estimate("captured_high", "1", f"upper {_INTERVAL} of captured"),
        _estimate("captured_def37", "1", "V (Definition 37) of the candidate on its parent"),
        _estimate("captured_def37_low", "1", f"lower {_INTERVAL} of captured_def37"),
        _estimate("captured_def37_high", "1", f"upper {_INTERVAL} of captured_def37"),
        _estimate("gamma", "1", "the most that one accepted game teaches of the candidate"),
        _estimate("gamma_low", "1", f"lower {_INTERVAL} of gamma, simultaneous over the scope"),
        _estimate("gamma_high", "1", f"upper {_INTERVAL} of gamma, simultaneous over the scope"),
        Column("gamma_game_id", STRING, "id", "the accepted game that attains gamma", "no gamma"),
        Column("gamma_role", STRING, "name", "main player of that game", "no gamma"),
        _estimate("alpha1", "1", "least captured value that accepts"),
        _estimate("alpha2", "1", "accepts gamma up to 1 − alpha2"),
        _estimate(
            "confidence", "probability", "of each one-sided bound (for gamma, of all together)"
        ),
        _estimate("own_gain", "bits", "gain of the candidate's fine-tuning on its own game"),
        _estimate("own_gain_low", "bits", f"lower {_INTERVAL} of own_gain"),
        _estimate("specific_gain", "bits", "the part of own_gain that permuting moves removes"),
        _estimate("specific_gain_low", "bits", f"lower {_INTERVAL} of specific_gain"),
        _estimate("specific_share", "share", "specific_gain / own_gain"),
        Column(
            "purpose",
            STRING,
            "enum",
            "the seeds it was decided on",
            "decided without scores",
            values=(Purpose.SELECTION.value, Purpose.ACCEPTANCE.value),
        ),
        Column("decided", BOOL, "bool", "whether the intervals settled it, rather than a budget"),
        Column("plays", INT64, "plays", "plays spent on this candidate"),
        Column("tokens", INT64, "player tokens", "tokens spent on this candidate"),
        _estimate("seconds", "s", "wall-clock time spent on this candidate"),
    ),
)

_SCOPES = Table(
    "scopes",
    "One member of the scope of one generation; every generation lists all its members.",
    (
        _RUN,
        _GENERATION,
        _GAME,
        _ROLE,
        _PARENT,
        Column("gamma", FLOAT64, "1", "its gamma when accepted", "of the initial scope"),
        Column(
            "accepted_in",
            INT32,
            "count",
            "first generation of the scope that holds it, its decision's plus 1; 0 when initial",
        ),
    ),
)

_COVERS = Table(
    "covers",
    "One member of the cover of one generation.",
    (
        _RUN,
        _GENERATION,
        Column("eta", FLOAT64, "1", "η asked for", finite=True),
        Column("definition", STRING, "enum", "the value that covers", values=values_of(Definition)),
        Column("delta", FLOAT64, "1", "Δ reached: the worst covered value", "not known"),
        _GAME,
        _ROLE,
        Column("covers", STRINGS, "ids", "game ids that this member covers"),
        Column("exact", BOOL, "bool", "proved to be a smallest cover"),
        Column("unknown", INT32, "count", "transfer values that were not known"),
    ),
)

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            _RUNS,
            _GAMES,
            _PROPOSALS,
            _MAPS,
            _FINETUNES,
            _SCORES,
            _DECISIONS,
            _SCOPES,
            _COVERS,
        )
    }
)
