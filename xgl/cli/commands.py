"""The commands: one function for each, from arguments to an exit code, and the table of them."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator
from functools import partial
from typing import Any

from xgl import library
from xgl.analysis.static_facts import StaticFacts, analyse_roles
from xgl.diagram import draw
from xgl.errors import ConfigError, ProgramError, excerpt, wrong_ending
from xgl.files import user_path, write_text
from xgl.language.canonical import HEAD, metadata_lines, model_names, own_metadata
from xgl.language.dialects import DIALECTS
from xgl.language.syntax import Program
from xgl.library import Source, read_source
from xgl.runtime.predicates import free_statements


def check(game: list[str], dialect: str | None) -> int:
    """Problems, notes and facts of each program; 1 when any has a problem."""
    reports = [program_facts(read_source(name, dialect)) for name in game]
    print("\n".join(text for text, _ in reports))
    return int(not all(is_sound for _, is_sound in reports))


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
    lines += [f"  {fact}" for fact in fact_lines(program, reports[0])]
    lines += [f"  {line.removeprefix(HEAD).strip()}" for line in metadata_lines(whole)]
    if models := model_names(whole):
        lines.append(f"  needs models under the judge: {', '.join(models)}")
    return "\n".join(lines), not wrong


def canonical(game: str, dialect: str | None) -> int:
    """The canonical text below its metadata, and the id in a comment, so that the output is the
    same game again."""
    whole = read_source(game, dialect).game()
    lines = *own_metadata(whole.metadata), whole.code
    print(*lines, f"# game_id: {whole.game_id} ({whole.dialect} dialect)", sep="\n")
    return 0


def diagram(game: str, dialect: str | None, output: str | None) -> int:
    """The game as SVG. Raises :class:`ConfigError` for a file of another kind."""
    if output and (problem := wrong_ending(output, ".svg")):
        raise ConfigError(problem)
    source = read_source(game, dialect)
    svg = draw(source.program(), source.title)
    if output:
        write_text(user_path(output), svg)
    else:
        sys.stdout.write(svg)
    return 0


def games() -> int:
    """The library's names, sources and descriptions."""
    for entry in library.entries():
        note = " (ill-posed)" if entry.ill_posed else ""
        print(f"{entry.name:<32} {entry.source:<12} {entry.description}{note}")
    return 0


def judge(model: str, tokenizer: str | None, key_variable: str | None) -> int:
    """How well a model decides the committed statements."""
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
    """A person, a script or a chat model plays."""
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
    if not faults(reports):
        slips += [f"{r.role} can learn nothing: {r.degenerate}" for r in reports if r.degenerate]
    return slips


def fact_lines(program: Program, report: StaticFacts) -> Iterator[str]:
    """Lines for a person; line numbers are those of the file."""
    stories = "1 story" if report.stories == 1 else f"{report.stories} stories"
    yield f"{report.steps} steps, {stories}; players: {', '.join(report.players)}"
    for request in report.elicits:
        times = "" if request.times == 1 else f", {request.times} times"
        sees = f"sees {' '.join(request.sees)}" if request.sees else "sees no text"
        misses = f", not {' '.join(request.hidden)}" if request.hidden else ""
        asked = f"line {program.source_line(request.line - 1)}: {request.player} writes"
        limit = f"(at most {request.max_len} tokens{times})"
        yield f"{asked} {request.register} {limit}; {sees}{misses}"


# -- the table of commands ----------------------------------------------------------------------

Argument = tuple[tuple[str, ...], dict[str, Any]]
"""The names of an argument, and what else argparse takes."""
EXCLUSIVE = ("--moves", "--chat", "--local")
"""Who moves in the person's place: at most one of these."""


def _option(*names: str, help: str, **settings: Any) -> Argument:
    return names, {"help": help, **settings}


def _whole_number(least: int, text: str) -> int:
    if not text.isdecimal() or len(text) > 600 or int(text) < least:  # Python may read no more
        raise ArgumentTypeError(
            f"found {excerpt(text, 40)!r}; expected a whole number from {least} on"
        )
    return int(text)


_NAMED = "a .xgl or .xent file, a game of the library, or - for standard input"
_DIALECT = _option("--dialect", choices=tuple(DIALECTS), help="default: by the suffix, else paper")
_GAME = (_option("game", metavar="GAME", help=_NAMED), _DIALECT)
_GAMES = (_option("game", metavar="GAME", nargs="+", help=_NAMED), _DIALECT)
_PLAY = (
    _option("--judge", default="embedded", help="embedded (default), smollm2, a folder"),
    _option(
        "--other",
        metavar="NAME=MODEL",
        action="append",
        help="a model under the judge, which programs name by @NAME; may be repeated",
    ),
    _option(
        "--stories",
        metavar="SOURCE",
        default="corpus",
        help="of the map's texts: corpus (default), a file, judge, a model",
    ),
    _option("--role", metavar="PLAYER", help="default: black, or who is asked first"),
    _option("--seed", type=partial(_whole_number, 0), default=0, metavar="N", help="of the map"),
    _option("--rounds", type=partial(_whole_number, 1), metavar="N", help="on one map; default 1"),
    _option("--moves", metavar="FILE", help="JSON: moves instead of asking for them"),
    _option("--chat", metavar="MODEL", help="a model behind an OpenAI-compatible API"),
    _option("--local", metavar="MODEL", help="embedded, smollm2, a folder"),
    _option("--base-url", metavar="URL", help="of that API; default: OpenAI's"),
    _option("--key-variable", metavar="NAME", help="environment variable with its key"),
    _option("--body", metavar="JSON", help="further parameters of requests to it"),
    _option("--json", help="the outcome, for programs", action="store_true"),
)
COMMANDS: dict[str, tuple[Any, ...]] = {
    "check": (check, "problems and static facts of programs", *_GAMES),
    "canonical": (canonical, "the text that all spellings of a game share, and its id", *_GAME),
    "diagram": (
        diagram,
        "the game as a picture (SVG)",
        *_GAME,
        _option("-o", "--output", metavar="FILE.svg", help="default: standard output"),
    ),
    "play": (play, "play a game in the terminal", *_GAME, *_PLAY),
    "games": (games, "list the library"),
    "judge": (
        judge,
        "how well a judge decides statements",
        _option("model", metavar="MODEL", help="embedded, smollm2, a folder, a hub id, vllm:…@URL"),
        _option("--tokenizer", metavar="MODEL", help="of a model behind a server"),
        _option("--key-variable", metavar="NAME", help="variable with the server's key"),
    ),
}
"""The words of the command line: what each calls with its arguments by name, what it does, and its
arguments."""
