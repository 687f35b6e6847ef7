"""Any table of results as outcomes to rate (docs/explanation/ratings.md): scores with a row for
each model, task or score; or judged pairs of models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from archive.errors import RatingError
from archive.ratings.normal_form import Array, Indices, check_memory
from archive.ratings.preferences import (
    Preference,
    margins,
    resample_judgements,
    resample_tasks,
    wins,
)
from archive.schema import TaskId
from archive.statistics.ratings import RatedBlock, complete, joined
from archive.store.tables import Columns, read_columns

_words = str.split
MODEL = _words(
    "model models model_name model_id model_adapter name system generator method agent llm"
)
TASK = _words(
    "prompt_id prompt question_id question instruction instance_id problem_id problem item_id item "
    "task_id task scenario dataset benchmark subject category game id"
)
SCORE = _words(
    "score value result pass passed resolved correct success accuracy acc metric_value outcome"
)
FIRST = _words("model_a model_1 model1 generator_1 system_a player_a model_left model")
SECOND = _words("model_b model_2 model2 generator_2 system_b player_b model_right opponent rival")
WINNER = _words("winner preference verdict judgement judgment label outcome result")
WINNERS = _words("g1_winner g2_winner")
"""Columns of two verdicts on a pair."""
SUMMARY = re.compile(
    r"(^|_)(average|avg|mean|overall|total|rank|cost|price|latency|likes|date)(_|$)"
    r"|^(params|hub|generation)(_|$)"
)
"""Columns that sum up others, or of which more is not better; they are tasks only if they are
named."""
MISSING = dict.fromkeys([*_words("na n/a none null - – —"), ""], np.nan)
WORDS = MISSING | {
    **dict.fromkeys(_words("true yes pass passed resolved correct win won"), 1.0),
    **dict.fromkeys(_words("false no fail failed unresolved incorrect loss lose lost"), 0.0),
    **dict.fromkeys(_words("draw tie"), 0.5),
}
VERDICTS = {
    **dict.fromkeys((*FIRST, *_words("a 1 1.0 left first output_1")), 1.0),
    **dict.fromkeys((*SECOND, *_words("b 2 2.0 right second output_2")), -1.0),
    **dict.fromkeys(_words("tie draw equal same both neither bothbad both_bad tie_bothbad"), 0.0),
    **{"A>>B": 1.0, "A>B": 0.5, "A=B": 0.0, "B>A": -0.5, "B>>A": -1.0},
}
FILLED = 0.5
"""Mean share of its pairs of models that are judged on a task, below which all judgements are
pooled."""
POOLED = "all judgements"
"""The one task of pooled judgements."""
Scored = tuple[list[str], list[str], Array, list[str]]
"""Models, tasks, scores (models, tasks) with NaN for what is missing, and what is left out."""


class TableChoice(NamedTuple):
    """Columns by name, where they are not to be guessed: of the model, of the task (several are
    joined), of the score of a long table, and of the tasks of a table with one model a row."""

    model: str | None = None
    task: tuple[str, ...] = ()
    score: str | None = None
    tasks: tuple[str, ...] = ()


def read_block(path: Path, preference: Preference, choice: TableChoice) -> RatedBlock:
    """The block of a CSV, JSONL, JSON or Parquet file. Raises :class:`RatingError` for what is no
    such table, with the row and the column."""
    layout = _Layout(read_columns(path), choice)
    pair = layout.find(FIRST), layout.find(SECOND)
    if not (pair[0] and pair[1] and layout.find((*WINNER, *WINNERS, "model_b"))):
        return _score_block(*layout.scores(), preference)
    if preference is Preference.MARGIN:
        raise RatingError("--preference margin: found judged pairs, expected a table of scores")
    return _judged_block(layout, pair[0], pair[1])


def column_key(name: str) -> str:
    """A column's name in lower case, with _ for all that is neither letter nor digit."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


class _Layout:
    """The columns of a table by their roles."""

    def __init__(self, columns: Columns, choice: TableChoice) -> None:
        self.columns, self.choice = columns, choice
        self.by_key: dict[str, str] = {}
        for name in columns.cells:
            self.by_key.setdefault(column_key(name), name)
        for column in (choice.model, *choice.task, choice.score, *choice.tasks):
            if column is not None and column not in columns.cells:
                raise RatingError(
                    f"{columns.where}: found no column {column}, expected one of "
                    f"{joined([*columns.cells], 8)}"
                )
        if not len(columns):
            raise RatingError(f"{columns.where} has no row: found none, expected one or more")

    def find(self, keys: Iterable[str]) -> str | None:
        """The first column with one of these keys."""
        return next((self.by_key[key] for key in keys if key in self.by_key), None)

    def fault(self, row: int, column: str, expected: str, found: object = None) -> RatingError:
        """The sentence about a cell."""
        text = repr(self.columns.cells[column][row] if found is None else found)
        text = text if len(text) <= 60 else f"{text[:59]}…"
        return RatingError(
            f"{self.columns.where}, row {row + self.columns.first_row}, column {column}: found "
            f"{text}, expected {expected}"
        )

    def texts(self, column: str) -> list[str]:
        """The cells of a column as texts, empty for nothing."""
        return ["" if cell is None else str(cell).strip() for cell in self.columns.cells[column]]

    def names(self, column: str) -> list[str]:
        """The cells of a column of names, none empty."""
        names = self.texts(column)
        if "" in names:
            raise self.fault(names.index(""), column, "a name", "")
        return names

    def joined(self, columns: Sequence[str]) -> list[str]:
        """The names in several columns, row by row."""
        return [", ".join(parts) for parts in zip(*map(self.names, columns), strict=True)]

    # -- scores --------------------------------------------------------------------------------

    def score(self, text: str) -> float | None:
        """A score; NaN if it is missing, None for what is none."""
        plain = text.removesuffix("%").strip()
        if self.columns.decimal_comma:
            plain = plain.replace(",", ".")
        try:
            value = WORDS[text.lower()] if text.lower() in WORDS else float(plain)
        except ValueError:
            return None
        return (
            value if text.lower() in MISSING or (np.isfinite(value) and "_" not in text) else None
        )

    def numbers(self, column: str) -> list[float]:
        """The scores in a column. Raises :class:`RatingError` for a cell that is none."""
        values = [(row, self.score(text)) for row, text in enumerate(self.texts(column))]
        for row, value in values:
            if value is None:
                expected = "a finite number, true, false, win, loss, or nothing if it is missing"
                raise self.fault(row, column, expected)
        return [value for _, value in values if value is not None]

    def scores(self) -> Scored:
        """The scores of whichever layout the table has."""
        model = self.choice.model or self.find(MODEL)
        task = self.choice.task[0] if self.choice.task else self.find(TASK)
        score = self.choice.score or (self.find(SCORE) if model and task else None)
        if model and task and score:
            return self._long(model, score)
        if task and (self.choice.task or not model):
            tasks, models, scores, left_out = self._wide(task, of_models=True)
            return models, tasks, scores.T, left_out
        return self._wide(model or next(iter(self.columns.cells)))

    def _wide(self, column: str, of_models: bool = False) -> Scored:
        """One row for each name in ``column``, and one column for each task, or for each
        model."""
        names = self.names(column)
        if repeat := _repeat(names):
            before = f"each once (row {repeat[0] + self.columns.first_row} has it)"
            raise self.fault(repeat[1], column, before)
        kept, left_out = list(self.choice.tasks), list[str]()
        if not kept:
            kept, left_out = self._score_columns(column, of_models)
        if not kept:
            raise RatingError(
                f"{self.columns.where}: found no column of scores beside {column}, expected one or "
                "more"
            )
        tasks, models = (names, kept) if of_models else (kept, names)
        check_memory((len(tasks), len(models), len(models)))
        return names, kept, np.array([self.numbers(name) for name in kept], float).T, left_out

    def _score_columns(self, column: str, of_models: bool) -> tuple[list[str], list[str]]:
        """Columns that are tasks (or models) beside ``column``, and what is said of the others.
        Words such as true are a property where other columns are numbers."""
        kept, left_out, flags = list[str](), list[str](), list[str]()
        for name in self.columns.cells:
            cells = {text.lower() for text in self.texts(name)}
            if name == column:
                continue
            if SUMMARY.search(column_key(name)):
                left_out.append(f"column {name} is left out: it is no task (--tasks can name it)")
            elif all(value is None or np.isnan(value) for value in map(self.score, cells)):
                left_out.append(f"column {name} is left out: none of its cells is a score")
            elif cells <= WORDS.keys() and not of_models:
                flags.append(name)
            else:
                kept.append(name)
        words = [f"column {name} is left out: words among scores" for name in flags]
        return (kept, left_out + words) if kept else (flags, left_out)

    def _long(self, model: str, score: str) -> Scored:
        """One row for each score. The first column that tells the scores of each model apart names
        the tasks."""
        models, repeat = self.names(model), None
        keys = [(self.by_key[key],) for key in TASK if key in self.by_key]
        for columns in [self.choice.task] if self.choice.task else keys:
            tasks = self.joined(columns)
            repeat = _repeat(list(zip(models, tasks, strict=True)))
            if not repeat:
                break
        if repeat:
            where = repeat[0] + self.columns.first_row
            expected = (
                f"one score of {models[repeat[1]]} there (row {where} has it); --task can name "
                "several columns, such as question_id,turn"
            )
            raise self.fault(repeat[1], columns[-1], expected)
        rows, columns_of = _places(models), _places(tasks)
        table = np.full((len(rows), len(columns_of)), np.nan)
        at = [rows[name] for name in models], [columns_of[task] for task in tasks]
        table[at] = self.numbers(score)
        return list(rows), list(columns_of), table, []

    # -- judged pairs --------------------------------------------------------------------------

    def verdicts(self, first: str, second: str) -> list[tuple[int, float]]:
        """Row and verdict, 1 if the first model won and −1 if the second did, of each judgement; a
        row without one is left out."""
        both = [self.by_key[key] for key in WINNERS if key in self.by_key]
        columns = both or list(filter(None, [self.find(WINNER)]))
        if not columns:
            expected = f"one of {', '.join(WINNER)}"
            raise RatingError(f"{self.columns.where}: found no column of winners, {expected}")
        sides = self.texts(first), self.texts(second)
        return [
            (row, self._verdict(column, row, text, (sides[0][row], sides[1][row])))
            for column in columns
            for row, text in enumerate(self.texts(column))
            if text
        ]

    def _verdict(self, column: str, row: int, text: str, models: tuple[str, str]) -> float:
        if column_key(column) == "preference" and self.score(text) is not None:
            value = float(text) or 1.5  # from 1, the first, to 2; AlpacaEval also has 0
            if 1 <= value <= 2:
                return 3 - 2 * value
        known = {**VERDICTS, models[0]: 1.0, models[1]: -1.0}
        for key in (text, column_key(text)):
            if key in known:
                return known[key]
        expected = "model_a, model_b, tie, or the name of one of the two models"
        raise self.fault(row, column, expected)


def _repeat(values: Sequence[Any]) -> tuple[int, int] | None:
    """Places of the first value that is there before, and of that one."""
    places: dict[Any, int] = {}
    for place, value in enumerate(values):
        if places.setdefault(value, place) < place:
            return places[value], place
    return None


def _places(names: Iterable[str]) -> dict[str, int]:
    """The place of each different name, in order of first appearance."""
    return {name: place for place, name in enumerate(dict.fromkeys(names))}


# -- blocks --------------------------------------------------------------------------------------


def _score_block(
    models: Sequence[str],
    tasks: Sequence[str],
    scores: Array,
    left_out: Sequence[str],
    preference: Preference = Preference.WIN,
) -> RatedBlock:
    """The block of scores (models, tasks), NaN for what is missing."""
    check_memory((len(tasks), len(models), len(models)))
    known = np.isfinite(scores).T
    kept_tasks, kept_models, sentences = _kept(tasks, models, known[:, :, None] & known[:, None])
    scores = scores[np.ix_(kept_models, kept_tasks)]
    spans = np.ptp(scores, axis=0)
    outcomes = [
        wins(column[:, None])
        if preference is Preference.WIN
        else margins(column[:, None], span or 1.0)
        for column, span in zip(scores.T, spans.tolist(), strict=True)
    ]
    return RatedBlock(
        tuple(models[m] for m in kept_models),
        means=scores.mean(axis=1),
        left_out=(*left_out, *sentences),
        mean_of="mean score",
        **_tasks([tasks[t] for t in kept_tasks], outcomes),
    )


def _judged_block(layout: _Layout, first: str, second: str) -> RatedBlock:
    sides, notes = [layout.names(first), layout.names(second)], []
    for row, (one, other) in enumerate(zip(*sides, strict=True)):
        if one == other:
            raise layout.fault(row, second, f"another model than that of {first}")
    verdicts = layout.verdicts(first, second)
    if not verdicts:
        raise RatingError(f"{layout.columns.where}: found no verdict, expected one or more")
    rows, values = np.array([row for row, _ in verdicts]), np.array([v for _, v in verdicts])
    if without := len(layout.columns) - len({*rows.tolist()}):
        notes.append(f"{without:,} rows without a winner are left out")
    models = _places(sorted({*sides[0], *sides[1]}))
    one, other = (np.array([models[name] for name in side])[rows] for side in sides)
    columns = layout.choice.task or tuple(filter(None, [layout.find(TASK)]))
    names = layout.joined(columns) if columns else [POOLED] * len(layout.columns)
    tasks = _places(names)
    task = np.array([tasks[name] for name in names])[rows]
    size, common = len(models), set.intersection(*map(set, zip(*sides, strict=True)))
    if common and size > 2 and len(tasks) > 1:
        base = common.pop()
        notes.append(
            f"all judgements are against {base}: models are compared by their verdicts there"
        )
        scores = _against(models[base], one, other, values, task, (len(tasks), size))
        return _score_block(list(models), list(tasks), scores.T, notes)
    cells = len(np.unique(task * size**2 + np.minimum(one, other) * size + np.maximum(one, other)))
    if (
        not layout.choice.task
        and len(tasks) > 1
        and cells < FILLED * len(tasks) * size * (size - 1) / 2
    ):
        tasks, task = {POOLED: 0}, np.zeros_like(task)
        notes.append(
            "all judgements count as one task, since few pairs of models are judged on each; "
            "--task can name another column"
        )
    return _verdict_block(list(models), list(tasks), (task, one * size + other, values), notes)


def _against(
    base: int, one: Indices, other: Indices, values: Array, task: Indices, shape: tuple[int, int]
) -> Array:
    """Mean verdicts (tasks, models) of models against one that is in every judgement; its own are
    0."""
    check_memory((*shape, shape[1]))
    cells = task * shape[1] + np.where(one == base, other, one)
    counts = np.bincount(cells, minlength=shape[0] * shape[1])
    sums = np.bincount(cells, np.where(one == base, -values, values), len(counts))
    with np.errstate(invalid="ignore"):  # a model that was not judged on a task
        scores: Array = (sums / counts).reshape(shape)
    scores[:, base] = 0.0
    return scores


def _verdict_block(
    models: Sequence[str],
    tasks: Sequence[str],
    judgements: tuple[Indices, Indices, Array],
    notes: Sequence[str],
) -> RatedBlock:
    """Mean verdicts; ``judgements``: the task, the pair as an index into a (models, models) table
    and the verdict (n,)."""
    (task, pairs, values), size = judgements, len(models)
    check_memory((len(tasks), size, size))
    cells, shape = task * size**2 + pairs, (len(tasks), size, size)
    counts = np.bincount(cells, minlength=len(tasks) * size**2).reshape(shape).astype(np.float64)
    sums = np.bincount(cells, values, counts.size).reshape(shape)
    sums, counts = sums - sums.swapaxes(1, 2), counts + counts.swapaxes(1, 2)
    kept_tasks, kept_models, sentences = _kept(
        tasks, models, (counts > 0) | np.eye(size, dtype=bool)
    )
    kept = np.ix_(kept_tasks, kept_models, kept_models)
    means, counts = sums[kept] / np.maximum(counts[kept], 1), counts[kept]
    facts = _tasks([tasks[t] for t in kept_tasks], list(means[:, None]))
    if len(kept_tasks) == 1:
        place = np.full(size, -1)
        place[kept_models] = np.arange(len(kept_models))
        first, second = place[pairs // size], place[pairs % size]
        inside = (task == kept_tasks[0]) & (first >= 0) & (second >= 0)
        drawn = values[inside], (first * len(kept_models) + second)[inside], len(kept_models)
        facts |= {"resampled": "judgements", "resampling": partial(resample_judgements, *drawn)}
    return RatedBlock(
        tuple(models[m] for m in kept_models),
        means=((1 + means) / 2 * counts).sum(axis=(0, 2)) / counts.sum(axis=(0, 2)),
        left_out=(*notes, *sentences),
        mean_of="win rate",
        counts=counts,
        **facts,
    )


def _tasks(tasks: Sequence[str], outcomes: Sequence[Array]) -> dict[str, Any]:
    """What a block says of tasks; where there are several, intervals are over them."""
    resampling = partial(resample_tasks, tuple(outcomes)) if len(tasks) > 1 else None
    return {
        "tasks": tuple(TaskId(name, "") for name in tasks),
        "exported_ids": tuple(tasks),
        "outcomes": tuple(outcomes),
        "noun": "task",
        "resampled": "tasks" if resampling else "",
        "resampling": resampling,
    }


def _kept(
    tasks: Sequence[str], models: Sequence[str], known: np.ndarray
) -> tuple[list[int], list[int], list[str]]:
    """:func:`complete` of at least two models and a task."""
    if len(models) < 2:
        raise RatingError(f"found one model, {models[0]}, expected two or more to compare")
    kept_tasks, kept_models, sentences = complete(tasks, models, known, "task")
    if len(kept_models) < 2 or not kept_tasks:
        raise RatingError("found no two models that were compared on one task, expected some")
    return kept_tasks, kept_models, sentences
