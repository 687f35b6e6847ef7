"""Any table of results as outcomes to rate (docs/how-to/leaderboard.md): CSV, JSONL and Parquet,
with a row for each model, score or judged pair of models."""

from __future__ import annotations

import codecs
import csv
import json
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from archive.errors import RatingError
from archive.ratings.normal_form import Array, Indices, check_memory
from archive.ratings.preferences import Preference, margins, resample_tasks, wins
from archive.schema import TaskId
from archive.statistics.ratings import RatedBlock, joined, left_out
from xgl.errors import excerpt

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
SUMMARY = re.compile(
    r"(^|_)(average|avg|mean|overall|total|rank|cost|price|latency|likes|date|params|parameters)(_|$)"
    r"|^(hub|generation|model_size)(_|$)"
    r"|^(id|index|index_level_\d+|unnamed_\d+|no|year|size|context(_length|_window)?)$"
)
"""Columns that number rows, sum up others, or of which more is not better: tasks only if named."""
_DECIMAL_COMMA = re.compile(r"(?![+-]?[1-9]\d{0,2},\d{3}$)[+-]?\d*,\d+(e[+-]?\d+)?\s*%?", re.I)
"""A number with a comma that does not divide thousands."""
_POINT = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?\s*%?", re.I)
MOST = 1e100
"""Largest score: differences of larger ones may be infinite."""
NONE = "no two models that were compared on one task"
MISSING = dict.fromkeys([*_words("na n/a none null - – —"), ""], np.nan)
WORDS = MISSING | {
    **dict.fromkeys(_words("true yes pass passed resolved correct win won"), 1.0),
    **dict.fromkeys(_words("false no fail failed unresolved incorrect loss lose lost"), 0.0),
    **dict.fromkeys(_words("draw tie"), 0.5),
}
PAIR = _words("model_a model_1 model1 system_a"), _words("model_b model_2 model2 system_b")
WINNER = _words("winner verdict judgement judgment preference")
VERDICTS = {
    **dict.fromkeys((*PAIR[0], *_words("a 1 1.0 left first A>>B")), 1.0),
    **dict.fromkeys((*PAIR[1], *_words("b 2 2.0 right second B>>A")), -1.0),
    **dict.fromkeys(_words("tie draw equal both neither bothbad both_bad tie_bothbad A=B"), 0.0),
    **{"A>B": 0.5, "B>A": -0.5},
}
"""What judges write, as the preference for the first model of a pair."""
POOLED = "all judgements"
"""The one task of judgements that are not divided into tasks."""
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
    """The block of a CSV, JSONL or Parquet file. Raises :class:`RatingError` for what is no such
    table, with the row and the column."""
    table = _Table(path, choice)
    pair, winner = [table.find(side) for side in PAIR], table.find(WINNER)
    if pair[0] and pair[1] and winner:
        if preference is Preference.MARGIN:
            raise RatingError("--preference margin: found judged pairs, expected a table of scores")
        return _judged_block(table, (pair[0], pair[1], winner))
    models, tasks, scores, notes = table.scores()
    if len(models) < 2:
        raise RatingError(f"found one model, {models[0]}, expected two or more to compare")
    check_memory((len(tasks), len(models), len(models)))
    rows, columns = _complete(np.isfinite(scores))
    if len(rows) < 2 or not columns:
        raise RatingError(f"found {NONE}, expected some")
    notes += left_out("task", tasks, columns) + left_out("model", models, rows)
    scores = scores[np.ix_(rows, columns)]
    spans = [span or 1.0 for span in np.ptp(scores, axis=0).tolist()]
    by_task = scores.T[:, :, None]
    outcomes = map(wins, by_task) if preference is Preference.WIN else map(margins, by_task, spans)
    names = [models[row] for row in rows], [tasks[column] for column in columns]
    return _block(*names, outcomes, scores.mean(axis=1), notes, "mean score")


def _block(
    models: Sequence[str],
    tasks: Sequence[str],
    outcomes: Iterable[Array],
    means: Array,
    notes: Sequence[str],
    mean_of: str,
) -> RatedBlock:
    return RatedBlock(
        models=tuple(models),
        tasks=tuple(TaskId(task, "") for task in tasks),
        outcomes=tuple(outcomes),
        means=means,
        left_out=tuple(notes),
        mean_of=mean_of,
        noun="task",
        resampled="tasks" if len(tasks) > 1 else "",
        resample=resample_tasks,
    )


def _judged_block(table: _Table, columns: tuple[str, str, str]) -> RatedBlock:
    """The mean verdicts of judges of pairs on each task, as in the paper: on tasks on which every
    pair of models was judged. If there is none, all judgements are one task, and models that were
    not judged against all others are left out."""
    models, pairs, tasks, rows, verdicts = table.judgements(columns)
    without = len(table.cells[columns[2]]) - len(rows)
    notes = [f"{without:,} rows without a winner"] if without else []
    judged = np.stack([rows, pairs.min(axis=1), pairs.max(axis=1)])[:, pairs[:, 0] != pairs[:, 1]]
    found = np.bincount(np.unique(judged, axis=1)[0], minlength=len(tasks))
    # of each task, whether every pair was judged; thousands of tasks may have one judgement
    is_full = found == len(models) * (len(models) - 1) // 2
    if len(rows) and not is_full.any() and not table.choice.task:
        notes.append("all judgements count as one task, since no task has some of every pair")
        tasks, rows, is_full = [POOLED], 0 * rows, np.ones(1, bool)
    kept, its, seats = np.flatnonzero(is_full).tolist(), is_full[rows], list(range(len(models)))
    of_kept = np.searchsorted(kept, rows[its]), pairs[its], verdicts[its]
    preferences, known = _mean_verdicts(*of_kept, (len(kept), len(models)))
    while kept and not (present := known[0][np.ix_(seats, seats)]).all():
        seats.pop(int(np.argmin(present.sum(axis=1))))
    if not kept or len(seats) < 2:
        what = "no task with a judgement of every pair of models" if table.choice.task else NONE
        raise RatingError(f"found {what}, expected some")
    preferences = preferences[:, seats][:, :, seats]
    notes += left_out("task", tasks, kept) + left_out("model", models, seats)
    names = [models[seat] for seat in seats], [tasks[row] for row in kept]
    means = (1 + preferences.mean(axis=0).sum(axis=1) / (len(seats) - 1)) / 2
    return _block(*names, preferences[:, None], means, notes, "win rate")


def _mean_verdicts(
    rows: Indices, pairs: Indices, verdicts: Array, shape: tuple[int, int]
) -> tuple[Array, NDArray[np.bool_]]:
    """Mean verdicts (tasks, models, models), antisymmetric, of judgements (n,) on tasks ``rows`` of
    ``pairs`` (n, 2); and of which pairs there are some, a model beside itself included."""
    count, size = shape
    check_memory((count, size, size))
    sums, counts = np.zeros((2, count, size, size))
    np.add.at(sums, (rows, *pairs.T), verdicts)
    np.add.at(counts, (rows, *pairs.T), 1)
    both = counts + counts.swapaxes(1, 2)
    return (sums - sums.swapaxes(1, 2)) / np.maximum(both, 1), (both + np.eye(size)) > 0


def _complete(known: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """Rows and columns (ascending) of which every cell is ``known`` (models, tasks): what has the
    largest share of missing cells is left out, again and again."""
    missing, rows, columns = ~known, *(np.ones(size, bool) for size in known.shape)
    while (by_column := missing.sum(axis=0)).any():
        by_row, first = missing.sum(axis=1), int(np.argmax(by_column))
        if rows.sum() == 2 or by_column.max() * columns.sum() >= by_row.max() * rows.sum():
            alike = (missing == missing[:, [first]]).all(axis=0)  # there may be thousands
            columns[alike], missing[:, alike] = False, False
        else:
            row = int(np.argmax(by_row))
            rows[row], missing[row] = False, False
    return np.flatnonzero(rows).tolist(), np.flatnonzero(columns).tolist()


def column_key(name: str) -> str:
    """A column's name in lower case, with _ for all that is neither letter nor digit."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


class _Table:
    """The columns of a file as texts, empty for nothing, in its order, and by their roles."""

    def __init__(self, path: Path, choice: TableChoice) -> None:
        self.where, self.choice = str(path), choice
        names, rows = _read(path)
        if repeat := _repeat(names):
            name = names[repeat[1]]
            raise RatingError(f"{path}, row 1: found column {name} twice, expected it once")
        if not names or not rows:
            raise RatingError(f"{path} is empty: found no row, expected rows with named columns")
        texts = [["" if cell is None else str(cell).strip() for cell in row] for row in rows]
        self.cells = dict(zip(names, map(list, zip(*texts, strict=True)), strict=True))
        commas, points = (
            any(map(form.fullmatch, chain(*texts))) for form in (_DECIMAL_COMMA, _POINT)
        )
        self.decimal_mark = "," if commas and not points else "."
        self.first_row = 2 if path.suffix.lower() in (".csv", ".tsv") else 1
        self.by_key = {column_key(name): name for name in reversed(names)}
        for column in (choice.model, *choice.task, choice.score, *choice.tasks):
            if column is not None and column not in self.cells:
                expected = f"one of {joined(names, 8)}"
                raise RatingError(f"{path}: found no column {column}, expected {expected}")

    def find(self, keys: Iterable[str]) -> str | None:
        """The first column with one of these keys."""
        return next((self.by_key[key] for key in keys if key in self.by_key), None)

    def fault(self, row: int, column: str, expected: str) -> RatingError:
        """The sentence about a cell."""
        text = excerpt(repr(self.cells[column][row]), 60)
        where = f"{self.where}, row {row + self.first_row}, column {column}"
        return RatingError(f"{where}: found {text}, expected {expected}")

    def names(self, column: str) -> list[str]:
        """The cells of a column of names, none empty."""
        if "" in self.cells[column]:
            raise self.fault(self.cells[column].index(""), column, "a name")
        return self.cells[column]

    def verdict(self, row: int, columns: tuple[str, str, str]) -> float:
        """The verdict in a row, in favour of the first of the columns' two models."""
        first, second = (self.cells[column][row] for column in columns[:2])
        if first == second:
            raise self.fault(row, columns[1], f"another model than that of {columns[0]}")
        known, text = {**VERDICTS, first: 1.0, second: -1.0}, self.cells[columns[2]][row]
        for key in (text, column_key(text)):
            if key in known:
                return known[key]
        expected = "model_a, model_b, tie, A>>B or the name of one of the two models"
        raise self.fault(row, columns[2], expected)

    def judgements(
        self, columns: tuple[str, str, str]
    ) -> tuple[list[str], Indices, list[str], Indices, Array]:
        """Models, and of each of n judgements the places of its pair (n, 2); tasks, and its place
        (n,); its verdict (n,). Names ascend, and rows without a verdict are none."""
        sides = [self.names(column) for column in columns[:2]]
        judged = [row for row, text in enumerate(self.cells[columns[2]]) if text]
        models, pairs = _numbered([side[row] for row in judged for side in sides])
        verdicts = np.array([self.verdict(row, columns) for row in judged])
        named = self.choice.task or self.find(TASK)
        parts = map(self.names, [named] if isinstance(named, str) else named or ())
        names = [", ".join(each) for each in zip(*parts, strict=True)]
        tasks, rows = _numbered([names[row] if names else POOLED for row in judged])
        return models, pairs.reshape(-1, 2), tasks, rows, verdicts

    def numbers(self, column: str, tasks: Sequence[str] = ()) -> list[float]:
        """The scores in a column; ``tasks``: of its rows, if there are several. Raises
        :class:`RatingError` for a cell that is none, or a task in per cent and other numbers."""
        values = list(map(self.score, self.cells[column]))
        if None in values:
            number = f"a number up to {MOST:g} (0{self.decimal_mark}5 and 1000, no other mark)"
            expected = f"{number}, true, false, win, loss, or nothing if missing"
            raise self.fault(values.index(None), column, expected)
        tasks, is_share = tasks or [""] * len(values), [t[-1:] == "%" for t in self.cells[column]]
        shares = {task for task, is_one in zip(tasks, is_share, strict=True) if is_one}
        for row, value in enumerate(values):
            is_plain = not is_share[row] and abs(value or 0) > 0
            if is_plain and tasks[row] in shares:  # 0.3 may be a share or 0.3 %
                raise self.fault(row, column, "a number with %, as in other rows")
        return [value for value in values if value is not None]

    def score(self, text: str) -> float | None:
        """A score; NaN if it is missing, None for what is none."""
        if text.lower() in WORDS:
            return WORDS[text.lower()]
        try:
            value = float(text.removesuffix("%").replace(self.decimal_mark, "."))
        except ValueError:
            return None
        return value if abs(value) <= MOST and "_" not in text else None

    def scores(self) -> Scored:
        """The scores of whichever layout the table has."""
        model = self.choice.model or self.find(MODEL)
        task = self.choice.task[0] if self.choice.task else self.find(TASK)
        score = self.choice.score or (self.find(SCORE) if model and task else None)
        if model and task and score and not self.choice.tasks:
            return self._long(model, score)
        if self.choice.task and not self.choice.tasks:
            what = "scores, --score" if model else "models, --model"
            raise RatingError(f"{self.where}: found no column of {what} names it")
        column = model or next(iter(self.cells))  # of the models, one row for each
        names = self.names(column)
        if repeat := _repeat(names):
            before = f"each once (row {repeat[0] + self.first_row} has it)"
            raise self.fault(repeat[1], column, before)
        kept, notes = list(self.choice.tasks), list[str]()
        if not kept:
            kept, notes = self._score_columns(column)
        if not kept:
            found = f"found no column of scores beside {column}, expected some (--tasks names any)"
            raise RatingError(f"{self.where}: {found}")
        return list(names), kept, np.array([self.numbers(name) for name in kept], float).T, notes

    def _score_columns(self, column: str) -> tuple[list[str], list[str]]:
        """Columns that are tasks beside ``column``, and what is said of the others.
        Words such as true are a property where other columns are numbers."""
        kept, notes, flags = list[str](), list[str](), list[str]()
        for name in (name for name in self.cells if name != column):
            cells = {text.lower() for text in self.cells[name]}
            lost = f"column {name or 'without a name'} is left out"
            if not (key := column_key(name)) or SUMMARY.search(key):  # as of "#", a row's number
                notes.append(f"{lost}: it is no task (--tasks can name it)")
            elif not any(map(_DECIMAL_COMMA.fullmatch, cells)) and all(
                value is None or np.isnan(value) for value in map(self.score, cells)
            ):
                notes.append(f"{lost}: none of its cells is a score")
            else:
                (flags if cells <= WORDS.keys() else kept).append(name)
        words = [f"column {name} is left out: words among scores" for name in flags]
        return (kept, notes + words) if kept else (flags, notes)

    def _long(self, model: str, score: str) -> Scored:
        """One row for each score. The first column that tells the scores of each model apart names
        the tasks."""
        models, repeat = self.names(model), None
        keys = [(self.by_key[key],) for key in TASK if key in self.by_key]
        for columns in [self.choice.task] if self.choice.task else keys:
            tasks = [", ".join(parts) for parts in zip(*map(self.names, columns), strict=True)]
            repeat = _repeat(list(zip(models, tasks, strict=True)))
            if not repeat:
                break
        if repeat:
            where = repeat[0] + self.first_row
            expected = (
                f"one score of {models[repeat[1]]} there (row {where} has it); --task can name "
                "several columns, such as question_id,turn"
            )
            raise self.fault(repeat[1], columns[-1], expected)
        rows, places = ([*dict.fromkeys(names)] for names in (models, tasks))
        table = np.full((len(rows), len(places)), np.nan)
        row_of, column_of = ({name: n for n, name in enumerate(each)} for each in (rows, places))
        at = [row_of[name] for name in models], [column_of[task] for task in tasks]
        table[at] = self.numbers(score, tasks)
        return rows, places, table, []


def _numbered(names: Sequence[str]) -> tuple[list[str], Indices]:
    """The different names, ascending, and the place of each in them (n,)."""
    places = {name: place for place, name in enumerate(sorted({*names}))}
    return [*places], np.array([places[name] for name in names], int)


def _repeat(values: Sequence[Any]) -> tuple[int, int] | None:
    """Places of the first value that is there before, and of that one."""
    places: dict[Any, int] = {}
    for place, value in enumerate(values):
        if places.setdefault(value, place) < place:
            return places[value], place
    return None


# -- files ---------------------------------------------------------------------------------------

Rows = tuple[list[str], Sequence[Sequence[object]]]
"""Names of columns, and the cells of each row."""


def _read(path: Path) -> Rows:
    """The columns and rows of a file, by its ending. Raises :class:`RatingError`."""
    readers = {".csv": _csv, ".tsv": _csv, ".jsonl": _json, ".parquet": _parquet}
    if (ending := path.suffix.lower()) not in readers:
        expected = f"a name that ends in {', '.join(readers)}"
        raise RatingError(f"--table: found {path}, expected {expected}")
    try:
        return readers[ending](path)
    except FileNotFoundError:
        raise RatingError(f"--table: found no file {path}, expected a table") from None
    except OSError as error:
        problem = error.strerror or str(error).partition("\n")[0]
        raise RatingError(f"{path} cannot be read: found {problem}, expected a table") from None
    except (csv.Error, ValueError, OverflowError, RecursionError, pa.ArrowException) as error:
        kind, problem = ending[1:].upper(), next(iter(str(error).splitlines()), "")
        raise RatingError(f"{path}: found a table that is no {kind} ({problem})") from None


def _text(path: Path) -> str:
    """UTF-8, or UTF-16 after its mark."""
    content = path.read_bytes()
    is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    with suppress(UnicodeDecodeError):
        text = content.decode("utf-16" if is_wide else "utf-8-sig")
        if "\0" not in text:
            return text
    raise RatingError(f"{path}: found bytes that are no UTF-8, expected a table saved as UTF-8")


def _csv(path: Path) -> Rows:
    """The delimiter is the one that divides the first line into the most cells."""
    csv.field_size_limit(sys.maxsize)
    file = StringIO(_text(path).lstrip("\r\n "), newline="")
    line = file.readline()
    file.seek(0)
    delimiter = max(",;\t|", key=lambda d: len(next(csv.reader([line], delimiter=d), ())))
    rows = csv.reader(file, delimiter=delimiter, strict=True)
    header, *body = [row for row in rows if any(map(str.strip, row))] or [[]]
    for number, row in enumerate(body, start=2):
        if len(row) != len(header):
            found = f"found {len(row):,} cells, expected {len(header):,}"
            raise RatingError(f"{path}, row {number}: {found}")
    return [name.strip() for name in header], body


def _json(path: Path) -> Rows:
    """An object a line."""
    lines = _text(path).split("\n")
    rows = [json.loads(line) for line in lines if line.strip()]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            found = f"found {type(row).__name__}, expected an object"
            raise RatingError(f"{path}, row {number}: {found}")
    return _records(rows)


def _parquet(path: Path) -> Rows:
    content = pa.BufferReader(path.read_bytes())  # Arrow takes names of files for UTF-8
    return _records(pq.read_table(content).to_pylist())


def _records(rows: Sequence[dict[str, Any]]) -> Rows:
    """Rows with columns by name; a column with lists or objects is no score and no name."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    nested = {name for row in rows for name, cell in row.items() if isinstance(cell, list | dict)}
    plain = [name for name in names if name not in nested]
    return plain, [[row.get(name) for name in plain] for row in rows]
