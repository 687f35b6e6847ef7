"""The Xent Measure of a run as a folder that the authors' package plays (docs/measure.md)."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from archive.errors import ExportError
from archive.export import judge as judges
from archive.export.best_known import best_known
from archive.export.configurations import ROUNDS, XENT_VERSION, configurations, presentation
from archive.export.exactness import Exactness, compare, sampled_moves
from archive.export.judge import JudgeSource
from archive.export.readme import readme
from archive.export.selection import ExportedGame, Selection, choose, choose_playable, gather
from archive.export.thresholds import base_thresholds
from archive.query import RunHistory, find_run
from archive.schema import Definition
from archive.statistics.ceilings import BestKnown
from archive.store.archive import Archive
from archive.store.disk import digests, require_free, write_folder
from xgl.language.canonical import Game
from xgl.lowering.lower import FAILURES
from xgl.runtime.requests import Judge

TASK = files("archive.export").joinpath("templates", "inspect_task.py.txt")
"""The measure as a task of Inspect."""
MAPS = 20
"""Maps of a game in the authors' benchmark."""


@dataclass(frozen=True)
class Options:
    """``eta``: of the cover (None: the whole scope); ``maps``: of a game, at most;
    ``with_judge``: weights in the folder (None: where they are small); ``compare``: load the
    judge and measure how far the scores moved; ``inspect``: a task for Inspect beside the games;
    ``ceiling``: judge calls of each solver on each map, in search of the best known score."""

    eta: float | None = None
    definition: Definition | None = None
    skip_unplayable: bool = False
    maps: int = MAPS
    allow_inexact: bool = False
    with_judge: bool | None = None
    compare: bool = True
    inspect: bool = False
    ceiling: int = 0
    playable: int | None = None
    """Games drawn from all that were learned, in the place of a cover; None: none are drawn."""
    draw: int = 0


@dataclass(frozen=True)
class MeasureExport:
    """What an export wrote."""

    selection: Selection
    members: tuple[ExportedGame, ...]
    compared: tuple[Exactness | None, ...]
    best: tuple[Mapping[int, BestKnown], ...] = ()
    """By member and map seed; empty without a judge."""


def export_xent(
    archive: Archive, run_id: str | None, folder: str | Path, options: Options | None = None
) -> MeasureExport:
    """Writes the measure of a run (None: the last touched) as `folder`, complete or not at all.

    Raises WriteError when `folder` is in use or cannot be written, LookupFailedError when run,
    scope or game is not archived, ExportError for an η out of reach, games that the authors'
    engine cannot play, and a judge that is not to be had.
    """
    folder, options = Path(folder), options or Options()
    require_free(folder)
    run = find_run(archive, run_id)
    selection = _selection(archive, run.run_id, options)
    members = gather(archive, selection, options.maps, options.allow_inexact)
    source = judges.judge_of(_config(archive, run.run_id))
    if options.ceiling and (not options.compare or source.reference.startswith("vllm:")):
        raise ExportError(
            f"--ceiling: found {options.ceiling} judge calls and no judge with gradients, expected "
            "scores (no --no-scores) by a judge that is loaded here"
        )
    compared: list[Exactness] = []
    best: tuple[dict[int, BestKnown], ...] = ()
    if options.compare:
        judge = judges.load(source)
        compared = _compared(archive, selection, members, judge)
        best = tuple(
            best_known(archive, run.run_id, m, exported_game(m), judge, options.ceiling)
            for m in members
        )
    measure = MeasureExport(
        selection, tuple(members), tuple(compared) or (None,) * len(members), best
    )
    copied = options.compare and source.small
    copied = options.with_judge if options.with_judge is not None else copied

    def fill(aside: Path) -> None:
        if copied:
            judges.copy(source, aside / judges.FOLDER)
        for name, text in _texts(measure, run, source, copied).items():
            (aside / name).write_text(text, encoding="utf-8")
        if options.inspect:
            (aside / "task.py").write_text(TASK.read_text("utf-8"), encoding="utf-8")
        facts = _facts(archive, measure, run, source, copied)
        facts["files"] = digests(aside)
        facts["judge"]["sha256"] = _weights_digest(facts["files"])
        _write_json(aside / "measure.json", facts)

    write_folder(folder, fill)
    return measure


def _selection(archive: Archive, run_id: str, options: Options) -> Selection:
    if options.playable is not None:
        return choose_playable(archive, run_id, options.playable, options.draw)
    return choose(archive, run_id, options.eta, options.definition, options.skip_unplayable)


def _config(archive: Archive, run_id: str) -> str:
    rows = archive.rows("runs", ["config_json"], [("run_id", "=", run_id)])
    return str(rows[-1]["config_json"])


def _compared(
    archive: Archive, selection: Selection, members: Sequence[ExportedGame], judge: Judge
) -> list[Exactness]:
    exactness = []
    for each in members:
        moves = sampled_moves(archive, selection.run_id, each.task_id)
        exported = exported_game(each)
        exactness.append(compare(each.game, exported, each.role, each.maps, moves, judge))
    return exactness


def exported_game(member: ExportedGame) -> Game:
    """The game of the exported file, as it is played here."""
    lowered = member.lowered
    return Game(lowered.program, lowered.metadata, member.name, lowered.text)


def _texts(
    measure: MeasureExport, run: RunHistory, source: JudgeSource, copied: bool
) -> dict[str, str]:
    """Every text file but measure.json, by name."""
    name = judges.FOLDER if copied else source.name_there
    files = {each.file: each.text for each in measure.members}
    files |= {each.presentation: presentation(each.lowered, each.role) for each in measure.members}
    ident = f"xent-measure-{run.run_id}"
    for file, config in configurations(measure.members, name, ident, run.seed).items():
        files[file] = _json(config)
    files["README.md"] = readme(measure.selection, measure.members, measure.compared, copied)
    return files


def _facts(
    archive: Archive, measure: MeasureExport, run: RunHistory, source: JudgeSource, copied: bool
) -> dict[str, Any]:
    selection, members = measure.selection, measure.members
    seeds = dict.fromkeys(one.map_seed for each in members for one in each.maps)
    facts: dict[str, Any] = {
        "format": "xent-measure",
        "version": 1,
        "eta": selection.eta,
        "delta": selection.delta,
        "definition": selection.definition,
        "run_id": selection.run_id,
        "generation": selection.generation,
        "created_with": {
            "xent_evo": _version("xent-evo"),
            "xent": XENT_VERSION,
            "python": platform.python_version(),
            "run": run.code_version,
        },
        "judge": {
            "model": source.reference,
            "folder": judges.FOLDER if copied else None,
            "dtype": "float32",
            "sha256": None,
        },
        "seeds": {
            "run": run.seed,
            "maps": list(seeds),
            "purpose": sorted({each.purpose for each in members}),
        },
        "max_ensure_failures": FAILURES,
        "rounds": ROUNDS,
    }
    best = measure.best or ({},) * len(members)
    facts["members"] = [
        _member(archive, selection, *each)
        for each in zip(members, measure.compared, best, strict=True)
    ]
    return facts


def _member(
    archive: Archive,
    selection: Selection,
    each: ExportedGame,
    compared: Exactness | None,
    best: Mapping[int, BestKnown],
) -> dict[str, Any]:
    lowered = each.lowered
    game_id = each.game.game_id
    said = {
        "unchanged": not (lowered.changes or lowered.inexact) and each.game.dialect == "xent",
        "changes": list(lowered.changes),
        "inexact": list(lowered.inexact),
        "notes": list(lowered.notes),
    }
    return {
        "game_id": game_id,
        "role": each.role,
        "name": each.name,
        "file": each.file,
        "presentation": each.presentation,
        "dialect": each.game.dialect,
        "metadata": asdict(lowered.metadata),
        "code": each.game.code,
        "code_sha256": sha256(each.text.encode()).hexdigest(),
        "covers": list(selection.covers[each.task_id]),
        "thresholds": base_thresholds(archive, selection.run_id, each.game, each.role),
        "maps": [one.as_json() | _best(best.get(one.map_seed)) for one in each.maps],
        "exactness": said | ({} if compared is None else compared.as_json()),
    }


def _best(known: BestKnown | None) -> dict[str, Any]:
    return {"best_known": None if known is None else asdict(known)}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _weights_digest(files: Mapping[str, str]) -> str | None:
    return files.get(f"{judges.FOLDER}/model.safetensors")


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _write_json(path: Path, value: Any) -> None:
    path.write_text(_json(value), encoding="utf-8")
