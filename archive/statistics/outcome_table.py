"""Any table of results as outcomes to rate (docs/explanation/ratings.md): scores with a row for
each model, task or score; or judged pairs of models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.ratings.normal_form import Array, check_memory
from archive.ratings.preferences import (
    Preference,
    margins,
    resample_judgements,
    resample_tasks,
    wins,
)
from archive.schema import TaskId
from archive.statistics.ratings import RatedBlock
from archive.store.tables import read_columns

MODEL = ("model", "model_name", "model_id", "name", "system", "generator", "method", "agent")
TASK = (
    *("prompt_id", "prompt", "question_id", "question", "instruction", "instance_id", "problem_id"),
    *("problem", "item_id", "item", "task_id", "task", "dataset", "benchmark", "category", "id"),
)
SCORE = ("score", "value", "result", "pass", "passed", "resolved", "correct", "accuracy", "acc")
FIRST = ("model_a", "model_1", "model1", "generator_1", "system_a", "player_a")
SECOND = ("model_b", "model_2", "model2", "generator_2", "system_b", "player_b")
WINNER = ("winner", "preference", "verdict", "judgement", "judgment", "outcome", "result")
SUMMARY = re.compile(
    r"(^|_)(average|avg|mean|overall|total|rank|cost|price|latency|likes|date)(_|$)|^params(_|$)"
)
"""Columns that sum up others, or of which more is not better; they are tasks only if they are
named."""
MISSING = ("", "na", "n/a", "none", "null", "-", "–", "—")
WORDS = {
    **dict.fromkeys(("true", "yes", "pass", "passed", "resolved", "correct", "win", "won"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "failed", "incorrect", "loss", "lose", "lost"), 0.0),
    **dict.fromkeys(("draw", "tie"), 0.5),
}
VERDICTS = {
    **dict.fromkeys((*FIRST, "a", "1", "1.0", "left", "first"), 1.0),
    **dict.fromkeys((*SECOND, "b", "2", "2.0", "right", "second"), -1.0),
    **dict.fromkeys(("tie", "draw", "equal", "same", "both", "neither", "tie_bothbad"), 0.0),
    **{"1.5": 0.0, "A>>B": 1.0, "A>B": 0.5, "A=B": 0.0, "B>A": -0.5, "B>>A": -1.0},
}
FILLED = 0.5
"""Mean share of its pairs of models that are judged on a task, below which all judgements are
pooled."""
POOLED = "all judgements"
"""The one task of pooled judgements."""


@dataclass(frozen=True)
class TableChoice:
    """Columns by name, where they are not to be guessed: of the model, of the task (several are
    joined), of the score of a long table, and of the tasks of a table with one model a row.
    ``missing``: models and tasks with missing comparisons are left out, or those are draws."""

    model: str | None = None
    task: tuple[str, ...] = ()
    score: str | None = None
    tasks: tuple[str, ...] = ()
    missing: Literal["leave-out", "draw"] = "leave-out"


def read_block(path: Path, preference: Preference, choice: TableChoice) -> RatedBlock:
    """The block of a CSV, JSONL, JSON or Parquet file. Raises :class:`RatingError` for what is no
    such table, with the row (the header is row 1) and the column."""
    layout = _Layout(path, choice)
    first, second, winner = (layout.find(keys) for keys in (FIRST, SECOND, WINNER))
    if first is None or second is None:
        return _score_block(*layout.scores(), choice.missing, preference)
    if winner is None:
        raise RatingError(f"{path}: found no column of winners, expected one of {_join(WINNER)}")
    if preference is Preference.MARGIN:
        raise RatingError("--preference margin: found judged pairs, expected a table of scores")
    return _judged_block(layout, (first, second), winner)


def column_key(name: str) -> str:
    """A column's name in lower case, with _ for all that is neither letter nor digit."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


class _Layout:
    """The columns of a table by their roles."""

    def __init__(self, path: Path, choice: TableChoice) -> None:
        self.path, self.choice, self.cells = path, choice, read_columns(path)
        self.by_key = {column_key(name): name for name in reversed(self.cells)}
        for column in (choice.model, *choice.task, choice.score, *choice.tasks):
            if column is not None and column not in self.cells:
                expected = f"one of {_join(self.cells)}"
                raise RatingError(f"{path}: found no column {column}, expected {expected}")
        if not next(iter(self.cells.values()), ()):
            raise RatingError(f"{path} has no row: found none, expected one or more")

    def find(self, keys: Iterable[str]) -> str | None:
        """The first column with one of these keys."""
        return next((self.by_key[key] for key in keys if key in self.by_key), None)

    def fault(self, row: int, column: str, expected: str) -> RatingError:
        """The sentence about a cell."""
        found = f"found {self.cells[column][row]!r:.60}, expected {expected}"
        return RatingError(f"{self.path}, row {row + 2}, column {column}: {found}")

    def names(self, *columns: str) -> list[str]:
        """The cells of columns of names, none empty, joined."""
        parts = []
        for column in columns:
            names = ["" if cell is None else str(cell).strip() for cell in self.cells[column]]
            if "" in names:
                raise self.fault(names.index(""), column, "a name")
            parts.append(names)
        return [", ".join(part) for part in zip(*parts, strict=True)]

    def task_names(self) -> list[str] | None:
        """The task of each row, from one column or several; None without one."""
        columns = self.choice.task or tuple(filter(None, [self.find(TASK)]))
        return self.names(*columns) if columns else None

    def number(self, row: int, column: str) -> float:
        """A score; NaN if it is missing. Raises :class:`RatingError` for what is none."""
        cell = self.cells[column][row]
        text = "" if cell is None else str(cell).strip().lower()
        if text in MISSING:
            return np.nan
        try:
            value = WORDS[text] if text in WORDS else float(text.removesuffix("%"))
        except ValueError:
            value = np.nan
        if not np.isfinite(value):
            expected = "a finite number, true, false, win, loss, or nothing if it is missing"
            raise self.fault(row, column, expected)
        return value

    def scores(self) -> tuple[list[str], list[str], Array, list[str]]:
        """Models, tasks, scores (models, tasks) with NaN for what is missing, and sentences about
        columns that are left out."""
        model = self.choice.model or self.find(MODEL)
        task = self.choice.task[0] if self.choice.task else self.find(TASK)
        score = self.choice.score or (self.find(SCORE) if model and task else None)
        if model and task and score:
            return self._long(model, score)
        if task and (self.choice.task or not model):
            tasks, models, scores, left_out = self._wide(task, of_models=True)
            return models, tasks, scores.T, left_out
        return self._wide(model or next(iter(self.cells)))

    def _wide(
        self, column: str, of_models: bool = False
    ) -> tuple[list[str], list[str], Array, list[str]]:
        """One row for each name in ``column``, and a column of scores for each task or model."""
        names = self.names(column)
        if repeat := _repeat(names):
            raise self.fault(repeat[1], column, f"each once (row {repeat[0] + 2} has it)")
        others = [name for name in self.cells if name != column]
        kept = list(self.choice.tasks) or [name for name in others if self._is_scored(name)]
        left_out = [
            f"column {name} is left out: it is no task (--tasks can name it)"
            for name in others
            if name not in (kept if not self.choice.tasks else others)
        ]
        if not kept:
            expected = "expected one or more"
            found = f"found no column of scores beside {column}"
            raise RatingError(f"{self.path}: {found}, {expected}")
        tasks, models = (names, kept) if of_models else (kept, names)
        check_memory((len(tasks), len(models), len(models)))
        table = [[self.number(row, name) for name in kept] for row in range(len(names))]
        return names, kept, np.array(table, np.float64), left_out

    def _is_scored(self, column: str) -> bool:
        """Whether a column is a task: no summary of others, and a score in some cell."""
        if SUMMARY.search(column_key(column)):
            return False
        for row in range(len(self.cells[column])):
            try:
                if not np.isnan(self.number(row, column)):
                    return True
            except RatingError:
                continue
        return False

    def _long(self, model: str, score: str) -> tuple[list[str], list[str], Array, list[str]]:
        """One row for each score. The first column that tells the scores of each model apart names
        the tasks."""
        models, repeat = self.names(model), None
        keys = [(self.by_key[key],) for key in TASK if key in self.by_key]
        for columns in [self.choice.task] if self.choice.task else keys:
            tasks = self.names(*columns)
            repeat = _repeat(list(zip(models, tasks, strict=True)))
            if not repeat:
                break
        if repeat:
            expected = (
                f"one score of {models[repeat[1]]} there (row {repeat[0] + 2} has it); --task can "
                "name several columns, such as question_id,turn"
            )
            raise self.fault(repeat[1], columns[-1], expected)
        rows, columns_of = _places(models), _places(tasks)
        table = np.full((len(rows), len(columns_of)), np.nan)
        for row, (name, task) in enumerate(zip(models, tasks, strict=True)):
            table[rows[name], columns_of[task]] = self.number(row, score)
        return list(rows), list(columns_of), table, []

    def verdicts(self, pair: tuple[str, str], winner: str) -> dict[int, float]:
        """By row, 1 if the first model won and −1 if the second did; a row without a winner is
        left out."""
        found = {}
        for row, cell in enumerate(self.cells[winner]):
            if text := "" if cell is None else str(cell).strip():
                one, other = (str(self.cells[name][row]).strip() for name in pair)
                known = {**VERDICTS, one: 1.0, other: -1.0}
                key = text if text in known else column_key(text)
                if key not in known:
                    expected = f"{pair[0]}, {pair[1]}, tie, or the name of one of the two models"
                    raise self.fault(row, winner, expected)
                found[row] = known[key]
        return found


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


def _join(names: Iterable[str], most: int = 8) -> str:
    listed = list(names)
    more = f" and {len(listed) - most:,} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


# -- blocks --------------------------------------------------------------------------------------


def _score_block(
    models: Sequence[str],
    tasks: Sequence[str],
    scores: Array,
    left_out: Sequence[str],
    missing: str,
    preference: Preference,
) -> RatedBlock:
    """The block of scores (models, tasks), NaN for what is missing."""
    check_memory((len(tasks), len(models), len(models)))
    known = np.isfinite(scores).T
    both = known[:, :, None] & known[:, None, :]
    kept_tasks, kept_models, sentences = _complete(tasks, models, both, missing)
    scores = scores[np.ix_(kept_models, kept_tasks)]
    outcomes = [wins(column[:, None]) for column in scores.T]
    if preference is Preference.MARGIN:
        spans = (np.nanmax(scores, axis=0) - np.nanmin(scores, axis=0)).tolist()
        both_of = zip(scores.T, spans, strict=True)
        outcomes = [margins(column[:, None], span or 1.0) for column, span in both_of]
    return _block(
        [models[m] for m in kept_models],
        [tasks[t] for t in kept_tasks],
        [np.nan_to_num(outcome) for outcome in outcomes],
        np.nanmean(scores, axis=1),
        [*left_out, *sentences],
        "mean score",
    )


def _judged_block(layout: _Layout, pair: tuple[str, str], winner: str) -> RatedBlock:
    """Mean verdicts of each pair on each task, or on all judgements where few pairs are judged on
    each task."""
    sides, notes = [layout.names(column) for column in pair], []
    for row, (one, other) in enumerate(zip(*sides, strict=True)):
        if one == other:
            raise layout.fault(row, pair[1], f"another model than that of {pair[0]}")
    verdicts = layout.verdicts(pair, winner)
    if not verdicts:
        raise RatingError(f"{layout.path}: found no verdict, expected one or more")
    rows, values = np.array([*verdicts]), np.array([*verdicts.values()])
    if without := len(sides[0]) - len(rows):
        notes.append(f"{without:,} rows without a winner are left out")
    models, names = _places(sorted({*sides[0], *sides[1]})), layout.task_names()
    first, second = (np.array([models[name] for name in side])[rows] for side in sides)
    size, tasks = len(models), _places(names or [POOLED])
    pairs = np.minimum(first, second) * size + np.maximum(first, second)
    values = np.where(first < second, values, -values)
    task = np.array([tasks[name] for name in names])[rows] if names else np.zeros_like(rows)
    judged = len(np.unique(task * size**2 + pairs))
    is_sparse = len(tasks) > 1 and judged < FILLED * len(tasks) * size * (size - 1) / 2
    if is_sparse and not layout.choice.task:
        tasks, task = {POOLED: 0}, np.zeros_like(task)
        notes.append(
            "all judgements count as one task, since few pairs of models are judged on each; "
            "--task can name another column"
        )
    check_memory((len(tasks), size, size))
    shape = (len(tasks), size, size)
    cells, length = task * size**2 + pairs, len(tasks) * size**2
    sums = np.bincount(cells, values, length).reshape(shape)
    counts = np.bincount(cells, minlength=length).reshape(shape)
    sums, counts = sums - sums.swapaxes(1, 2), counts + counts.swapaxes(1, 2)
    means, known = sums / np.maximum(counts, 1), (counts > 0) | np.eye(size, dtype=bool)
    chosen = _complete([*tasks], [*models], known, layout.choice.missing)
    kept_tasks, kept_models, sentences = chosen
    kept = np.ix_(kept_tasks, kept_models, kept_models)
    means, counts = means[kept], counts[kept]
    resampling = None
    if len(kept_tasks) == 1:
        inside = task == kept_tasks[0]
        resampling = _by_judgement(pairs[inside], values[inside], kept_models, size)
    return _block(
        [list(models)[m] for m in kept_models],
        [list(tasks)[t] for t in kept_tasks],
        list(means[:, None]),
        ((1 + means) / 2 * counts).sum(axis=(0, 2)) / counts.sum(axis=(0, 2)),
        [*notes, *sentences],
        "win rate",
        counts=counts,
        resampling=resampling,
    )


def _by_judgement(
    pairs: NDArray[np.int64], values: Array, models: Sequence[int], size: int
) -> partial[Any]:
    """Resampling of judgements of one task, of those between ``models``."""
    place = np.full(size, -1)
    place[list(models)] = np.arange(len(models))
    earlier, later = place[pairs // size], place[pairs % size]
    inside = np.flatnonzero((earlier >= 0) & (later >= 0))
    kept = (earlier * len(models) + later)[inside]
    order = np.argsort(kept, kind="stable")
    return partial(resample_judgements, values[inside][order], kept[order], len(models))


def _block(
    models: Sequence[str],
    tasks: Sequence[str],
    outcomes: Sequence[Array],
    means: Array,
    left_out: Sequence[str],
    mean_of: str,
    **more: Any,
) -> RatedBlock:
    resampled = "judgements" if more.get("resampling") else ""
    if not resampled and len(tasks) > 1:
        resampled, more["resampling"] = "tasks", partial(resample_tasks, tuple(outcomes))
    ids = tuple(TaskId(name, "") for name in tasks)
    facts = tuple(outcomes), means, tuple(left_out), mean_of, "task", resampled
    return RatedBlock(tuple(models), ids, tuple(tasks), *facts, **more)


def _complete(
    tasks: Sequence[str], models: Sequence[str], known: NDArray[np.bool_], missing: str
) -> tuple[list[int], list[int], list[str]]:
    """Tasks and models all of whose comparisons are ``known`` (tasks, models, models), and what is
    said of the others: what has the largest share of missing comparisons is left out, again and
    again. With ``missing`` = draw, all stay."""
    if len(models) < 2:
        raise RatingError(f"found one model, {models[0]}, expected two or more to compare")
    unknown = ~known
    kept_tasks, kept_models = np.ones(len(tasks), bool), np.ones(len(models), bool)
    if missing == "draw":
        gone, pairs = int(np.triu(unknown, 1).sum()), len(models) * (len(models) - 1) // 2
        words = f"{gone:,} of {len(tasks) * pairs:,} comparisons are missing and count as draws"
        return [*range(len(tasks))], [*range(len(models))], [words] if gone else []
    while (by_task := unknown.sum(axis=(1, 2))).any():
        by_model = unknown.sum(axis=(0, 2))
        model, worst = int(np.argmax(by_model)), by_task == by_task.max()
        if by_task.max() * kept_tasks.sum() >= by_model[model] * kept_models.sum():
            kept_tasks[worst], unknown[worst] = False, False  # all alike, as there may be thousands
        else:
            kept_models[model] = False
            unknown[:, model] = unknown[:, :, model] = False
    if kept_models.sum() < 2 or not kept_tasks.any():
        raise RatingError(
            "found no two models that were compared on one task, expected some: --missing draw "
            "counts missing comparisons as draws"
        )
    sentences = []
    for what, names, kept in (("task", tasks, kept_tasks), ("model", models, kept_models)):
        if lost := [name for name, there in zip(names, kept, strict=True) if not there]:
            verb = f"{what}s are" if len(lost) > 1 else f"{what} is"
            words = f"{len(lost):,} {verb} left out, with missing comparisons: {_join(lost, 4)}"
            sentences.append(words)
    return np.flatnonzero(kept_tasks).tolist(), np.flatnonzero(kept_models).tolist(), sentences
