"""Games for training frameworks: prompts with scoring rules for those that send one prompt (TRL),
archived moves for SFT and DPO, and an installable environment of `verifiers`.

Rows are JSON lines that ``datasets.load_dataset`` reads; the card says what each column is. A
completion is scored by ``xgl.environments.trl`` from the row's ``info``.

Rows are games of a selection on archived maps, with what is known of their scores. Training
maps and evaluation maps share neither a seed nor a text.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import islice, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from archive.errors import ExportError
from archive.export.folder import ROWS, Files, Options, json_lines, reference_of, template
from archive.export.selection import archived_game, choose, maps_of
from archive.plays import floor_of
from archive.run import Run
from archive.schema import BASE_POLICY, SEARCH_POLICIES, TaskId
from archive.text import listed, plural
from xgl.chat.answers import parse_moves
from xgl.environments.rows import METRICS, Base, Row
from xgl.errors import JudgeError
from xgl.escaping import code_span, json_text
from xgl.language.canonical import Game, model_names
from xgl.language.syntax import PLAYERS
from xgl.language.visitors import draws
from xgl.runtime.machine import asked_stories
from xgl.runtime.presentation import first_messages, render
from xgl.runtime.requests import Judge, MoveRequest

SPLITS = {"train": ("training",), "test": ("acceptance", "selection", "calibration")}

KnownPlays = Mapping[int, Sequence[tuple[float, list[str]]]]
"""Score in bits and moves of a game's finished plays by map seed, of any policy but searches; the
best last."""


class TaskRow(NamedTuple):
    """One row: its split, what is played, and what was played on each map of the game."""

    split: str
    row: Row
    known: KnownPlays

    @property
    def task_id(self) -> TaskId:
        return TaskId(self.row.game.game_id, self.row.role)

    @property
    def id(self) -> str:
        """Game, role and map."""
        return f"{self.row.game.game_id}-{self.row.role}-{self.row.map_seed}"

    @property
    def info(self) -> str:
        """What ``xgl.environments.rows.read_row`` reads: game, map, floor and base."""
        row, whole = self.row, self.row.game
        facts = {
            **self.task_id._asdict(),
            "code": whole.code,
            "dialect": whole.dialect,
            "metadata": asdict(whole.metadata),
            "map_seed": row.map_seed,
            "stories": list(row.stories),
            "floor": row.floor,
            "base": None if row.base is None else row.base._asdict(),
        }
        return json_text(facts)

    def columns(self, **asked: Any) -> dict[str, Any]:
        """Id, game, role, split, what is ``asked`` and scores, as the card of a data set describes
        them."""
        base = self.row.base
        best_on = {seed: plays[-1][0] for seed, plays in self.known.items()}
        return {
            "id": self.id,
            **self.task_id._asdict(),
            "split": self.split,
            **asked,
            "limits": [limit for _, limit in self.row.asks],
            "base_mean": None if base is None else base.mean,
            "base_spread": None if base is None else base.spread,
            "best_score": max(best_on.values(), default=None),
            "best_score_on_map": best_on.get(self.row.map_seed),
        }


def task_rows(run: Run, options: Options) -> list[TaskRow]:
    """Every game of the scope or cover on at most ``options.maps`` maps of each split: a row of
    each game in turn, so that the first rows of a split hold many games.

    Raises ExportError if no map is archived, and for a game that needs models under the judge where
    who reads the rows loads the judge alone; LookupFailedError for a game that is not archived.
    """
    if run.is_measured:
        raise ExportError("found a measured run, expected one that trained")
    selection = choose(run, options)
    game_rows = run.games(game_id for game_id, _ in selection.covers)
    games = [(archived_game(game_rows[game_id]), role) for game_id, role in selection.covers]
    for whole, _ in games if options.format in ("dataset", "verifiers") else ():
        if names := model_names(whole):
            raise ExportError(
                f"game {whole.game_id}: found that it needs the model {names[0]!r} under the "
                "judge, expected games of one judge; --format xgl, sft and dpo hold it"
            )
    known = [_known_plays(run, whole, role) for whole, role in games]
    rows, most = list[TaskRow](), options.maps or ROWS
    for split, purposes in SPLITS.items():
        texts = run.map_texts("purpose", purposes)
        by_game: list[list[TaskRow]] = []
        for (whole, role), (floor, base, plays) in zip(games, known, strict=True):
            maps = maps_of(texts, texts if asked_stories(whole) else [*texts][:1], whole)
            own = (Row(whole, role, *each, floor, base) for each in islice(maps, most))
            by_game.append([TaskRow(split, row, plays) for row in own])
        rows += (row for turn in zip_longest(*by_game) for row in turn if row is not None)
    if not rows:
        raise ExportError("found no map whose texts are archived, expected a run that played")
    return rows


def counts_text(splits: Iterable[str]) -> str:
    """The number of rows of each split: ``4 train and 4 test``."""
    counts = Counter(splits)
    return listed([f"{counts[split]} {split}" for split in SPLITS])


def _known_plays(run: Run, whole: Game, role: str) -> tuple[float, Base | None, KnownPlays]:
    """The floor, the base player's scores, of which an unfinished play has the floor, and the
    finished plays.

    The floor is the lowest finished score of the base player, of calibration plays if there are
    any, minus a bit for each move token (docs/specification.md, "The floor").
    """
    columns = ["policy_id", "purpose", "map_seed", "outcome", "score", "moves"]
    rows = run.rows_of(TaskId(whole.game_id, role), "scores", columns)
    finished = [row for row in rows if row["outcome"] == "finished"]
    plays: defaultdict[int, list[tuple[float, list[str]]]] = defaultdict(list)
    for row in sorted(finished, key=itemgetter("score", "moves")):
        if row["policy_id"] not in SEARCH_POLICIES:
            plays[row["map_seed"]].append((row["score"], row["moves"]))
    of_base = [row for row in rows if row["policy_id"] == BASE_POLICY]
    scores = [row["score"] for row in of_base]
    spread = float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
    base = Base(float(np.mean(scores)), spread, len(scores)) if scores else None
    calibration = [row for row in of_base if row["purpose"] == "calibration"]
    played = ((row["outcome"], row["score"]) for row in calibration or of_base)
    return floor_of(played, whole, role), base, plays


def prompts(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """`train.jsonl`, `test.jsonl`, the same in `environments` with all games and without prompts,
    and a card.

    Raises ExportError when no map is archived, for a game that needs models under the judge, and
    when no game can be played from one prompt.
    """
    rows = task_rows(run, options)
    prompts, left_out = list[dict[str, Any]](), dict[TaskId, str]()
    for each in rows:
        if isinstance(request := first_request(each.row), str):
            left_out[each.task_id] = request
        else:
            messages = first_messages(request, later=each.row.asks[1:])
            text = "\n\n".join(message["content"] for message in messages)
            asked = {"prompt": messages, "prompt_text": text, "view": render(request.view)}
            rest = {"answer": "", "task": "xent", "info": each.info}
            prompts.append(each.columns(**asked) | rest)  # in the order of the card
    why = [f"{game_id} ({role}): {reason}" for (game_id, role), reason in left_out.items()]
    if not prompts:
        raise ExportError(f"found no game that one prompt can ask for: {'; '.join(why)}")
    judge = reference_of(run, options.judge)
    text = template("dataset_readme.md").format(
        games=plural(len({row["game_id"] + row["role"] for row in prompts}), "game"),
        run_id=code_span(run.run_id),
        judge=ascii(judge),
        judge_name=code_span(judge),
        left_out=code_span("; ".join(why)) if why else "none",
    )
    facts = [each.columns() | {"info": each.info} for each in rows]
    files: Files = {"README.md": text}
    for split in SPLITS:
        for folder_name, some in (("", prompts), ("environments/", facts)):
            its = [row for row in some if row["split"] == split]
            files[f"{folder_name}{split}.jsonl"] = json_lines(its)
    counts = counts_text(row["split"] for row in prompts)
    said = f"{counts} prompts written to {{folder}}; see its README.md"
    return files, [said, *(f"left out: {each}" for each in why)]


class _NoJudge:
    """A judge that fails: before the first move most games need none."""

    def __getattr__(self, name: str) -> Any:
        raise JudgeError(f"{name} before the first move")

    def score(self, requests: Sequence[Any]) -> Any:
        raise JudgeError("a score before the first move")


def first_request(row: Row) -> MoveRequest | str:
    """The first request to the row's role, or why one prompt cannot ask for all of its moves."""
    if others := [name for name in row.players if name != row.role]:
        return f"{', '.join(others)} would have to move as well"
    if not row.asks:
        return "nobody is asked for a move"
    with suppress(JudgeError):
        if turn := row.episode(cast(Judge, _NoJudge())).turn:
            return turn.request
    return "what it shows before the first move takes the judge"


# -- archived moves for supervised fine-tuning and preference training ----------------------------

_MOVES = {
    "sft": "`completion` holds those of the best finished play of any policy",
    "dpo": "`chosen` holds those of the best finished play of any policy, `rejected` of the worst",
}


def moves(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """Rows of moves and a card. Raises ExportError if no archived play makes a row."""
    kind = options.format
    rows = [row for each in task_rows(run, options) if (row := _moves_row(each, kind))]
    if not rows:
        worse = ", and a worse one on the same map" if kind == "dpo" else ""
        raise ExportError(f"found no finished play of a game that one prompt can ask for{worse}")
    facts = {"run_id": code_span(run.run_id), "count": len(rows), "moves": _MOVES[kind]}
    card = template("moves_readme.md").format(kind=kind.upper(), **facts)
    files: Files = {"README.md": card, "train.jsonl": json_lines(rows)}
    return files, [f"{len(rows)} rows written to {{folder}}; see its README.md"]


def _moves_row(task_row: TaskRow, kind: str) -> dict[str, Any] | None:
    """The best finished play on a map and, for dpo, the worst one where it is worse."""
    asks, seed = task_row.row.asks, task_row.row.map_seed
    plays = [play for play in task_row.known.get(seed, ()) if _is_read(play[1], len(asks))]
    request = first_request(task_row.row)
    if isinstance(request, str) or not plays or draws(task_row.row.game.program):
        return None  # of draws the prompt would show others than the moves were made for
    prompt = first_messages(request, later=asks[1:])
    row = {"id": task_row.id, **task_row.task_id._asdict(), "map_seed": seed, "prompt": prompt}
    (worst, said_worst), (best, said_best) = plays[0], plays[-1]
    if kind == "sft":
        return row | {"completion": _answer(said_best), "score": best}
    if best <= worst:
        return None
    row |= {"chosen": _answer(said_best), "rejected": _answer(said_worst)}
    return row | {"chosen_score": best, "rejected_score": worst}


def _is_read(moves: Sequence[str], count: int) -> bool:
    """Whether these are ``count`` moves that an answer can hold: no ``...`` is read as one."""
    return len(moves) == len(parse_moves(_answer(moves)[0]["content"], count)) == count


def _answer(moves: Sequence[str]) -> list[dict[str, str]]:
    text = "\n".join(f"<move>{move}</move>" for move in moves)
    return [{"role": "assistant", "content": text}]


VERIFIERS = "0.4"
"""The oldest release whose interface the package is written for."""


def environment(run: Run, folder: Path, options: Options) -> tuple[Files, list[str]]:
    """A package named after `folder`, with rows of every game of the scope or cover. Raises
    ExportError if no map is archived, and for a game that needs models under the judge."""
    rows = task_rows(run, options)
    own_name = Path(os.path.realpath(folder)).name.lower()
    stem = re.sub(r"\W+", "_", own_name, flags=re.ASCII).strip("_")
    name = f"xent_{stem.removeprefix('xent_') or 'games'}"  # of a module that no other package has
    judge = reference_of(run, options.judge)
    facts = {
        "name": name,
        "run_id": code_span(run.run_id),
        "judge": ascii(judge),
        "judge_name": code_span(judge),
        "games": plural(len({task_row.task_id for task_row in rows}), "game"),
        "seats": "\n".join(f"    {player}: vf.AgentConfig = seat()" for player in PLAYERS),
        "metrics": "\n".join(f"| `{key}` | {meaning} |" for key, meaning in METRICS.items()),
        "verifiers": VERIFIERS,
    }
    templates = {
        "pyproject.toml": "verifiers_pyproject.toml",
        "README.md": "verifiers_readme.md",
        f"{name}/__init__.py": "verifiers_environment.py",
    }
    files: Files = {path: template(source).format(**facts) for path, source in templates.items()}
    for split in SPLITS:
        files[f"{name}/rows/{split}.jsonl"] = json_lines(
            {
                "id": each.id,
                "name": f"{each.task_id.game_id[:12]}-{each.task_id.role}",
                "role": each.task_id.role,
                "info": each.info,
            }
            for each in rows
            if each.split == split
        )
    counts = counts_text(task_row.split for task_row in rows)
    return files, [f"{counts} tasks written to {{folder}} as {name}; see its README.md"]
