"""The Xent Measure of a run as a folder that the authors' package plays (docs/measure.md)."""

from __future__ import annotations

import platform
from collections.abc import Mapping
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
from archive.export.judge import JudgeSource
from archive.export.readme import readme
from archive.export.selection import ExportedGame, GameSelection, choose, choose_playable, gather
from archive.export.thresholds import base_thresholds
from archive.run import Run
from archive.schema import Definition
from archive.statistics.ceilings import BestKnown
from archive.store.disk import digests, require_free, write_folder
from xgl.escaping import json_text, word
from xgl.language.canonical import Game
from xgl.lowering.passes import FAILURES
from xgl.models.references import is_server
from xgl.own_files import remember
from xgl.paths import user_path

TASK = files("archive.export").joinpath("templates", "inspect_task.py.txt")
"""The measure as a task of Inspect."""
MAPS = 20
"""Maps of a game in the authors' benchmark."""


@dataclass(frozen=True)
class Options:
    """``eta``: of the cover (None: the whole scope); ``maps``: most maps of a game;
    ``with_judge``: weights in the folder (None: where they are small); ``scores``: load the judge
    and score the best known moves; ``inspect``: a task for Inspect beside the games;
    ``ceiling``: judge calls of each solver on each map, in search of the best known score;
    ``judge``: the run's judge, to be named where another user began the run."""

    eta: float | None = None
    definition: Definition | None = None
    skip_unplayable: bool = False
    maps: int = MAPS
    allow_inexact: bool = False
    with_judge: bool | None = None
    scores: bool = True
    inspect: bool = False
    ceiling: int = 0
    playable: int | None = None
    """Number of games drawn from all playable ones, instead of a cover; None: the cover."""
    draw: int = 0
    judge: str | None = None


@dataclass(frozen=True)
class MeasureExport:
    """The contents of an export."""

    selection: GameSelection
    members: tuple[ExportedGame, ...]
    best: tuple[Mapping[int, BestKnown], ...] = ()
    """The best known scores by member and map seed; empty without a judge."""


def export_xent(run: Run, folder: str | Path, options: Options | None = None) -> MeasureExport:
    """Writes the measure of a run as `folder`, complete or not at all.

    Raises WriteError when `folder` is in use or cannot be written, LookupFailedError when run,
    scope or game is not archived, ExportError for an η out of reach, games that the authors'
    engine cannot play, and a judge that is not to be had.
    """
    folder, options = user_path(folder), options or Options()
    require_free(folder)
    selection = _selection(run, options)
    members = gather(run, selection, options.maps, options.allow_inexact)
    source = judges.judge_of(run.config_json)
    if options.ceiling and (not options.scores or is_server(source.reference)):
        raise ExportError(
            f"--ceiling: found {options.ceiling} judge calls and no judge with gradients, expected "
            "scores (no --no-scores) by a judge that is loaded here"
        )
    refusal = run.judge_refusal(source.reference, options.judge, "--no-scores --without-judge")
    if refusal and (options.scores or options.with_judge):
        raise ExportError(refusal)
    best: tuple[dict[int, BestKnown], ...] = ()
    if options.scores:
        judge = judges.load(source)
        best = tuple(best_known(run, m, exported_game(m), judge, options.ceiling) for m in members)
    measure = MeasureExport(selection, tuple(members), best)
    with_judge = options.scores and source.is_small
    with_judge = options.with_judge if options.with_judge is not None else with_judge

    def fill(aside: Path) -> None:
        if with_judge:
            judges.copy(source, aside / judges.FOLDER)
        for name, text in _texts(measure, run, source, with_judge).items():
            (aside / name).write_text(text, encoding="utf-8")
        if options.inspect:
            (aside / "task.py").write_text(TASK.read_text("utf-8"), encoding="utf-8")
        facts = _facts(measure, run, source, with_judge)
        facts["files"] = digests(aside)
        facts["judge"]["sha256"] = _weights_digest(facts["files"])
        _write_json(aside / "measure.json", facts)

    write_folder(folder, fill)
    if not refusal:
        remember((folder / "measure.json").read_bytes())
    return measure


def _selection(run: Run, options: Options) -> GameSelection:
    if options.playable is not None:
        return choose_playable(run, options.playable, options.draw)
    return choose(run, options.eta, options.definition, options.skip_unplayable)


def exported_game(member: ExportedGame) -> Game:
    """The game of the exported file, as it is played here."""
    lowered_game = member.lowered_game
    return Game(lowered_game.program, lowered_game.metadata, member.name, lowered_game.text)


def _texts(
    measure: MeasureExport, run: Run, source: JudgeSource, with_judge: bool
) -> dict[str, str]:
    """Every text file but measure.json, by name."""
    name = judges.FOLDER if with_judge else source.name_there
    files = {member.file: member.text for member in measure.members}
    files |= {
        member.presentation: presentation(member.lowered_game, member.role)
        for member in measure.members
    }
    ident = f"xent-measure-{word(run.run_id)}"  # names a folder there
    for file, config in configurations(measure.members, name, ident, run.history.seed).items():
        files[file] = _json(config)
    files["README.md"] = readme(measure.selection, measure.members, with_judge)
    return files


def _facts(
    measure: MeasureExport, run: Run, source: JudgeSource, with_judge: bool
) -> dict[str, Any]:
    selection, members = measure.selection, measure.members
    seeds = dict.fromkeys(game_map.map_seed for member in members for game_map in member.maps)
    facts: dict[str, Any] = {
        "format": "xent-measure",
        "version": 1,
        "eta": selection.eta,
        "delta": selection.delta,
        "definition": selection.definition,
        "run_id": selection.run_id,
        "scope": selection.scope,
        "created_with": {
            "xent_evo": _version("xent-evo"),
            "xent": XENT_VERSION,
            "python": platform.python_version(),
            "run": run.history.code_version,
        },
        "judge": {
            "model": source.reference,
            "folder": judges.FOLDER if with_judge else None,
            "dtype": "float32",
            "sha256": None,
        },
        "seeds": {
            "run": run.history.seed,
            "maps": list(seeds),
            "purpose": sorted({member.purpose for member in members}),
        },
        "max_ensure_failures": FAILURES,
        "rounds": ROUNDS,
    }
    best = measure.best or ({},) * len(members)
    facts["members"] = [_member(run, selection, *each) for each in zip(members, best, strict=True)]
    return facts


def _member(
    run: Run,
    selection: GameSelection,
    member: ExportedGame,
    best: Mapping[int, BestKnown],
) -> dict[str, Any]:
    lowered_game = member.lowered_game
    game_id = member.game.game_id
    conversion = {
        "unchanged": not (lowered_game.changes or lowered_game.inexact)
        and member.game.dialect == "xent",
        "changes": list(lowered_game.changes),
        "inexact": list(lowered_game.inexact),
        "notes": list(lowered_game.notes),
    }
    return {
        "game_id": game_id,
        "role": member.role,
        "name": member.name,
        "file": member.file,
        "presentation": member.presentation,
        "dialect": member.game.dialect,
        "metadata": asdict(lowered_game.metadata),
        "code": member.game.code,
        "code_sha256": sha256(member.text.encode()).hexdigest(),
        "covers": list(selection.covers[member.task_id]),
        "thresholds": base_thresholds(run, member.game, member.role),
        "maps": [
            game_map.as_json() | _best(best.get(game_map.map_seed)) for game_map in member.maps
        ],
        "conversion": conversion,
    }


def _best(best: BestKnown | None) -> dict[str, Any]:
    return {"best_known": None if best is None else asdict(best)}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _weights_digest(files: Mapping[str, str]) -> str | None:
    return files.get(f"{judges.FOLDER}/model.safetensors")


def _json(value: Any) -> str:
    return json_text(value, 1) + "\n"


def _write_json(path: Path, value: Any) -> None:
    path.write_text(_json(value), encoding="utf-8")
