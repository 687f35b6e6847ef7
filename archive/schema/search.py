"""Tables of a search: runs, games, proposals, decisions, scopes, covers."""

from __future__ import annotations

from archive.schema.column import (
    BOOL,
    FLOAT64,
    GAME,
    GENERATION,
    INDEX,
    INSTANT,
    INT32,
    INT64,
    INTS,
    PARENT,
    PARENT_ROLE,
    ROLE,
    ROUND,
    RUN,
    SCOPE,
    STRING,
    STRINGS,
    Column,
    Table,
    values_of,
)
from archive.schema.enums import (
    DecisionRule,
    Definition,
    GainKind,
    ProposalOutcome,
    Purpose,
    Reason,
    RunEvent,
    Verdict,
)

RUNS = Table(
    "runs",
    "One event in the life of a run.",
    (
        RUN,
        Column("event", STRING, "enum", "what happened", values=values_of(RunEvent)),
        Column("at", INSTANT, "µs, UTC", "when it happened"),
        Column("seed", INT64, "seed", "the seed that every other seed is derived from"),
        Column("config_json", STRING, "JSON", "the whole composed configuration"),
        Column("config_hash", STRING, "hash", "hash of the settings that change results"),
        Column("schema_version", INT32, "version", "SCHEMA_VERSION of the writer"),
        Column("code_version", STRING, "version", "version of the writing code", "not known"),
    ),
)

GAMES = Table(
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

PROPOSALS = Table(
    "proposals",
    "One text that a meta-sampler proposed, whatever became of it.",
    (
        RUN,
        Column("proposal_id", STRING, "id", "the proposal, unique in its run"),
        GENERATION,
        PARENT,
        PARENT_ROLE,
        ROUND,
        INDEX,
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
            "tree edits to the nearest game known before (xgl/analysis/tree_distance.py)",
            "not a valid program",
        ),
        Column("nearest_game_id", STRING, "id", "that game", "not a valid program"),
    ),
)

INTERVAL = "one-sided bound over evaluation seeds, at its look's confidence,"
NO_SCRIPTS = "no script played it"
BOUNDED = "undefined, unbounded or not measured"


def _estimate(name: str, unit: str, meaning: str) -> Column:
    null = BOUNDED if name.endswith(("_low", "_high")) else "undefined or not measured"
    return Column(name, FLOAT64, unit, meaning, null)


DECISIONS = Table(
    "decisions",
    "One verdict on one candidate, with the numbers that it was taken on.",
    (
        RUN,
        GENERATION,
        PARENT,
        PARENT_ROLE,
        ROUND,
        INDEX,
        GAME,
        ROLE,
        Column("finetune_id", STRING, "id", "its fine-tuning", "refused before fine-tuning"),
        Column("verdict", STRING, "enum", "what was decided", values=values_of(Verdict)),
        Column("reason", STRING, "enum", "why", values=values_of(Reason)),
        Column("detail", STRING, "text", "the numbers behind the reason", "the reason has none"),
        Column(
            "definition", STRING, "enum", "the value that decides", values=values_of(Definition)
        ),
        Column("gain_kind", STRING, "enum", "the gain that values use", values=values_of(GainKind)),
        Column(
            "rule",
            STRING,
            "enum",
            "the conditions that decide",
            values=values_of(DecisionRule),
        ),
        _estimate("captured", "1", "C of the candidate on its parent: the share it teaches"),
        _estimate("captured_low", "1", f"lower {INTERVAL} of captured"),
        _estimate("captured_high", "1", f"upper {INTERVAL} of captured"),
        Column(
            "captured_plays",
            INT32,
            "plays",
            "first plays that captured rests on: those up to the look that settled it",
            "not measured",
        ),
        _estimate("captured_def37", "1", "V (Definition 37) of the candidate on its parent"),
        _estimate("captured_def37_low", "1", f"lower {INTERVAL} of captured_def37"),
        _estimate("captured_def37_high", "1", f"upper {INTERVAL} of captured_def37"),
        _estimate("gamma", "1", "the most that one accepted game teaches of the candidate"),
        _estimate("gamma_low", "1", f"lower {INTERVAL} of gamma, simultaneous over the scope"),
        _estimate("gamma_high", "1", f"upper {INTERVAL} of gamma"),
        Column("gamma_game_id", STRING, "id", "the accepted game that attains gamma", "no gamma"),
        Column("gamma_role", STRING, "name", "main player of that game", "no gamma"),
        _estimate(
            "cross_ratio", "1", "C of the candidate on its parent times C of that on the candidate"
        ),
        _estimate("cross_ratio_low", "1", f"lower {INTERVAL} of cross_ratio"),
        _estimate("cross_ratio_high", "1", f"upper {INTERVAL} of cross_ratio"),
        _estimate("gamma_cross_ratio", "1", "the same with the game that attains gamma"),
        _estimate("gamma_cross_ratio_low", "1", f"lower {INTERVAL} of gamma_cross_ratio"),
        _estimate("gamma_cross_ratio_high", "1", f"upper {INTERVAL} of gamma_cross_ratio"),
        _estimate("alpha1", "1", "least captured value that accepts"),
        _estimate("alpha2", "1", "accepts gamma up to 1 − alpha2"),
        _estimate(
            "confidence", "probability", "of the whole test, its error being shared over its looks"
        ),
        Column(
            "looks", INTS, "plays", "numbers of plays at which the test looks; bounds rest on one"
        ),
        Column(
            "first_play",
            INT64,
            "seed",
            "play seed of its first play; those of a list's acceptance tests are its own",
            "decided without scores",
        ),
        Column(
            "scope_finetunes",
            STRINGS,
            "ids",
            "of the parent and the scope's games that had been fine-tuned more than once: those "
            "fine-tunings that spoke for them, a game's best first; the others' oldest did",
        ),
        Column(
            "scope_size", INT32, "count", "games of the scope, which share the error of gamma_low"
        ),
        _estimate("help_gain", "bits", "total gain of the candidate's fine-tuning on the parent"),
        _estimate("help_gain_low", "bits", f"lower {INTERVAL} of help_gain"),
        _estimate(
            "own_gain",
            "bits",
            "gain of the candidate's fine-tuning on its own game, of the kind gain_kind",
        ),
        _estimate("own_gain_low", "bits", f"lower {INTERVAL} of own_gain"),
        _estimate("total_gain", "bits", "total gain of the candidate's fine-tuning on its game"),
        _estimate("total_gain_low", "bits", f"lower {INTERVAL} of total_gain"),
        _estimate("specific_gain", "bits", "the part of total_gain that permuting moves removes"),
        _estimate("specific_gain_low", "bits", f"lower {INTERVAL} of specific_gain"),
        _estimate("specific_share", "share", "specific_gain / total_gain"),
        Column(
            "best_script",
            STRING,
            "name",
            "of the scripted players that made these plays, the one with the highest mean score",
            NO_SCRIPTS,
        ),
        Column(
            "script_plays", INT32, "plays", "first plays that scripts are compared on", NO_SCRIPTS
        ),
        _estimate("script_gain", "bits", "mean score of best_script above the base player's"),
        _estimate(
            "beyond_scripts",
            "bits",
            "mean score of the candidate's fine-tuning above the best script's",
        ),
        _estimate("beyond_scripts_low", "bits", f"lower {INTERVAL} of beyond_scripts"),
        _estimate("beyond_scripts_high", "bits", f"upper {INTERVAL} of the same"),
        _estimate(
            "specific_beyond_scripts",
            "bits",
            "the same of specific scores, above the script that is best in these",
        ),
        _estimate("specific_beyond_scripts_low", "bits", f"lower {INTERVAL} of the same"),
        _estimate("specific_beyond_scripts_high", "bits", f"upper {INTERVAL} of the same"),
        _estimate(
            "best_kept",
            "share",
            "of its calibration maps: the best of the moves scored there stays best under clipping",
        ),
        _estimate(
            "few_shot_low",
            "probability",
            "lower bound: arms rises at each of the first m steps (Def. 33), from rounds",
        ),
        _estimate("few_shot_high", "probability", "upper bound of the same"),
        _estimate(
            "few_shot_above_control",
            "bits",
            "arms at the last round, above that of the control, in rounds",
        ),
        _estimate(
            "few_shot_above_control_low",
            "bits",
            "its lower one-sided bound over maps, at the row's confidence",
        ),
        Column(
            "purpose",
            STRING,
            "enum",
            "the seeds it was decided on",
            "decided without scores",
            values=(Purpose.SELECTION.value, Purpose.ACCEPTANCE.value),
        ),
        Column("decided", BOOL, "bool", "whether the intervals decided it, rather than a budget"),
        Column("plays", INT64, "plays", "plays of models spent on this candidate"),
        Column("tokens", INT64, "player tokens", "tokens spent on this candidate"),
        _estimate("seconds", "s", "time spent on this candidate: the sum of that of its rows"),
    ),
)

SCOPES = Table(
    "scopes",
    "One member of one scope; every scope lists all its members.",
    (
        RUN,
        SCOPE,
        GAME,
        ROLE,
        PARENT,
        Column("gamma", FLOAT64, "1", "its gamma when accepted", "of the initial scope"),
        GENERATION,
    ),
)

COVERS = Table(
    "covers",
    "One member of the cover of one scope.",
    (
        RUN,
        SCOPE,
        Column("eta", FLOAT64, "1", "η asked for", finite=True),
        Column("definition", STRING, "enum", "the value that covers", values=values_of(Definition)),
        Column("delta", FLOAT64, "1", "Δ reached: the worst covered value", "not known"),
        GAME,
        ROLE,
        Column("covers", STRINGS, "ids", "game ids that this member covers"),
        Column("exact", BOOL, "bool", "proved to be a smallest cover"),
        Column("unknown", INT32, "count", "transfer values that were not known"),
    ),
)
