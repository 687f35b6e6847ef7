"""Any table of results as outcomes to rate (docs/explanation/ratings.md): scores with a row for
each model, task or score; or judged pairs of models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

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
from archive.statistics.measure import joined
from archive.statistics.ratings import RatedBlock
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
FIRST = _words("model_a model_1 model1 generator_1 system_a player_a model_left")
SECOND = _words("model_b model_2 model2 generator_2 system_b player_b model_right")
WINNER = _words("winner preference verdict judgement judgment label outcome result")
ORDER = _words("order presentation position swapped")
SUMMARY = re.compile(
    r"(^|_)(average|avg|mean|overall|total|rank|cost|price|latency|likes|date)(_|$)"
    r"|^(params|hub|generation)(_|$)"
)
"""Columns that sum up others, or of which more is not better; they are tasks only if they are
named."""
MISSING = _words("na n/a none null - – —")
WORDS = {
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
Indices = NDArray[np.int64]
Judgements = tuple[Indices, Indices, Array]
"""Task, pair and verdict (n,) of each judgement: the pair as an index into a (models, models)
table, of the earlier model and the later one; the verdict is for the earlier one."""


class TableChoice(NamedTuple):
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
    such table, with the row and the column."""
    layout = _Layout(read_columns(path), choice)
    pair = layout.pair()
    if pair is None:
        models, tasks, scores, left_out = layout.scores()
        return _score_block(models, tasks, scores, left_out, choice.missing, preference)
    if preference is Preference.MARGIN:
        raise RatingError("--preference margin: found judged pairs, expected a table of scores")
    return _judged_block(layout, pair)


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

    def names(self, column: str) -> list[str]:
        """The cells of a column of names, none empty."""
        cells = self.columns.cells[column]
        names = ["" if cell is None else str(cell).strip() for cell in cells]
        if "" in names:
            raise self.fault(names.index(""), column, "a name", "")
        return names

    def joined(self, columns: Sequence[str]) -> list[str]:
        return [", ".join(parts) for parts in zip(*map(self.names, columns), strict=True)]

    # -- scores --------------------------------------------------------------------------------

    def number(self, row: int, column: str) -> float:
        """A score; NaN if it is missing. Raises :class:`RatingError` for what is none."""
        cell = self.columns.cells[column][row]
        text = "" if cell is None else str(cell).strip().lower()
        if not text or text in MISSING:
            return np.nan
        plain = text.removesuffix("%").strip()
        if self.columns.decimal_comma:
            plain = plain.replace(",", ".")
        try:
            value = WORDS[text] if text in WORDS else float(plain)
        except ValueError:
            value = np.nan
        if not np.isfinite(value) or "_" in plain:
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
        return self._wide(model or next(iter(self.columns.cells)))

    def _wide(
        self, column: str, of_models: bool = False
    ) -> tuple[list[str], list[str], Array, list[str]]:
        """One row for each name in ``column``, and one column for each task, or for each
        model."""
        names = self.names(column)
        if repeat := _repeat(names):
            before = f"each once (row {repeat[0] + self.columns.first_row} has it)"
            raise self.fault(repeat[1], column, before)
        left_out, kept = [], list(self.choice.tasks)
        for name in self.columns.cells if not kept else ():
            if name != column and SUMMARY.search(column_key(name)):
                left_out.append(f"column {name} is left out: it is no task (--tasks can name it)")
            elif name != column and self._is_text(name):
                left_out.append(f"column {name} is left out: none of its cells is a score")
            elif name != column:
                kept.append(name)
        # words such as true are a property where other columns are scores
        words = {*WORDS, *MISSING, ""}
        said = {
            name: {str(c).strip().lower() for c in self.columns.cells[name] if c is not None}
            for name in kept
        }
        flags = [name for name in kept if said[name] <= words]
        if not (self.choice.tasks or of_models) and len(flags) < len(kept):
            kept = [name for name in kept if name not in flags]
            left_out += [f"column {name} is left out: words among scores" for name in flags]
        if not kept:
            raise RatingError(
                f"{self.columns.where}: found no column of scores beside {column}, expected one or "
                "more"
            )
        tasks, models = (names, kept) if of_models else (kept, names)
        check_memory((len(tasks), len(models), len(models)))
        table = [[self.number(row, name) for name in kept] for row in range(len(names))]
        return names, kept, np.array(table, np.float64), left_out

    def _is_text(self, column: str) -> bool:
        """Whether no cell is a score; one that is all empty counts too."""
        for row in range(len(self.columns)):
            with suppress(RatingError):
                if not np.isnan(self.number(row, column)):
                    return False
        return True

    def _long(self, model: str, score: str) -> tuple[list[str], list[str], Array, list[str]]:
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
        for row, (name, task) in enumerate(zip(models, tasks, strict=True)):
            table[rows[name], columns_of[task]] = self.number(row, score)
        return list(rows), list(columns_of), table, []

    # -- judged pairs --------------------------------------------------------------------------

    def pair(self) -> tuple[str, str] | None:
        """The two columns of models of judged pairs, if there are two, and winners."""
        first, second = self.find(FIRST), self.find(SECOND)
        if first is None and "model" in self.by_key:
            first, second = self.by_key["model"], self.find(("model_2", "opponent", "rival"))
        winners = self.find((*WINNER, "g1_winner", "winner_model_a", "model_b"))
        return (first, second) if first and second and winners else None

    def verdicts(self, pair: tuple[str, str]) -> list[tuple[int, float]]:
        """Row and verdict, 1 if the first model won and −1 if the second did, of each judgement; a
        row without one is left out."""
        columns = [self.by_key[key] for key in ("g1_winner", "g2_winner") if key in self.by_key]
        if not columns and (one := self.find(["winner_model_a"])):
            other, rows = self.find(["winner_model_b"]) or one, range(len(self.columns))
            return [(row, self.number(row, one) - self.number(row, other)) for row in rows]
        columns = columns or list(filter(None, [self.find(WINNER)]))
        if not columns:
            expected = f"one of {', '.join(WINNER)}"
            raise RatingError(f"{self.columns.where}: found no column of winners, {expected}")
        return [
            (row, self._verdict(column, row, str(cell).strip(), pair))
            for column in columns
            for row, cell in enumerate(self.columns.cells[column])
            if cell is not None and str(cell).strip()
        ]

    def _verdict(self, column: str, row: int, text: str, pair: tuple[str, str]) -> float:
        one, other = (str(self.columns.cells[name][row]).strip() for name in pair)
        if column_key(column) == "preference":  # from 1, the first, to 2; AlpacaEval also has 0
            try:
                if float(text) == 0 or 1 <= float(text) <= 2:
                    return 3 - 2 * (float(text) or 1.5)
            except ValueError:
                pass
        for key in (text, column_key(text)):
            known = {**VERDICTS, one: 1.0, other: -1.0}
            if key in known:
                return known[key]
        expected = f"{pair[0]}, {pair[1]}, tie, or the name of one of the two models"
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
    missing: str,
    preference: Preference = Preference.WIN,
) -> RatedBlock:
    """The block of scores (models, tasks), NaN for what is missing."""
    check_memory((len(tasks), len(models), len(models)))
    known = np.isfinite(scores).T
    both = known[:, :, None] & known[:, None, :]
    kept_tasks, kept_models, sentences = _complete(tasks, models, both, missing)
    scores = scores[np.ix_(kept_models, kept_tasks)]
    outcomes = [wins(column[:, None]) for column in scores.T]
    if preference is Preference.MARGIN:
        spans = np.nanmax(scores, axis=0) - np.nanmin(scores, axis=0)
        both_of = zip(scores.T, spans.tolist(), strict=True)
        outcomes = [margins(column[:, None], span or 1.0) for column, span in both_of]
    return _block(
        [models[m] for m in kept_models],
        [tasks[t] for t in kept_tasks],
        [np.nan_to_num(outcome) for outcome in outcomes],
        np.nanmean(scores, axis=1),
        [*left_out, *sentences],
        "mean score",
    )


def _judged_block(layout: _Layout, pair: tuple[str, str]) -> RatedBlock:
    sides, notes = [layout.names(column) for column in pair], []
    for row, (one, other) in enumerate(zip(*sides, strict=True)):
        if one == other:
            raise layout.fault(row, pair[1], f"another model than that of {pair[0]}")
    verdicts = layout.verdicts(pair)
    if not verdicts:
        raise RatingError(f"{layout.columns.where}: found no verdict, expected one or more")
    rows, values = np.array([row for row, _ in verdicts]), np.array([v for _, v in verdicts])
    if len(set(rows.tolist())) < len(layout.columns):
        without = len(layout.columns) - len(set(rows.tolist()))
        notes.append(f"{without:,} rows without a winner are left out")
    models = _places(sorted({*sides[0], *sides[1]}))
    first, second = (np.array([models[name] for name in side])[rows] for side in sides)
    pairs = np.minimum(first, second) * len(models) + np.maximum(first, second)
    values = np.where(first < second, values, -values)
    task_columns = layout.choice.task or tuple(filter(None, [layout.find(TASK)]))
    names = layout.joined(task_columns) if task_columns else None
    tasks = _places(names or [POOLED])
    task = np.array([tasks[name] for name in names])[rows] if names else np.zeros_like(rows)
    column = layout.find(ORDER)
    orders = np.array(layout.names(column))[rows] if column else np.full(len(rows), "")
    judgements, missing = (task, pairs, values), layout.choice.missing
    common = set.intersection(*map(set, zip(*sides, strict=True)))
    if common and len(models) > 2 and len(tasks) > 1:
        return _baseline_block(list(models), list(tasks), judgements, common.pop(), notes, missing)
    cells, most = len(np.unique(task * len(models) ** 2 + pairs)), len(models) * (len(models) - 1)
    if not layout.choice.task and len(tasks) > 1 and cells < FILLED * len(tasks) * most / 2:
        tasks, judgements = {POOLED: 0}, (np.zeros_like(task), pairs, values)
        notes.append(
            "all judgements count as one task, since few pairs of models are judged on each; "
            "--task can name another column"
        )
    return _verdict_block(list(models), list(tasks), judgements, orders, notes, missing)


def _baseline_block(
    models: Sequence[str],
    tasks: Sequence[str],
    judgements: Judgements,
    baseline: str,
    notes: Sequence[str],
    missing: str,
) -> RatedBlock:
    """Every judgement is against one model: others are compared by their verdicts against it."""
    (task, pairs, values), base, size = judgements, models.index(baseline), len(models)
    earlier, later = pairs // size, pairs % size
    check_memory((len(tasks), size, size))
    cells = task * size + np.where(earlier == base, later, earlier)
    counts = np.bincount(cells, minlength=len(tasks) * size)
    sums = np.bincount(cells, np.where(earlier == base, -values, values), len(counts))
    with np.errstate(invalid="ignore"):
        scores = (sums / counts).reshape(len(tasks), size)
    scores[:, base] = 0.0
    words = f"all judgements are against {baseline}: models are compared by their verdicts there"
    return _score_block(models, tasks, scores.T, [*notes, words], missing)


def _verdict_block(
    models: Sequence[str],
    tasks: Sequence[str],
    judgements: Judgements,
    orders: NDArray[np.str_],
    notes: Sequence[str],
    missing: str,
) -> RatedBlock:
    """Mean verdicts: over the judgements of each order, then over orders."""
    (task, pairs, values), size = judgements, len(models)
    check_memory((len(tasks), size, size))
    cells, shape = task * size**2 + pairs, (len(tasks), size, size)
    means, counts, seen = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for order in np.unique(orders):
        chosen = orders == order
        sums = np.bincount(cells[chosen], values[chosen], means.size).reshape(shape)
        number = np.bincount(cells[chosen], minlength=means.size).reshape(shape)
        means, counts = means + sums / np.maximum(number, 1), counts + number
        seen += number > 0
    means /= np.maximum(seen, 1)
    means, counts = means - means.swapaxes(1, 2), counts + counts.swapaxes(1, 2)
    known = (counts > 0) | np.eye(size, dtype=bool)
    kept_tasks, kept_models, sentences = _complete(tasks, models, known, missing)
    means, counts = (each[np.ix_(kept_tasks, kept_models, kept_models)] for each in (means, counts))
    resampling = None
    if len(kept_tasks) == 1:
        resampling = _by_judgement(judgements, kept_tasks[0], kept_models, size)
    shares = ((1 + means) / 2 * counts).sum(axis=(0, 2)) / counts.sum(axis=(0, 2))
    return _block(
        [models[m] for m in kept_models],
        [tasks[t] for t in kept_tasks],
        list(means[:, None]),
        shares,
        [*notes, *sentences],
        "win rate",
        counts=counts,
        resampling=resampling,
    )


def _by_judgement(judgements: Judgements, task: int, models: Sequence[int], size: int) -> Any:
    """Resampling of the judgements of one task between ``models``."""
    of_task, pairs, values = judgements
    place = np.full(size, -1)
    place[list(models)] = np.arange(len(models))
    earlier, later = place[pairs // size], place[pairs % size]
    inside = np.flatnonzero((of_task == task) & (earlier >= 0) & (later >= 0))
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
            words = f"{len(lost):,} {verb} left out, with missing comparisons: {joined(lost, 4)}"
            sentences.append(words)
    return np.flatnonzero(kept_tasks).tolist(), np.flatnonzero(kept_models).tolist(), sentences
