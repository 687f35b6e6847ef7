"""``verify``: does the archive fit together? Exit code 2 where it does not."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from archive.cli.arguments import add_json, add_run, console, opened
from archive.verification import Verification, verify
from archive.views.tables import add, counted, shown, table, to_json

HELP = "recompute hashes, follow references, take decisions and scopes again"


def arguments(parser: ArgumentParser) -> None:
    """RUN."""
    add_run(parser, optional=True)
    add_json(parser)


def run(arguments: Namespace) -> int:
    """Prints what does not fit."""
    with opened(arguments) as archive:
        found = verify(archive)
    print(to_json(found)) if arguments.json else _show(found)
    return 2 if found.faults else 0


def _show(found: Verification) -> None:
    out = console()
    for title, findings in (("Does not fit", found.faults), ("Allowed", found.notes)):
        if findings:
            rows = table(title, "where", "found", "expected")
            for finding in findings:
                add(rows, finding.where, finding.found, finding.expected)
            out.print(rows)
    checked = ", ".join(f"{count:,} {name}" for name, count in found.checked.items() if count)
    out.print(shown(f"{found.folder}: checked {checked}."))
    for reason, count in found.unchecked.items():
        decisions = counted(count, "decision")
        out.print(shown(f"{decisions} not taken again: {reason}."))
    verdict = counted(len(found.faults), "fault") if found.faults else "everything fits"
    out.print(shown(f"{verdict[0].upper()}{verdict[1:]}."))
