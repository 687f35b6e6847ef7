"""The commands: one function for each, from arguments to an exit code, and the table of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from xgl import library
from xgl.analysis.static_facts import StaticFacts, analyse_roles
from xgl.command_line import Argument, Commands, count, flag
from xgl.diagram import draw
from xgl.errors import ConfigError, ProgramError, wrong_ending
from xgl.files import user_path, write_text
from xgl.language.canonical import HEAD, metadata_lines, model_names, own_metadata
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import Ensure, Program
from xgl.language.visitors import reads
from xgl.library import Source, read_source
from xgl.runtime.predicates import free_statements


def check(game: list[str], dialect: str | None) -> int:
    """Problems and static facts of programs. Exit code 1 if one has a problem."""
    wrong = 0
    for name in game:
        text, is_sound = program_facts(read_source(name, dialect))
        print(text)
        wrong |= not is_sound
    return wrong


def program_facts(source: Source) -> tuple[str, bool]:
    """All facts of a program, for people, and whether it is a game."""
    try:
        whole, program = source.game(), source.program()
    except ProgramError as error:
        return str(error), False
    reports = analyse_roles(program, whole.metadata)
    wrong = faults(reports)
    lines = [f"{source.origin}: {'a problem' if wrong else 'ok'}"]
    lines += [f"  problem: {fault}" for fault in wrong]
    lines += [f"  note: {note}" for note in notes(program, reports)]
    if reason := next((e.ill_posed for e in library.entries() if e.path == source.path), ""):
        lines.append(f"  note: ill-posed: {reason}")
    lines += [f"  {fact}" for fact in fact_lines(program, reports[0])]
    lines += [f"  {line.removeprefix(HEAD).strip()}" for line in metadata_lines(whole)]
    if models := model_names(whole):
        lines.append(f"  needs models under the judge: {', '.join(models)}")
    return "\n".join(lines), not wrong


def canonical(game: str, dialect: str | None) -> int:
    """The text that all spellings of a game share, and its id. It stands below the metadata and the
    id in a comment, so that the output is the same game again."""
    whole = read_source(game, dialect).game()
    lines = *own_metadata(whole.metadata), whole.code
    print(*lines, f"# game_id: {whole.game_id} ({whole.dialect} dialect)", sep="\n")
    return 0


def diagram(game: str, dialect: str | None, output: str | None) -> int:
    """The game as a picture (SVG)."""
    if output and (problem := wrong_ending(output, ".svg")):
        raise ConfigError(problem)
    source = read_source(game, dialect)
    source.game()  # refuses a wrong header
    svg = draw(source.program(), source.title)
    if output:
        write_text(user_path(output), svg)
    else:
        sys.stdout.write(svg)
    return 0


def games() -> int:
    """The games of the library. Their names, sources and descriptions."""
    for entry in library.entries():
        note = " (ill-posed)" if entry.ill_posed else ""
        print(f"{entry.name:<32} {entry.source:<12} {entry.description}{note}")
    return 0


def judge(model: str, tokenizer: str | None, key_variable: str | None) -> int:
    """How well a judge decides statements."""
    from xgl.judge.loading import load_judge  # needs torch
    from xgl.judge.reliability import CHANCE, reliability

    found = reliability(load_judge(model, "auto", "auto", tokenizer, key_variable))
    luck = "; so near chance, games that ensure a statement are won or lost by luck"
    print(
        f"{model} calls {found.called_true} of {found.pairs} true statements true and "
        f"{found.called_false} of {found.pairs} false ones false\n"
        f"area under the ROC curve {found.area:.2f} [{found.low:.2f}, {found.high:.2f}], 0.5 by "
        f"chance (95 % over {found.pairs} subjects){luck if found.low <= CHANCE else ''}"
    )
    return 0


def play(game: str, dialect: str | None, **options: Any) -> int:
    """Play a game in the terminal. A person, a script or a model makes the moves."""
    from xgl.cli.session import run  # needs rich and, for its judge, torch

    return run(read_source(game, dialect), **options)


# -- facts of a program, for check --------------------------------------------------------------


def faults(reports: list[StaticFacts]) -> list[str]:
    """Reasons why the program is no game: it cannot run, or no player can learn from it."""
    if reports[0].faults:
        return list(reports[0].faults)
    reasons = [f"{report.role}: {report.degenerate}" for report in reports if report.degenerate]
    return reasons if len(reasons) == len(reports) else []


def notes(program: Program, reports: list[StaticFacts]) -> list[str]:
    """Things that are allowed but probably mistakes."""
    slips = [f"{name} is read before it is set" for name in reports[0].read_before_set]
    slips += [
        f"line {program.source_line(index)}: a model decides this statement, and a small one by "
        "chance: `python -m xgl judge MODEL` measures one"
        for index in free_statements(program)
    ]
    slips += [
        f"line {program.source_line(index)}: a condition reads no register (a quoted name is text)"
        for index, line in enumerate(program.instructions)
        if isinstance(line, Ensure) and not all(map(reads, line.conditions))
    ]
    if not faults(reports):
        slips += [f"{r.role} can learn nothing: {r.degenerate}" for r in reports if r.degenerate]
    return slips


def fact_lines(program: Program, report: StaticFacts) -> Iterator[str]:
    """Lines for a person; line numbers are those of the file."""
    stories = "1 story" if report.stories == 1 else f"{report.stories} stories"
    steps = "1 step" if report.steps == 1 else f"{report.steps} steps"
    yield f"{steps}, {stories}; players: {', '.join(report.players) or 'none'}"
    for request in report.elicits:
        times = "" if request.times == 1 else f", {request.times} times"
        sees = f"sees {' '.join(request.sees)}" if request.sees else "sees no text"
        misses = f", not {' '.join(request.hidden)}" if request.hidden else ""
        asked = f"line {program.source_line(request.line - 1)}: {request.player} writes"
        limit = f"(at most {request.max_len} tokens{times})"
        yield f"{asked} {request.register} {limit}; {sees}{misses}"


# -- the table of commands ----------------------------------------------------------------------

_GAME = "a .xgl or .xent file, a game of the library, or - for standard input"
_DIALECT = Argument("--dialect", "default: by the suffix, else paper", choices=tuple(DIALECTS))
_ONE = (Argument("game", _GAME, metavar="GAME"), _DIALECT)
_PLAY = (
    Argument("--judge", "embedded (default), smollm2, a folder", default="embedded"),
    Argument(
        "--other",
        "a model under the judge, which programs name by @NAME; may be repeated",
        metavar="NAME=MODEL",
        action="append",
    ),
    Argument(
        "--stories",
        "of the map's texts: corpus (default), a file, judge, a model",
        metavar="SOURCE",
        default="corpus",
    ),
    Argument("--role", "default: black, or the first who may learn", metavar="PLAYER"),
    count("--seed", "of the map", 0, default=0),
    count("--rounds", "on one map; default 1", 1),
    Argument("--moves", "JSON: moves instead of asking for them", metavar="FILE"),
    Argument("--chat", "a model behind an OpenAI-compatible API", metavar="MODEL"),
    Argument("--local", "embedded, smollm2, a folder, adapter:RUN:ID", metavar="MODEL"),
    Argument("--base-url", "of that API; default: OpenAI's", metavar="URL"),
    Argument("--key-variable", "environment variable with its key", metavar="NAME"),
    Argument("--body", "further parameters of requests to it", metavar="JSON"),
    flag("--json", "the outcome, for programs"),
)
_JUDGE = (
    Argument("model", "embedded, smollm2, a folder, a hub id, vllm:…@URL", metavar="MODEL"),
    Argument("--tokenizer", "of a model behind a server", metavar="MODEL"),
    Argument("--key-variable", "variable with the server's key", metavar="NAME"),
)
COMMANDS: Commands = {
    check: (Argument("game", _GAME, metavar="GAME", nargs="+"), _DIALECT),
    canonical: _ONE,
    diagram: (*_ONE, Argument("-o --output", "default: standard output", metavar="FILE.svg")),
    play: (*_ONE, *_PLAY),
    games: (),
    judge: _JUDGE,
}
