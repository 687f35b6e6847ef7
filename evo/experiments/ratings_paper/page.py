"""Tables on a terminal, the paper's figures as files, and a page of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import log

import numpy as np
from rich.table import Table

from archive.charts.plot import (
    Plot,
    canvas,
    circle,
    document,
    html_table,
    key,
    polyline,
    series,
    sheet,
    text,
)
from archive.ratings.normal_form import Array
from archive.ratings.simulations import RatingSystem
from archive.views.tables import add, table
from evo.experiments.ratings_paper.results import (
    NAMES,
    PROMPT_SETTINGS,
    SYSTEMS,
    Claim,
    Results,
    claims,
)
from xgl.diagram.svg import Element, el, points, render

PAGE = "ratings_paper.html"
CLAIM_COLUMNS = ("where", "the paper says", "we find")
INTRODUCTION = """
Models and prompts are simulated as vectors of skills. In each iteration a new model enters that
is rated best, by Elo or by an equilibrium of the game between prompts and models. What a rating
rewards shows in what enters: the higher the entropy of the mean vector, the more even the skills.
Then tasks are copied that the best model under Elo does badly on: a rating that counts tasks moves
with every copy.
"""


def tables(results: Results) -> list[Table]:
    """Tables for a terminal."""
    view = table("The ratings paper's experiments", *CLAIM_COLUMNS)
    for claim in claims(results):
        add(view, claim.where, claim.paper, claim.result)
    return [view]


def figures(results: Results) -> dict[str, Element]:
    """Figures that have rows, by the name of their file."""
    figures: dict[str, Element] = {}
    if results.paths:
        figures["improvement.svg"] = entropy_figure(results)
        figures["sequence.svg"] = sequence_figure(results)
    if results.redundancy:
        figures["redundancy.svg"] = redundancy_figure(results)
    return figures


def files(results: Results) -> dict[str, str]:
    """Names and contents: the figures, and the page with all of them."""
    elements = figures(results)
    return {name: document(each) for name, each in elements.items()} | {
        PAGE: html(results, elements)
    }


def html(results: Results, elements: dict[str, Element]) -> str:
    """The page."""
    headings = {
        "improvement.svg": "Diversity by iteration (Fig. 1, centre)",
        "sequence.svg": "What entered in one trial (Fig. 1, right, and 2)",
        "redundancy.svg": "Tasks against one model (Fig. 3 and 11)",
    }
    parts = [f"<p>{INTRODUCTION}"]
    for name, figure in elements.items():
        parts += [f"<h2>{headings[name]}</h2>", f"<div class=wide>{render(figure)}</div>"]
    parts += ["<h2>What the paper says, and what we find</h2>", *_claims(claims(results))]
    return sheet("Equilibrium ratings in simulation", *parts)


def _claims(claims: Sequence[Claim]) -> list[str]:
    """HTML of the table of claims, and of the settings under it, each once."""
    settings = list(dict.fromkeys(claim.settings for claim in claims if claim.settings))
    cells = [(each.where, each.paper, each.result, _note(each, settings)) for each in claims]
    notes = [f"<li>{escape(each)}" for each in settings]
    return [
        html_table((*CLAIM_COLUMNS, "settings"), cells),
        "<p>Settings that the paper leaves open:<ol>",
        *notes,
        "</ol>",
    ]


def _note(claim: Claim, settings: Sequence[str]) -> str:
    return f"[{settings.index(claim.settings) + 1}]" if claim.settings else ""


LEFT, TOP, WIDE, HIGH = 52.0, 44.0, 300.0, 220.0
"""Left and upper edge of the first panel, size of each."""
GAP = 76.0
"""Gap between panels."""
COLOURS = {
    "elo": series(1),
    "equilibrium": series(0),
    RatingSystem.NE: series(0),
    RatingSystem.CCE: series(2),
    RatingSystem.NE_SHANNON: series(0),
    RatingSystem.CCE_SHANNON: series(2),
}
WORDS = {"elo": "Elo", "equilibrium": "equilibrium ratings"}
CELL = 13.0
"""Side of a cell of a sequence."""
BREAK = 10.0
"""Gap between the initial vectors and those that entered."""


def entropy_figure(results: Results) -> Element:
    """Fig. 1, centre: skill entropy by iteration, mean and standard deviation over trials."""
    shapes: list[Element] = []
    most = log(results.config.ratings_paper.path.skills)
    curve_sets = [
        (of, system, prompts, results.entropies(of, system, prompts))
        for of in ("model", "prompt")
        for system in SYSTEMS
        for prompts in PROMPT_SETTINGS
    ]
    least = min((float(each[-1].min()) for each in curve_sets if each[-1].size), default=0.0)
    steps = max((each[-1].shape[1] - 1 for each in curve_sets), default=1)
    for index, of in enumerate(("model", "prompt")):
        corner = LEFT + index * (WIDE + GAP), TOP
        plot = Plot.box(corner, (WIDE, HIGH), (0, max(steps, 1)), (least, most), "x")
        shapes += [text(corner[0], 18, f"Skill entropy of {of}s", "heading")]
        shapes += plot.grid("iteration", "nats", 5, 5)
        for kind, system, prompts, curves in curve_sets:
            if kind == of and len(curves):
                shapes += _curve(plot, curves, COLOURS[system], prompts == "initial")
    shapes += _entropy_key(TOP + HIGH + 58)
    title = "Skill entropy by iteration under Elo and under equilibrium ratings"
    return canvas((LEFT + 2 * WIDE + GAP + 20, TOP + HIGH + 96), title, *shapes, class_="paths")


def _curve(plot: Plot, curves: Array, colour: str, dashed: bool) -> Iterator[Element]:
    xs = list(range(curves.shape[1]))
    mean = curves.mean(axis=0)
    if len(curves) > 1 and not dashed:
        spread = curves.std(axis=0, ddof=1)
        rim = plot.places(xs, mean + spread) + plot.places(xs, mean - spread)[::-1]
        yield el("polygon", points=points(rim), class_=f"solid {colour}", opacity=0.15)
    class_ = f"series dashed {colour}" if dashed else f"series {colour}"
    yield polyline(plot.places(xs, mean.tolist()), class_)


def _entropy_key(y: float) -> Iterator[Element]:
    for row, system in enumerate(SYSTEMS):
        for column, prompts in enumerate(PROMPT_SETTINGS):
            style = " dashed" if prompts == "initial" else ""
            words = f"{WORDS[system]}, {prompts} prompts"
            yield from key(
                LEFT + column * 260, y + 20 * row, words, f"series{style} {COLOURS[system]}"
            )


def sequence_figure(results: Results) -> Element:
    """Fig. 1, right: each vector that entered in one trial is a column, each skill a row; the
    darker, the more of the vector's sum."""
    shapes: list[Element] = []
    width, y, path = 0.0, TOP, results.config.ratings_paper.path
    for system in SYSTEMS:
        for of in ("models", "prompts"):
            vectors = results.sequence(of, system)
            shapes += [text(LEFT, y - 10, f"{of} under {WORDS[system]}", "heading")]
            shapes += _cells(vectors, y, COLOURS[system], getattr(path, of))
            width = max(width, LEFT + CELL * len(vectors) + BREAK)
            y += CELL * vectors.shape[1] + 46
    shapes += [
        text(LEFT, y - 18, "the initial vectors, then those that entered, in their order", "axis")
    ]
    title = "Models and prompts in the order in which they entered, skill by skill"
    return canvas((max(width, 420) + 20, y), title, *shapes, class_="sequence")


def _cells(vectors: Array, y: float, colour: str, initial: int) -> Iterator[Element]:
    for skill in range(vectors.shape[1]):
        yield text(LEFT - 8, y + CELL * (skill + 0.8), f"skill {skill + 1}", "tick", "end")
    totals = vectors.sum(axis=1)
    for column, (vector, total) in enumerate(zip(vectors, totals, strict=True)):
        for skill, value in enumerate(vector):
            share = float(value / total) if total else 0.0
            yield el(
                "rect",
                el("title", f"skill {skill + 1}: {share:.0%}"),
                x=LEFT + CELL * column + BREAK * (column >= initial),
                y=y + CELL * skill,
                width=CELL - 1,
                height=CELL - 1,
                class_=f"solid {colour}",
                opacity=round(min(1.0, 0.04 + 1.3 * share), 3),
            )


def redundancy_figure(results: Results) -> Element:
    """Fig. 3 and 11: how many models are rated above the one that the copies are against."""
    shapes: list[Element] = []
    redundancy = results.config.ratings_paper.redundancy
    for index, (near, title) in enumerate(
        ((False, "exact copies"), (True, f"near copies (± {redundancy.jitter:g})"))
    ):
        tables = results.tables_of(near)
        most = max((copies for _, copies in tables), default=1)
        corner = LEFT + index * (WIDE + GAP), TOP
        box = (WIDE, HIGH), (0, max(most, 1)), (0, redundancy.models - 1)
        plot = Plot.box(corner, *box, "xy")
        shapes += [text(corner[0], 18, title, "heading")]
        shapes += plot.grid("copies against Elo's leader", "models rated above it", 4, 8)
        for number, system in enumerate(RatingSystem):
            shapes += _rank_curve(plot, results, tables, system, number)
    for number, system in enumerate(RatingSystem):
        style = " dashed" if "shannon" in system else ""
        at = LEFT + 130 * number, TOP + HIGH + 60
        shapes += key(*at, NAMES[system], f"series{style} {COLOURS[system]}")
    title = "Models rated above the leader under Elo, by the number of tasks against it"
    size = LEFT + 2 * WIDE + GAP + 20, TOP + HIGH + 78
    return canvas(size, title, *shapes, class_="redundancy")


def _rank_curve(
    plot: Plot,
    results: Results,
    tables: list[tuple[float, int]],
    system: RatingSystem,
    number: int,
) -> Iterator[Element]:
    """Mean over trials; lines that coincide lie a little apart."""
    places = []
    for jitter, copies in tables:
        model_ranks = [rank for rank in results.ranks(jitter, copies, system) if rank is not None]
        if model_ranks:
            x, y = plot.place(copies, float(np.mean(model_ranks)) - 1)
            places.append((x, y - 2.5 * (number - 2)))
    style = " dashed" if "shannon" in system else ""
    yield polyline(places, f"series{style} {COLOURS[system]}")
    for x, y in places:
        yield circle(x, y, 3, f"solid {COLOURS[system]}")
