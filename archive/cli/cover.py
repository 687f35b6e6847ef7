"""``cover``: the fewest games of a run that teach its newest scope."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from pathlib import Path

from archive.cli.arguments import add_json, add_run, console, opened
from archive.errors import CoverError, WriteError
from archive.query import deciding_value, find_run, games, newest_scope, run_config
from archive.schema import Definition, GainKind
from archive.statistics.plays import read_run_plays
from archive.statistics.scope_cover import CoverQuestion, scope_cover, sweep
from archive.views.cover import show, to_json
from archive.views.cover_curve import curve
from xgl.diagram.svg import to_svg

HELP = "show the optimal cover of the newest scope at an η"


def arguments(parser: ArgumentParser) -> None:
    """RUN and the question."""
    add_run(parser)
    add_json(parser)
    parser.add_argument("--eta", metavar="η", default="0.3", help="default: 0.3")
    parser.add_argument(
        "--definition", type=Definition, choices=[*Definition], help="default: the run's"
    )
    parser.add_argument("--gain", type=GainKind, choices=[*GainKind], help="default: the run's")
    parser.add_argument(
        "--from",
        dest="source",
        choices=("scope", "finetuned"),
        default="scope",
        help="which games may be members: those of the scope (default), or all fine-tuned ones",
    )
    parser.add_argument(
        "--confidence", metavar="P", default="0.95", help="of the confident cover; default: 0.95"
    )
    parser.add_argument(
        "--skip-unplayable", action="store_true", help="leave out games with no defined value"
    )
    parser.add_argument("--sweep", action="store_true", help="covers at η from 0 to 1")
    parser.add_argument("--curve", metavar="FILE.svg", help="draw the sweep; absent before")


def run(arguments: Namespace) -> None:
    """Prints the cover; writes the curve."""
    eta = _number(arguments.eta, "--eta", 0, math.inf)
    confidence = _number(arguments.confidence, "--confidence", 0.5, 1)
    target = None if arguments.curve is None else Path(arguments.curve)
    if target is not None and (target.exists() or not target.parent.is_dir()):
        raise WriteError(f"--curve: found {target}, expected a new file in an existing folder")
    with opened(arguments) as archive:
        found_run = find_run(archive, arguments.run_id)
        _, members = newest_scope(archive, found_run.run_id)
        definition, gain = deciding_value(run_config(archive, found_run.run_id))
        question = CoverQuestion(
            eta,
            arguments.definition or definition,
            arguments.gain or gain,
            arguments.source == "finetuned",
            confidence,
            arguments.skip_unplayable,
        )
        scope = [member.task_id for member in members]
        found = scope_cover(read_run_plays(archive, found_run.run_id), scope, question)
        codes = games(archive, (task_id.game_id for task_id in found.matrix.sources))
    steps = sweep(found) if arguments.sweep or target is not None else []
    if target is not None:
        target.write_text(to_svg(curve(steps, confidence)), encoding="utf-8")
    if arguments.json:
        print(to_json(found, found_run.run_id, steps))
    else:
        programs = {game_id: row["code"] for game_id, row in codes.items()}
        show(found, programs, steps if arguments.sweep else [], console())


def _number(text: str, name: str, low: float, high: float) -> float:
    """A number in [low, high), or (low, high) where both are finite. Raises CoverError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (low <= number < high) or (math.isfinite(high) and number == low):
        wanted = f"between {low:g} and {high:g}" if math.isfinite(high) else f"from {low:g} up"
        raise CoverError(f"{name}: found {text}, expected a number {wanted}")
    return number
