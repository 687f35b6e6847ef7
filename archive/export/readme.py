"""The README of an exported measure: how to play it, there and here."""

from __future__ import annotations

from collections.abc import Sequence

from archive.export.configurations import ROUNDS, XENT_VERSION
from archive.export.exactness import Exactness
from archive.export.selection import ExportedGame, Selection

_HEAD = """# A Xent Measure

{count}, found by scope growth (run `{run_id}`, generation {generation}){cover}.

## Play it in the authors' package

```
pip install xent=={xent}
xent run --config expanded.json --results-dir results --dont-analyze
```

in this folder{judge}. `expanded.json` holds the maps that are measured on: {rounds} rounds on
each, the best round counts. As it stands a mock player sits in every chair: put yours under
`players`, as in

```
{{"name": "black", "id": "mine", "player_type": "default",
 "options": {{"model": "MODEL", "provider": "PROVIDER"}}}}
```

and under `npcs` who shall sit in the other chairs. `condensed.json` has the same games and lets
the package write new maps.

## Play it here

```
python -m evo.run +experiment=measure measure=THIS_FOLDER player=MODEL
python -m xgl play {file} --seed 1
```

## The games

Differences are exported scores minus those of the paper's dialect (every token scored, after
BOS), in bits a play, over moves that the run sampled; *order kept* is the share of pairs of moves
on one map that both rank alike.

| game | measured | covers | maps | mean difference | largest | order kept |
| --- | --- | --- | --- | --- | --- | --- |
"""

_TAIL = """
`measure.json` says all of this for programs, with hashes of every file; docs/measure.md of the
project describes it. An empty move that is scored stops the authors' engine with an error; here
it is 0 bits.
"""


def readme(
    selection: Selection,
    members: Sequence[ExportedGame],
    compared: Sequence[Exactness | None],
    copied: bool,
) -> str:
    """Markdown; programs and their reasons stand in indented blocks."""
    head = _HEAD.format(
        count="1 game" if len(members) == 1 else f"{len(members)} games",
        run_id=selection.run_id,
        generation=selection.generation,
        cover=_cover(selection),
        xent=XENT_VERSION,
        rounds=ROUNDS,
        judge="" if copied else "; the judge's weights go into `judge/` first, in float32",
        file=members[0].file,
    )
    rows = [_row(*each, selection) for each in zip(members, compared, strict=True)]
    return head + "".join(rows) + "".join(map(_game, members)) + _TAIL


def _cover(selection: Selection) -> str:
    if selection.eta is None:
        return ": its whole scope"
    delta = "" if selection.delta is None else f", Δ = {selection.delta:.3f}"
    return (
        f": a smallest cover of its scope at η = {selection.eta:g} ({selection.definition}){delta}"
    )


def _row(member: ExportedGame, compared: Exactness | None, selection: Selection) -> str:
    covers = len(selection.covers[member.task_id])
    measured: tuple[float | None, ...] = (None, None, None)
    if compared is not None:
        measured = (compared.mean_bits, compared.max_abs_bits, compared.pairs_kept)
    mean, most, kept = ("–" if value is None else f"{value:.2f}" for value in measured)
    return (
        f"| `{member.name}` | {member.role} | {covers} | {len(member.maps)} | {mean} | {most} "
        f"| {kept} |\n"
    )


def _game(member: ExportedGame) -> str:
    program = "".join(f"    {line}\n" for line in member.lowered.text.split("\n"))
    lowered = member.lowered
    said = "".join(
        f"* {kind}: {_plain(what)}\n"
        for kind, list_ in (
            ("said otherwise", lowered.changes),
            ("**not exact**", lowered.inexact),
            ("differs", lowered.notes),
        )
        for what in list_
    )
    return f"\n### {member.name}\n\n{program}\n{said}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|")
