"""The leaderboard of a measure or a table: models and tasks rated together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from archive.ratings.normal_form import Array
from archive.statistics.ratings import GameRating, MeasureRatings, notes
from archive.text import number, percent, plural, signed
from archive.views.tables import add, labels, show_labels, stacked, table
from xgl.errors import excerpt

MOST_CONTRIBUTIONS = 6
"""Games whose contributions are shown."""
MOST_TASKS = 40
"""Tasks shown; ``--json`` has all."""


def as_json(ratings: MeasureRatings) -> dict[str, Any]:
    """Everything, tables by name of their rows and columns."""
    models = [model.model for model in ratings.models]
    games = [game.task_id.key for game in ratings.games]
    return {
        **ratings.__dict__,
        "notes": list(notes(ratings)),
        "by_game": _by_name(models, games, ratings.by_game),
        "above": _by_name(models, models, ratings.above),
    }


def _by_name(rows: Sequence[str], columns: Sequence[str], values: Array) -> dict[str, Any]:
    lines = (dict(zip(columns, line, strict=True)) for line in values.tolist())
    return dict(zip(rows, lines, strict=True))


def show(ratings: MeasureRatings, console: Console) -> None:
    """Models, games, what games add to models' ratings, and notes."""
    names = labels(model.model for model in ratings.models)
    console.print(_models(ratings, names, narrow=console.width < 100))
    console.print(_games(ratings, names))
    if len(ratings.models) > 1:
        sizes = abs(ratings.by_game).max(axis=0)  # a model's row sums to its rating
        order = (-sizes).argsort(kind="stable").tolist()
        places = [place for place in order if sizes[place] > 0][:MOST_CONTRIBUTIONS]
        games = (_task(ratings, ratings.games[place]) for place in places)
        title = f"What each {ratings.noun} adds to a model's NE rating"
        view = table(title, "model", *games, "rest", "rating")
        for model, parts in zip(ratings.models, ratings.by_game, strict=True):
            own, total = parts[places].tolist(), model.rating.value
            add(view, names[model.model], *(signed(n, 3) for n in (*own, total - sum(own), total)))
        console.print(view)
    show_labels(names, console)
    console.print(
        f"\nexploitability {ratings.exploitability:.1e} (NE), {ratings.cce_exploitability:.1e} "
        f"(CCE); {ratings.effective_games:.1f} effective games"
    )
    if len(ratings.games) > MOST_TASKS:
        rest = plural(len(ratings.games) - MOST_TASKS, ratings.noun)
        console.print(f"{rest} of lower rating are in --json")
    for note in notes(ratings):
        console.print(f"note: {note}", soft_wrap=True)


def _models(ratings: MeasureRatings, names: Mapping[str, str], narrow: bool) -> Table:
    many = ratings.question
    bounds = f", {percent(many.confidence)} over {many.resamples} resamples of {ratings.resampled}"
    resampled = many.resamples and ratings.resampled
    columns = ("rank", "model", "NE", "P(1st)", "mass", "CCE", "τ=0.1", "held out", "Elo")
    rows = []
    for each in ratings.models:
        unknown = math.isnan(each.rank_low)
        ranks = "" if unknown else f"\n{each.rank_low:.0f}–{each.rank_high:.0f}"
        exact = (each.cce_rating.value, None if narrow else each.warm_rating, each.fitted_rating)
        cells = [f"{each.rank}{ranks}", names[each.model], stacked(each.rating)]
        cells += map(number, (each.first, each.mass, *exact))
        rows.append([*cells, number(None if narrow else each.elo, 0), number(each.mean)])
    title = f"Models, rated by {many.preference}{bounds if resampled else ''}"
    return _filled(title, (*columns, ratings.mean_of), rows)


def _games(ratings: MeasureRatings, names: Mapping[str, str]) -> Table:
    columns = ("NE", "mass", "CCE mass", "held-out mass", "like", "separates", "mean |u|")
    rows = []
    firsts: dict[int, GameRating] = {}
    for game in ratings.games[:MOST_TASKS]:
        first = firsts.setdefault(game.equal_to, game)
        cells = (
            _task(ratings, game),
            stacked(game.rating),
            stacked(game.mass),
            number(game.cce_mass),
            number(game.fitted_mass),
            "" if first is game else _task(ratings, first),
            "\n> ".join(names[model] for model in game.separates or ()),
            number(game.separation),
        )
        rows.append(cells)
    title = f"{ratings.noun.title()}s, by how far they separate the models that are played"
    return _filled(title, (ratings.noun, *columns), rows)


def _filled(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table without the columns that say nothing in any row; column NE is not folded."""
    kept = [n for n in range(len(columns)) if any(row[n] not in ("", "–") for row in rows)]
    cells = ([row[n] for n in kept] for row in rows)
    result = table(title, *(columns[n] for n in kept), rows=cells)
    result.columns[kept.index(columns.index("NE"))].no_wrap = True
    return result


def _task(ratings: MeasureRatings, game: GameRating) -> str:
    """A game's label, or the name of a table's task."""
    is_game = ratings.noun == "game"
    return game.task_id.label if is_game else excerpt(game.task_id.game_id, 24)
