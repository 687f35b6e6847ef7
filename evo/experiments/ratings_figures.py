"""The ratings paper's claims with our results, as a table, and its figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, product
from math import log
from typing import Any

import numpy as np
from rich.table import Table

from archive.charts import Plot, canvas, circle, document, key, polyline, series, text
from archive.ratings.normal_form import Array
from archive.ratings.paper import (
    RatingSystem,
    clean_sweeps,
    examples,
    judged_preferences,
    largest_error,
    leader_scores,
    pure_equilibria,
    with_copies,
)
from archive.ratings.preferences import TASK, king_of_the_hill, mean_preferences, wins
from archive.ratings.rating import rate
from archive.views.tables import add, table
from xgl.diagram.svg import Element, el

Row = Mapping[str, Any]
SYSTEMS = ("elo", "equilibrium")
PROMPT_SETTINGS = ("initial", "additional")


Claim = tuple[str, str, str]
"""A place in the paper, what it claims there, and our result."""


def claims_table(paths: Sequence[Row], redundancy: Sequence[Row]) -> Table:
    """Claims of all experiments that have rows, for a terminal. Raises :class:`RatingError` if no
    equilibrium is reached."""
    view = table("The ratings paper's experiments", "where", "the paper says", "we find")
    rows = _path_claims(paths) if paths else ()
    more = _redundancy_claims(redundancy) if redundancy else ()
    for claim in chain(rows, more, _structure_claims(), _example_claims()):
        add(view, *claim)
    return view


def figures(paths: Sequence[Row], redundancy: Sequence[Row]) -> dict[str, str]:
    """Figures that have rows, as SVG documents by the name of their file."""
    drawn: dict[str, Element] = {}
    if paths:
        drawn = {"improvement.svg": entropy_figure(paths), "sequence.svg": sequence_figure(paths)}
    if redundancy:
        drawn["redundancy.svg"] = redundancy_figure(redundancy)
    return {name: document(each) for name, each in drawn.items()}


# -- what rows say ---------------------------------------------------------------------------------


def entropies(paths: Sequence[Row], of: str, system: str, prompts: str) -> Array:
    """(trials, iterations + 1) nats of ``of``, prompt or model."""
    by_trial: dict[int, list[Row]] = {}
    for row in sorted(paths, key=lambda row: (row["trial"], row["iteration"])):
        if (row["system"], row["prompt_setting"]) == (system, prompts):
            by_trial.setdefault(row["trial"], []).append(row)
    return np.array([[row[f"{of}_entropy"] for row in rows] for rows in by_trial.values()])


def ranks(redundancy: Sequence[Row], jitter: float, copies: int, system: str) -> list[int | None]:
    """Rank of the model that the copies are against, trial by trial; None if no equilibrium was
    reached."""
    return [
        row["rank"]
        for row in sorted(redundancy, key=lambda row: int(row["trial"]))
        if (row["jitter"], row["copies"], row["system"]) == (jitter, copies, system)
        and row["model"] == row["against"]
    ]


def _tables_of(redundancy: Sequence[Row], near: bool) -> list[tuple[float, int]]:
    """(jitter, copies) of exact or near copies, with the table without copies."""
    found = {(row["jitter"], row["copies"]) for row in redundancy}
    return sorted((j, n) for j, n in found if n == 0 or (j > 0) == near)


def _path_claims(paths: Sequence[Row]) -> Iterator[Claim]:
    for system, prompts, of, words in (
        ("elo", "initial", "model", "Elo: model entropy falls with the initial prompts"),
        ("elo", "additional", "model", "more with additional prompts"),
        ("elo", "additional", "prompt", "Elo: prompt entropy falls too"),
        ("equilibrium", "initial", "model", "equilibrium: model entropy is preserved"),
        ("equilibrium", "additional", "model", "with additional prompts too"),
        ("equilibrium", "additional", "prompt", "equilibrium: prompt entropy is preserved"),
    ):
        curves = entropies(paths, of, system, prompts)
        if not len(curves):  # the run has not come so far
            continue
        spread = f" ± {curves[:, -1].std(ddof=1):.3f}" if len(curves) > 1 else ""
        ends = f"{curves[:, 0].mean():.3f} → {curves[:, -1].mean():.3f}{spread}"
        yield "Fig. 1", words, f"{ends} nats ({len(curves)} trials)"


def _redundancy_claims(redundancy: Sequence[Row]) -> Iterator[Claim]:
    for near, where, words in ((False, "Fig. 3", _EXACT), (True, "Fig. 11", _NEAR)):
        for system, statement in words.items():
            tables = _tables_of(redundancy, near)
            found = [f"{n}: {_listed(ranks(redundancy, j, n, system))}" for j, n in tables]
            yield where, statement, "; ".join(found)
    first = [r for r in redundancy if r["copies"] == 0 and r["system"] == RatingSystem.CCE]
    leading = Counter({row["trial"]: 0 for row in first})
    leading.update(row["trial"] for row in first if row["rank"] == 1)
    shared = [leading[trial] for trial in sorted(leading)]
    yield "Fig. 3", "under CCE the top three models tie", f"{_listed(shared)} at rank 1"


_EXACT = {
    RatingSystem.ELO: "Elo: the target falls from rank 1",
    RatingSystem.NE: "NE: ranks do not move",
    RatingSystem.CCE: "CCE: ranks do not move",
    RatingSystem.NE_SHANNON: "NE with Shannon entropy: they do",
    RatingSystem.CCE_SHANNON: "CCE with Shannon entropy: they do",
}
_NEAR = {
    RatingSystem.ELO: "Elo: skewed the more, the more near copies",
    RatingSystem.NE: "NE: degrades gracefully",
    RatingSystem.CCE: "CCE: degrades gracefully",
}


def _listed(values: Sequence[int | None]) -> str:
    return ", ".join("–" if value is None else str(value) for value in values)


def _example_claims() -> Iterator[Claim]:
    shown = examples()
    for where, game, words in (
        ("App. D", "rock", "rock-paper-scissors, also with rock twice: all ratings 0"),
        ("App. E", "chicken, Sh", "max-entropy equilibria of chicken change with a copy"),
        ("App. E", "chicken, [os]", "chicken, also with straight twice: swerve 11/12, ratings 0"),
    ):
        error = largest_error([each for each in shown if re.match(game, each[0])])
        yield where, words, f"so, within {error:.0e}"


# -- one game --------------------------------------------------------------------------------------
# On small simulated tables of fixed seeds, since all of this is computed anew at every end.

TASKS, MODELS, SKILLS, COPIES = 60, 8, 4, 10
"""The table of figure 4; copies are of each of the three tasks with the most mass."""


@cache
def _structure_claims() -> list[Claim]:
    random = np.random.default_rng(0)
    preferences = judged_preferences(TASKS, MODELS, random, SKILLS)
    rated = rate(king_of_the_hill(preferences))
    ratings, masses = rated.ratings[TASK], rated.masses[TASK]
    first = np.argsort(-masses, kind="stable")[:3]
    copied = with_copies(preferences, np.repeat(first, COPIES), random)
    more = rate(king_of_the_hill(copied))
    moved, played = np.abs(more.ratings[TASK][:TASKS] - ratings).max(), masses > 1e-6
    scores = leader_scores()[1]
    swept = mean_preferences([wins(column[:, None]) for column in scores.T])
    pure = len(pure_equilibria(king_of_the_hill(swept)))
    sweeps, rivals = len(clean_sweeps(swept)), len(scores) - 1
    return [
        (
            "Fig. 4",
            "prompts with a high NE rating have the mass; copies have the same rating and less",
            f"{played.sum()} of {TASKS} have mass, rated within {abs(ratings[played].min()):.0e} "
            f"of 0; ten copies of each of the first three move ratings by {moved:.0e} at most; the "
            f"three themselves have mass {masses[first].sum():.3f}, then "
            f"{more.masses[TASK][first].sum():.3f}",
        ),
        (
            "Table 1",
            "each task that a model sweeps gives one pure NE for each rival: 5 × 16 = 80",
            f"{sweeps} × {rivals} = {sweeps * rivals} of {pure} pure NE",
        ),
    ]


# -- figures of the rows ---------------------------------------------------------------------------

LEFT, TOP, WIDE, HIGH = 52.0, 44.0, 300.0, 220.0
"""Left and upper edge of the first panel, size of each."""
GAP = 76.0
"""Gap between panels."""
STYLES = {
    "elo": (series(1), "Elo"),
    "equilibrium": (series(0), "equilibrium ratings"),
    RatingSystem.NE: (series(0), "NE"),
    RatingSystem.CCE: (series(2), "CCE"),
    RatingSystem.NE_SHANNON: (f"dashed {series(0)}", "NE, Shannon"),
    RatingSystem.CCE_SHANNON: (f"dashed {series(2)}", "CCE, Shannon"),
}
"""Class and name of each rating system's curves."""
CELL = 13.0
"""Side of a cell of a sequence."""


def entropy_figure(paths: Sequence[Row]) -> Element:
    """Fig. 1, centre: skill entropy by iteration, mean over trials."""
    shapes: list[Element] = []
    least = min(min(row["model_entropy"], row["prompt_entropy"]) for row in paths)
    steps, most = max(row["iteration"] for row in paths), log(paths[0]["skills"])
    for index, of in enumerate(("model", "prompt")):
        corner = LEFT + index * (WIDE + GAP), TOP
        plot = Plot.box(corner, (WIDE, HIGH), (0, max(steps, 1)), (least, most), "x")
        shapes += [text(corner[0], 18, f"Skill entropy of {of}s", "heading")]
        shapes += plot.grid("iteration", "nats", 5, 5)
        for place, (system, prompts) in enumerate(product(SYSTEMS, PROMPT_SETTINGS)):
            colour, name = STYLES[system]
            style = f"series dashed {colour}" if prompts == "initial" else f"series {colour}"
            row, column = divmod(place, len(PROMPT_SETTINGS))
            at = LEFT + column * 260, TOP + HIGH + 58 + 20 * row
            shapes += key(*at, f"{name}, {prompts} prompts", style)
            if len(curves := entropies(paths, of, system, prompts)):
                mean = curves.mean(axis=0).tolist()
                shapes.append(polyline(plot.places(range(len(mean)), mean), style))
    title = "Skill entropy by iteration under Elo and under equilibrium ratings"
    return canvas((LEFT + 2 * WIDE + GAP + 20, TOP + HIGH + 96), title, *shapes, class_="paths")


def sequence_figure(paths: Sequence[Row]) -> Element:
    """Fig. 1, right, and 2: each vector that entered in one trial is a column, each skill a row;
    the darker, the more of the vector's sum."""
    shapes: list[Element] = []
    width, y, skills = 420.0, TOP, paths[0]["skills"]
    rows = sorted(paths, key=lambda row: int(row["iteration"]))
    for system, of in product(SYSTEMS, ("models", "prompts")):
        facts = {"trial": 0, "system": system, "prompt_setting": "additional"}
        mine = [row for row in rows if facts.items() <= row.items()]
        values = [value for row in mine for value in row[of] or ()]
        colour, name = STYLES[system]
        shapes += [text(LEFT, y - 10, f"{of} under {name}", "heading")]
        shapes += _cells(np.reshape(values, (-1, skills)), y, colour)
        width, y = max(width, LEFT + CELL * len(values) / skills), y + CELL * skills + 46
    about = "the initial vectors, then those that entered, in their order"
    shapes += [text(LEFT, y - 18, about, "axis")]
    title = "Models and prompts in the order in which they entered, skill by skill"
    return canvas((width + 20, y), title, *shapes, class_="sequence")


def _cells(vectors: Array, y: float, colour: str) -> Iterator[Element]:
    for skill in range(vectors.shape[1]):
        yield text(LEFT - 8, y + CELL * (skill + 0.8), f"skill {skill + 1}", "tick", "end")
    for (column, skill), value in np.ndenumerate(vectors):
        share = value / (vectors[column].sum() or 1.0)
        place = {"x": LEFT + CELL * column, "y": y + CELL * skill}
        size = {"width": CELL - 1, "height": CELL - 1}
        opacity = round(min(1.0, 0.04 + 1.3 * float(share)), 3)
        yield el("rect", **place, class_=f"solid {colour}", **size, opacity=opacity)


def redundancy_figure(redundancy: Sequence[Row]) -> Element:
    """Fig. 3 and 11: how many models are rated above the one that the copies are against, mean over
    trials; lines that coincide lie a little apart."""
    shapes: list[Element] = []
    rivals = max(row["model"] for row in redundancy)
    for index, title in enumerate(("exact copies", "near copies")):
        tables = _tables_of(redundancy, near=index == 1)
        most = max((copies for _, copies in tables), default=1)
        corner = LEFT + index * (WIDE + GAP), TOP
        plot = Plot.box(corner, (WIDE, HIGH), (0, max(most, 1)), (0, rivals), "xy")
        shapes += [text(corner[0], 18, title, "heading")]
        shapes += plot.grid("copies against Elo's leader", "models rated above it", 4, 8)
        for number, system in enumerate(RatingSystem):
            colour, name = STYLES[system]
            shapes += key(LEFT + 130 * number, TOP + HIGH + 60, name, f"series {colour}")
            places = []
            for jitter, copies in tables:
                found = [r for r in ranks(redundancy, jitter, copies, system) if r is not None]
                x, y = plot.place(copies, float(np.mean(found or [1])) - 1)
                places += [(x, y - 2.5 * (number - 2))] if found else []
            shapes += [polyline(places, f"series {colour}")]
            shapes += [circle(*place, 3, f"solid {colour.split()[-1]}") for place in places]
    title = "Models rated above the leader under Elo, by the number of tasks against it"
    size = LEFT + 2 * WIDE + GAP + 20, TOP + HIGH + 78
    return canvas(size, title, *shapes, class_="redundancy")
