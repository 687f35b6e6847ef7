"""The table of commands: name, help, function and arguments of each."""

from __future__ import annotations

from archive.cli import commands
from archive.cli.command import (
    GAIN,
    GAME,
    JSON,
    OPTIONAL_RUN,
    RUN,
    SAMPLE,
    Argument,
    Subcommand,
    choice,
    flag,
)
from archive.export.folder import FORMATS
from archive.schema import Definition, GainKind, Verdict
from archive.statistics.intervals import CONFIDENCE

_TABLE = "any table"
_XENT = "--format xent and inspect"
_SHARE = "what a gain is a share of; default: the run's"

_COMPONENTS = (
    Argument(
        "--alpha",
        "the share of a game's own gain from which on another teaches it, above 0",
        type=float,
        required=True,
        metavar="A",
    ),
    choice(
        "--definition",
        "the gain as a share of the own gain of the played game (captured, C; default) or of the "
        "trained one (def37, V)",
        Definition,
        default=Definition.CAPTURED,
    ),
)
_COVER = (
    Argument(
        "--eta",
        "how much of each game's own gain the cover must teach; default: 0.3",
        metavar="η",
        default="0.3",
    ),
    choice("--definition", _SHARE, Definition),
    choice("--gain", GAIN, GainKind),
    Argument(
        "--from",
        "which games may be members: those of the scope (default), or all fine-tuned ones",
        dest="source",
        choices=("scope", "finetuned"),
        default="scope",
    ),
    Argument(
        "--confidence",
        f"of the cover that holds by bounds; default: {CONFIDENCE}",
        metavar="P",
        default=str(CONFIDENCE),
    ),
    flag("--skip-unplayable", "leave out games that nothing was shown to teach"),
    flag("--sweep", "a cover for each η from 0 to 1"),
)
_DECISIONS = (
    Argument("--why", "a game, by id or name: explain its decision", metavar="GAME"),
    choice("--verdict", "only those", Verdict),
)
_JUDGE = "the run's judge, to be named where another user began the run"
_REPORT = (
    Argument("-o --output", "default: report.html", metavar="FILE.html", default="report.html"),
    Argument(
        "--measured",
        "also show the models of a run of +experiment=measure; may be given again",
        metavar="RUN",
        action="append",
        default=[],
    ),
    flag("--force", "replace an existing file"),
    Argument("--judge", _JUDGE, metavar="MODEL"),
    flag("--no-judge", "do not load the run's judge: bits by token only if archived"),
)
_EXPORT = (
    Argument("folder", "a new or empty folder", metavar="FOLDER"),
    Argument(
        "--format",
        "game files (default); a measure for the authors' package; prompts to train "
        "on; an environment of verifiers; archived moves for SFT or DPO; adapters for PEFT",
        choices=tuple(FORMATS),
        default="xgl",
    ),
    Argument(
        "--eta",
        "the fewest games that teach the others this share of their gain; default: all",
        metavar="η",
    ),
    Argument("--maps", "of a game, at most; default: 20 (rows to train on: 256)", metavar="N"),
    Argument("--judge", _JUDGE, metavar="MODEL"),
    flag(
        "--allow-inexact", "also games that are nearly the same in the authors' engine", group=_XENT
    ),
    choice(
        "--definition", "what a gain is a share of; default: the run's", Definition, group=_XENT
    ),
    flag("--skip-unplayable", "leave out games that nothing was shown to teach", group=_XENT),
    Argument(
        "--with-judge",
        "copy the judge's weights, of any size, to the folder; default: up to 64 MiB",
        group=_XENT,
        action="store_true",
        default=None,
    ),
    Argument("--without-judge", group=_XENT, dest="with_judge", action="store_false"),
    flag("--no-scores", "load no judge, and do not score the best known moves", group=_XENT),
    Argument(
        "--playable",
        "number of games drawn from all learned ones, accepted or not, instead of a cover",
        group=_XENT,
        metavar="N",
    ),
    Argument(
        "--discriminating",
        "of a measured run: the fewest games that rank its players as all do, with no mean narms "
        "off by more than this share; default: all games",
        group=_XENT,
        metavar="SHARE",
    ),
    Argument("--draw", "which draw of --playable; default: 0", group=_XENT, default="0"),
    Argument(
        "--ceiling",
        "search for the best known scores, with this number of judge calls of each of three "
        "solvers on each map; default: 0",
        group=_XENT,
        metavar="CALLS",
        default="0",
    ),
)
_RATINGS = (
    Argument("runs", "runs of +experiment=measure on one measure", metavar="RUN", nargs="*"),
    Argument(
        "--preference",
        "who scored more on a map (default), or by how much, as a share of the base player's "
        "progress",
        choices=("win", "margin"),
        default="win",
    ),
    Argument("-o --output", "also write the page of a report", metavar="FILE.html"),
    flag("--force", "replace an existing file"),
    Argument(
        "--table",
        "instead of runs: scores of models on tasks, or judged pairs, as CSV, JSONL or Parquet",
        metavar="FILE",
        group=_TABLE,
    ),
    Argument("--model", "the column of the model", metavar="COLUMN", group=_TABLE),
    Argument("--task", "the column of the task, or several", metavar="COLUMNS", group=_TABLE),
    Argument("--score", "the column of the score", metavar="COLUMN", group=_TABLE),
    Argument("--tasks", "columns that are the tasks", metavar="COLUMNS", group=_TABLE),
    Argument(
        "--missing",
        "leave out models and tasks with missing comparisons (default), or count those as draws",
        choices=("leave-out", "draw"),
        default="leave-out",
        group=_TABLE,
    ),
    Argument(
        "--resamples",
        "of maps, of a table's tasks or judgements; 0: no intervals; default: 200, and 0 for large "
        "tables",
        metavar="B",
    ),
    Argument(
        "--confidence", f"of intervals; default: {CONFIDENCE}", metavar="P", default=str(CONFIDENCE)
    ),
    Argument(
        "--workers",
        "processes; default: one for each core if there is much to compute",
        metavar="N",
        default=None,
    ),
)

COMMANDS = (
    Subcommand(commands.inspect, (*OPTIONAL_RUN, JSON)),
    Subcommand(commands.show, (*OPTIONAL_RUN, GAME, JSON)),
    Subcommand(commands.lineage, (*OPTIONAL_RUN, GAME, JSON)),
    Subcommand(commands.matrix, (*OPTIONAL_RUN, *SAMPLE, JSON)),
    Subcommand(commands.components, (*OPTIONAL_RUN, *_COMPONENTS, *SAMPLE, JSON)),
    Subcommand(commands.cover, (*RUN, JSON, *_COVER)),
    Subcommand(commands.decisions, (*OPTIONAL_RUN, *_DECISIONS, JSON)),
    Subcommand(commands.report, (*RUN, *_REPORT)),
    Subcommand(commands.samplers, (*RUN, JSON)),
    Subcommand(commands.ratings, (*_RATINGS, JSON)),
    Subcommand(commands.export, (*RUN, *_EXPORT)),
    Subcommand(commands.verify, (*OPTIONAL_RUN, JSON)),
)
