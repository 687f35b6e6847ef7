"""The ratings paper's pictures of one game (its figures 4, 5 and 10, its first table), on small
simulated tables, since all of this is computed anew for every page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from archive.charts.plot import Plot, canvas, circle, key, text
from archive.ratings.evaluation_games import KING, REBEL, TASK, king_of_the_hill
from archive.ratings.normal_form import Array
from archive.ratings.preferences import mean_preferences, wins
from archive.ratings.rating import rate
from archive.ratings.simulations import (
    judged_preferences,
    leader_scores,
    skilled,
    with_copies,
)
from archive.ratings.structure import (
    ROUNDS,
    clean_sweeps,
    coordination_payoffs,
    equilibria,
    pure_equilibria,
)
from xgl.diagram.svg import Element, el

TASKS, MODELS, SKILLS, COPIES = 60, 8, 4, 30
"""The table of figures 4 and 5; copies are of the three tasks with the most mass, ten of each."""
SMALL, DRAWS, STARTS = (12, 6), 4, 24
"""Tables of figure 10, their number, and random targets from which equilibria are sought."""


@dataclass(frozen=True)
class Structure:
    """``plain`` (2, tasks): rating and mass of each task; ``copied`` (2, tasks + copies): with
    copies, each of the task in ``copies``. ``families`` (families, families): what rivals of each
    main skill add to the mean rating of the models of each main skill, named in ``family_skills``.
    ``payoffs``: sums over players (2, equilibria) under uniform and iterated priors, one array a
    draw, the selected equilibrium first. ``pure``, ``sweeps``: number of pure equilibria, and of
    tasks that a model sweeps, of the example table with ``rivals`` of each model."""

    plain: Array
    copied: Array
    copies: NDArray[np.int64]
    families: Array
    family_skills: tuple[int, ...]
    payoffs: tuple[Array, ...]
    pure: int
    sweeps: int
    rivals: int


@cache
def structure() -> Structure:
    """Everything, from fixed seeds. Raises :class:`RatingError` if no equilibrium is reached."""
    random = np.random.default_rng(0)
    table = judged_preferences(TASKS, MODELS, random, SKILLS)
    plain = rate(king_of_the_hill(table))
    copies = np.repeat(np.argsort(-plain.masses[TASK], kind="stable")[:3], COPIES // 3)
    more = rate(king_of_the_hill(with_copies(table, copies, random)))
    main = skilled(TASKS, MODELS, np.random.default_rng(0), SKILLS)[1].argmax(axis=1)
    skills, family = np.unique(main, return_inverse=True)
    member = np.eye(len(skills))[:, family]
    parts = plain.contributions(KING, REBEL)
    scores = leader_scores()[1]
    swept = mean_preferences([wins(column[:, None]) for column in scores.T])
    return Structure(
        np.stack([plain.ratings[TASK], plain.masses[TASK]]),
        np.stack([more.ratings[TASK], more.masses[TASK]]),
        copies,
        member / member.sum(axis=1, keepdims=True) @ parts @ member.T,
        tuple(skills.tolist()),
        tuple(_payoffs(draw) for draw in range(DRAWS)),
        len(pure_equilibria(king_of_the_hill(swept))),
        len(clean_sweeps(swept)),
        len(scores) - 1,
    )


def _payoffs(draw: int) -> Array:
    table = judged_preferences(*SMALL, np.random.default_rng(draw))
    game = king_of_the_hill(table)
    found = equilibria(game, STARTS, draw)
    sums = [coordination_payoffs(game, found, rounds).sum(axis=1) for rounds in (0, ROUNDS)]
    return np.stack(sums)


def structure_figure() -> Element:
    """Three panels: tasks by rating and mass, contributions by family, payoffs by equilibrium."""
    facts = structure()
    shapes = [*_tasks_panel(facts), *_families_panel(facts), *_payoffs_panel(facts)]
    title = "Tasks by rating and mass, contributions by family of models, payoffs by equilibrium"
    return canvas((1080, 330), title, *shapes, class_="structure")


def _tasks_panel(facts: Structure) -> Iterator[Element]:
    yield text(60, 18, "Tasks with and without copies (Fig. 4)", "heading")
    most = float(max(facts.plain[1].max(), facts.copied[1].max()))
    least = float(min(facts.plain[0].min(), facts.copied[0].min()))
    plot = Plot.box((60, 50), (260, 200), (least, 0.0), (0.0, most))
    yield from plot.grid("rating of the task", "mass", 4, 5)
    for values, colour, size in ((facts.plain, "s0", 4), (facts.copied, "s1", 2)):
        for rating, mass in values.T.tolist():
            yield circle(*plot.place(rating, mass), size, f"solid {colour}")
    yield from key(60, 310, f"{TASKS} tasks", "series s0")
    yield from key(180, 310, f"and {COPIES} copies", "series s1")


def _families_panel(facts: Structure) -> Iterator[Element]:
    yield text(400, 18, "What families of rivals add (Fig. 5)", "heading")
    largest = float(np.abs(facts.families).max()) or 1.0
    for row, skill in enumerate(facts.family_skills):
        yield text(480, 84 + 40 * row, f"skill {skill + 1}", "tick", "end")
        yield text(508 + 44 * row, 48, f"skill {skill + 1}", "tick", "middle")
        for column, part in enumerate(facts.families[row].tolist()):
            x, y = 488 + 44 * column, 58 + 40 * row
            colour, opacity = "s1" if part < 0 else "s2", round(0.05 + 0.7 * abs(part) / largest, 3)
            yield el(
                "rect", x=x, y=y, width=40, height=36, class_=f"solid {colour}", opacity=opacity
            )
            yield text(x + 20, y + 23, f"{part:+.2f}".replace("-", "−"), "tick", "middle")
    below = 84 + 40 * len(facts.family_skills)
    yield text(400, below, "rows: models by main skill, their mean", "axis")
    yield text(400, below + 16, "columns: rivals by main skill", "axis")


def _payoffs_panel(facts: Structure) -> Iterator[Element]:
    yield text(740, 18, "Payoffs where players miscoordinate (Fig. 10)", "heading")
    values = np.concatenate([each.ravel() for each in facts.payoffs])
    box = (0.5, len(facts.payoffs) + 0.5), (float(values.min()), float(values.max()))
    plot = Plot.box((740, 50), (320, 200), *box, "x")
    yield from plot.grid("simulated table", "sum of payoffs", len(facts.payoffs), 5)
    for draw, sums in enumerate(facts.payoffs, start=1):
        for prior, (row, shift) in enumerate(zip(sums.tolist(), (-0.12, 0.12), strict=True)):
            for place, value in reversed(list(enumerate(row))):
                colour = "s1" if place == 0 else f"s{2 * prior}"
                yield circle(
                    *plot.place(draw + shift, value), 5 if place == 0 else 3, f"solid {colour}"
                )
    for x, (words, colour) in zip(
        (740, 880, 990),
        (("uniform priors", "s0"), ("iterated", "s2"), ("selected", "s1")),
        strict=True,
    ):
        yield from key(x, 310, words, f"series {colour}")
