"""The Xent Measure of a run as a folder that the authors' package plays (docs/how-to/measure.md).

Its benchmark configurations are condensed, and expanded with maps. A configuration names the player
that is measured, so games of other roles have their own.
"""

from __future__ import annotations

import ast
import json
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import jinja2

from archive.errors import ExportError
from archive.export import folder as judges
from archive.export.folder import Files, Options, template
from archive.export.selection import ExportedGame, GameSelection, Map, choose, gather, levels_of
from archive.plays import floor_of
from archive.run import ArchivedStories, Run
from archive.schema import BASE_POLICY, SEARCH_POLICIES, Purpose, TaskId
from archive.statistics.measure import BestKnown
from archive.store.files import file_hash
from archive.text import number, plural
from xgl.analysis.plain_english import in_words
from xgl.analysis.static_facts import analyse
from xgl.escaping import code_block, code_span, json_text, word
from xgl.files import remember
from xgl.language.canonical import Game, game
from xgl.language.syntax import MAIN_PLAYER
from xgl.lowering import FAILURES, LoweredProgram
from xgl.models.resolve import is_hub_id
from xgl.runtime.lockstep import Cast
from xgl.runtime.requests import Judge, Seeds
from xgl.version import __version__

XENT_VERSION = "0.5.0"
ROUNDS = 30
"""Rounds on one map in the authors' benchmark."""

Json = dict[str, Any]


def configurations(
    members: Sequence[ExportedGame], judge: str, benchmark_id: str, seed: int
) -> dict[str, Json]:
    """Configuration by file name. ``judge`` is what the package loads."""
    by_file: dict[str, Json] = {}
    for role in dict.fromkeys(member.role for member in members):
        some = [member for member in members if member.role == role]
        end = file_end(role)
        chairs = {name for each in some for name in analyse(each.lowered_game.program).players}
        metadata = {
            "benchmark_id": benchmark_id + end,
            "xent_version": XENT_VERSION,
            "judge_model": judge,
            "num_rounds_per_game": ROUNDS,
            "seed": str(seed),
            "store_full_player_interactions": False,
            "npcs": [_player(name) for name in sorted(chairs - {role})],
        }
        games = [
            {
                "name": each.name,
                "code": each.lowered_game.text,
                "presentation_function": presentation(each.lowered_game, role),
            }
            for each in some
        ]
        common = {"metadata": metadata, "players": [_player(role)], "games": games}
        tokens = max(each.lowered_game.metadata.story_tokens for each in some)
        drawn = {"generator_type": "JUDGE", "generator_config": {}, "max_length": tokens}
        count = max(len(each.maps) for each in some)
        by_file[f"condensed{end}.json"] = {
            "config_type": "condensed_xent_config",
            **common,
            "expansion_config": {"num_maps_per_game": count, "text_generation_config": drawn},
        }
        maps = [
            {**a_game, "code": with_texts(a_game["code"], one), "map_seed": str(one.map_seed)}
            for a_game, member in zip(games, some, strict=True)
            for one in member.maps
        ]
        expanded = {"config_type": "expanded_xent_config", **common, "maps": maps}
        by_file[f"expanded{end}.json"] = expanded
    return by_file


def file_end(role: str) -> str:
    """What the names of a role's configurations end with."""
    return "" if role == MAIN_PLAYER else f"-{role}"


def _player(name: str) -> Json:
    """A mock player that makes one constant move, to be replaced."""
    return {"name": name, "id": f"mock-{name}", "player_type": "mock", "options": {}}


def with_texts(code: str, game_map: Map) -> str:
    """The program with each ``story()`` replaced by the map's text, as the authors' package
    expands it: a literal, escaped so that it can neither end nor break its line."""
    nodes = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    calls = [n for n in nodes if isinstance(n.func, ast.Name) and n.func.id == "story"]
    # In the order written, which is that of sites; from the end, so that places stay.
    calls.sort(key=lambda node: (node.lineno, node.col_offset))
    lines = [line.encode() for line in code.split("\n")]
    for node, text in reversed([*zip(calls, game_map.stories, strict=False)]):
        line, end = lines[node.lineno - 1], node.end_col_offset or 0
        lines[node.lineno - 1] = line[: node.col_offset] + ascii(text).encode() + line[end:]
    return b"\n".join(lines).decode()


TEMPLATE = template("presentation.py")


def presentation(lowered_game: LoweredProgram, role: str) -> str:
    """The presentation file of a game measured in ``role``."""
    metadata = replace(lowered_game.metadata, max_failures=FAILURES)
    rules = in_words(game(lowered_game.program, metadata), role)
    return fill_template(lowered_game.text, rules, role)


def fill_template(code: str, rules: Sequence[str], role: str) -> str:
    """The fixed file with a game's data in its place. Its JSON, in ASCII, is written as a JSON
    string; with its escapes this is a Python string of the same value."""
    data = json.dumps({"code": code, "rules": list(rules), "role": role})
    return TEMPLATE.replace('json.loads("{}")', f"json.loads({json.dumps(data)})")


# -- the best scores known on the maps of an exported game -----------------------------------------
# Of all moves that the run's policies made there.

MOST_MOVES = 8
"""Most moves of a map that are scored again on the exported game: those that earned most."""
COLUMNS = ["policy_id", "map_seed", "outcome", "score", "moves"]


def best_known(run: Run, member: ExportedGame, judge: Judge) -> dict[int, BestKnown]:
    """The best of archived moves on the game as the file has it, by map seed. Empty if other
    players move too: their moves depend on the measurement."""
    from xgl.solvers import MapTrials

    whole = member.lowered_game
    target = Game(whole.program, whole.metadata, member.name, whole.text)
    if analyse(target.program).players != (member.role,):
        return {}
    moves_by_map, best = _archived_moves(run, member.task_id), dict[int, BestKnown]()
    cast = Cast(judge, ArchivedStories(dict(member.maps)), {})
    for index, (seed, _) in enumerate(member.maps):
        moves = moves_by_map[seed]
        trials = MapTrials(target, member.role, Seeds(seed, index), cast)
        both = zip(moves.values(), trials.play_moves([*moves]), strict=True)
        if complete := [each for each in both if each[1].finished]:
            policy, attempt = max(complete, key=lambda each: each[1].score)
            best[seed] = BestKnown(attempt.score, policy, attempt.moves)
    return best


def _archived_moves(run: Run, task_id: TaskId) -> dict[int, dict[tuple[str, ...], str]]:
    """Different moves by map seed, each with its first policy, the best first."""
    rows = [row for t in ("scores", "rounds") for row in run.rows_of(task_id, t, COLUMNS)]
    rows = [row for row in rows if row["policy_id"] not in SEARCH_POLICIES]
    finished_rows = [row for row in rows if row["outcome"] == "finished" and row["moves"]]
    by_map: defaultdict[int, dict[tuple[str, ...], str]] = defaultdict(dict)
    for row in sorted(finished_rows, key=lambda row: -row["score"]):
        if len(by_map[row["map_seed"]]) < MOST_MOVES:
            by_map[row["map_seed"]].setdefault(tuple(row["moves"]), row["policy_id"])
    return by_map


MAPS = 20
"""Maps of a game in the authors' benchmark."""


def contents(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """The games of a measure, their configurations and presentations for the authors' package, and
    ``measure.json`` for this one.

    Raises ExportError for games that the authors' engine cannot play and for a judge that a
    stranger named, ModelNotFoundError for one that is not to be had.
    """
    selection = choose(run, options)
    members = gather(
        run, selection, options.maps or (None if run.is_measured else MAPS), options.allow_inexact
    )
    reference = judges.judge_of(run.config_json)
    refusal = run.judge_refusal(reference, options.judge, "--no-scores")
    if refusal and (options.scores or options.with_judge):
        raise ExportError(refusal)
    best: list[Mapping[int, BestKnown]] = [{} for _ in members]
    if options.scores:
        from xgl.judge.loading import load_judge

        judge = load_judge(reference, dtype="float32")  # as the authors' package would load it
        best = [best_known(run, member, judge) for member in members]
    with_judge = options.with_judge or (options.scores and judges.is_small(reference))
    files: Files = {judges.FOLDER: partial(judges.copy, reference)} if with_judge else {}
    files |= {member.file: member.text for member in members}
    files |= {each.presentation: presentation(each.lowered_game, each.role) for each in members}
    name = reference if is_hub_id(reference) and not with_judge else judges.FOLDER
    ident = f"xent-measure-{word(run.run_id)}"  # names a folder there
    for file, config in configurations(members, name, ident, run.history.seed).items():
        files[file] = _json(config)
    if inspect := options.format == "inspect":
        files["task.py"] = template("inspect_task.py")
    files["README.md"] = readme(selection, members, with_judge, inspect)
    facts = _facts(selection, run, reference, with_judge, members)
    facts["members"] = [_member(run, selection, *each) for each in zip(members, best, strict=True)]
    files["measure.json"] = partial(_write_facts, facts, not refusal)
    delta = "" if selection.delta is None else f", Δ = {number(selection.delta, 3)}"
    return files, [
        f"{plural(len(members), 'game')}{delta} written to {{folder}}; see its README.md"
    ]


def _facts(
    selection: GameSelection,
    run: Run,
    reference: str,
    with_judge: bool,
    members: Sequence[ExportedGame],
) -> dict[str, Any]:
    """What ``measure.json`` says of the whole measure."""
    seeds = dict.fromkeys(game_map.map_seed for member in members for game_map in member.maps)
    return {
        "format": "xent-measure",
        "version": 1,
        "eta": selection.eta,
        "delta": selection.delta,
        "definition": selection.definition,
        "run_id": selection.run_id,
        "scope": selection.scope,
        "created_with": {
            "xent_evo": __version__,
            "xent": XENT_VERSION,
            "python": platform.python_version(),
            "run": run.history.code_version,
        },
        "judge": {
            "model": reference,
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


def _member(
    run: Run, selection: GameSelection, member: ExportedGame, best: Mapping[int, BestKnown]
) -> dict[str, Any]:
    lowered_game = member.lowered_game
    known = {map_seed: each._asdict() for map_seed, each in best.items()}
    is_same = member.game.dialect == "xent" and not lowered_game.inexact
    has_levels = is_same and not member.game.metadata.npc  # who played the others then
    conversion = {
        "unchanged": is_same and not lowered_game.changes,
        "changes": list(lowered_game.changes),
        "inexact": list(lowered_game.inexact),
        "notes": list(lowered_game.notes),
    }
    return {
        "game_id": member.game.game_id,
        "role": member.role,
        "name": member.name,
        "file": member.file,
        "presentation": member.presentation,
        "dialect": member.game.dialect,
        "metadata": asdict(lowered_game.metadata),
        "code": member.game.code,
        "code_sha256": sha256(member.text.encode()).hexdigest(),
        "covers": list(selection.covers[member.task_id]),
        # those of other cross-entropies would normalise nobody's scores: the base plays again
        "thresholds": levels_of(run, member.task_id) if has_levels else None,
        "floor": _floor(run, member) if has_levels else None,
        "maps": [
            {
                "map_seed": seed,
                "stories": [{"site": site, "text": text} for site, text in enumerate(texts)],
                "best_known": known.get(seed),
            }
            for seed, texts in member.maps
        ],
        "conversion": conversion,
    }


def _floor(run: Run, member: ExportedGame) -> float | None:
    """What an unfinished play counts as, by a growth's calibration; None where it made none."""
    purpose = "purpose", "=", Purpose.CALIBRATION
    policy = "policy_id", "=", BASE_POLICY
    rows = run.rows_of(member.task_id, "scores", ["outcome", "score"], purpose, policy)
    plays = [(row["outcome"], row["score"]) for row in rows]
    return floor_of(plays, member.game, member.role) if plays else None


def _write_facts(facts: Mapping[str, Any], is_own: bool, path: Path) -> None:
    """The last file, with hashes of all others; ``is_own``: no stranger named the judge."""
    others = sorted(each for each in path.parent.rglob("*") if each.is_file())
    hashes = {each.relative_to(path.parent).as_posix(): file_hash(each) for each in others}
    judge = facts["judge"] | {"sha256": hashes.get(f"{judges.FOLDER}/model.safetensors")}
    text = _json({**facts, "judge": judge, "files": hashes})
    path.write_text(text, encoding="utf-8")
    if is_own:
        remember(text)


def _json(value: Any) -> str:
    return json_text(value, 1) + "\n"


def readme(
    selection: GameSelection, members: Sequence[ExportedGame], with_judge: bool, inspect: bool
) -> str:
    """Markdown; programs and their reasons are indented blocks."""
    text, strict = template("measure_readme.md"), jinja2.StrictUndefined
    role = min((member.role for member in members), key=lambda each: each != MAIN_PLAYER)
    return jinja2.Template(text, undefined=strict, keep_trailing_newline=True).render(
        selection=selection,
        members=members,
        role=role,
        end=file_end(role),
        with_judge=with_judge,
        inspect=inspect,
        xent=XENT_VERSION,
        rounds=ROUNDS,
        plural=plural,
        code_span=code_span,
        code_block=code_block,
    )
