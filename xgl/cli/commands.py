"""One function for each command: arguments in, exit code out."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from xgl import library
from xgl.cli import checking
from xgl.cli.formatting import formatted
from xgl.cli.output import bounded
from xgl.cli.sources import Source, SourceError, drawable, read
from xgl.diagram import draw
from xgl.errors import ProgramError
from xgl.language.canonical import game


def check(arguments: Namespace) -> int:
    """Problems, notes and facts of each program; 1 when any has a problem."""
    results = [checked(read(name, arguments.dialect)) for name in arguments.game]
    records, texts = [record for record, _ in results], [text for _, text in results]
    said = json.dumps(records, indent=1, ensure_ascii=False) if arguments.json else "\n".join(texts)
    print(bounded(said, len(results)))
    return int(any(record["problems"] or record["faults"] for record, _ in results))


def checked(source: Source) -> tuple[dict[str, Any], str]:
    """All facts of a program, for programs and for people."""
    try:
        program = source.program()
    except ProgramError as error:
        problems = [_problem(problem) for problem in error.problems]
        return {"origin": source.origin, "problems": problems, "faults": []}, str(error)
    reports = checking.roles(program)
    record = {"origin": source.origin, "problems": [], **checking.record(program, reports)}
    lines = [f"{source.origin}: {'a problem' if record['faults'] else 'ok'}"]
    lines += [f"  problem: {fault}" for fault in record["faults"]]
    lines += [f"  note: {note}" for note in record["notes"]]
    lines += [f"  {fact}" for fact in checking.facts(program, reports[0])]
    return record, "\n".join(lines)


def _problem(problem: Any) -> dict[str, Any]:
    names = ("line", "column", "found", "expected", "suggestion")
    return {name: getattr(problem, name) for name in names}


def format_(arguments: Namespace) -> int:
    """The program in one spelling; with ``--check`` 1 when it is not spelled so."""
    source = read(arguments.game, arguments.dialect)
    source.program()
    text = formatted(source.text, source.dialect)
    if arguments.check:
        changed = text != source.text
        print(f"{source.origin}: {'would change' if changed else 'ok'}")
        return int(changed)
    if not arguments.write:
        print(text, end="")
    elif source.path is None:
        raise SourceError("standard input cannot be written back; leave out --write")
    elif text != source.text:
        source.path.write_text(text, encoding="utf-8")
    return 0


def canonical(arguments: Namespace) -> int:
    """The canonical text, and the id in a comment below, so that the output is a program."""
    found = game(read(arguments.game, arguments.dialect).program())
    print(f"{found.code}\n# game_id: {found.game_id} ({found.dialect} dialect, default metadata)")
    return 0


def diagram(arguments: Namespace) -> int:
    """The game as SVG."""
    source = read(arguments.game, arguments.dialect)
    svg = bounded(draw(drawable(source), source.title))
    if arguments.output:
        Path(arguments.output).write_text(svg, encoding="utf-8")
    else:
        sys.stdout.write(svg)
    return 0


def games(arguments: Namespace) -> int:
    """The library's names, figures and descriptions."""
    for entry in library.entries():
        figure = f"Figure {entry.figure}" if entry.figure else ""
        refused = " (refused: too long)" if entry.refused else ""
        print(f"{entry.name:<32} {figure:<12} {entry.description}{refused}")
    return 0


def play(arguments: Namespace) -> int:
    """A person, a script or a chat model plays."""
    from xgl.cli.playing import run  # needs rich and, for its judge, torch

    return run(arguments, read(arguments.game, arguments.dialect))
