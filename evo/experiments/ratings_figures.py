"""The ratings paper's claims with our results, as a table, and its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from archive.charts import Plot, canvas, circle, document, key, polyline, series, text
from archive.ratings.normal_form import Array
from archive.ratings.paper import (
    ROUNDS,
    RatingSystem,
    clean_sweeps,
    coordination_payoffs,
    equilibria,
    examples,
    judged_preferences,
    largest_error,
    leader_scores,
    pure_equilibria,
    skilled,
    with_copies,
)
from archive.ratings.preferences import KING, REBEL, TASK, king_of_the_hill, mean_preferences, wins
from archive.ratings.rating import Ratings, rate
from archive.views.tables import add, table
from xgl.diagram.svg import Element, el, points

Row = Mapping[str, Any]
SYSTEMS = ("elo", "equilibrium")
PROMPT_SETTINGS = ("initial", "additional")


class Claim(NamedTuple):
    """The paper's claim in one place (``where``), and our ``result``."""

    where: str
    paper: str
    result: str


def claims(paths: Sequence[Row], redundancy: Sequence[Row]) -> list[Claim]:
    """Claims of all experiments that have rows. Raises :class:`RatingError` if no equilibrium is
    reached."""
    return [
        *(_path_claims(paths) if paths else ()),
        *(_redundancy_claims(redundancy) if redundancy else ()),
        *structure(),
        *_example_claims(),
    ]


def claims_table(paths: Sequence[Row], redundancy: Sequence[Row]) -> Table:
    """The claims for a terminal."""
    view = table("The ratings paper's experiments", "where", "the paper says", "we find")
    for claim in claims(paths, redundancy):
        add(view, *claim)
    return view


def figures(paths: Sequence[Row], redundancy: Sequence[Row]) -> dict[str, str]:
    """Figures that have rows, as SVG documents by the name of their file."""
    drawn: dict[str, Element] = {"structure.svg": structure_figure()}
    if paths:
        drawn |= {"improvement.svg": entropy_figure(paths), "sequence.svg": sequence_figure(paths)}
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
        yield Claim("Fig. 1", words, f"{ends} nats ({len(curves)} trials)")


def _redundancy_claims(redundancy: Sequence[Row]) -> Iterator[Claim]:
    for near, where, words in ((False, "Fig. 3", _EXACT), (True, "Fig. 11", _NEAR)):
        for system, statement in words.items():
            found = [
                f"{n}: {_ranks_text(ranks(redundancy, j, n, system))}"
                for j, n in _tables_of(redundancy, near)
            ]
            yield Claim(where, statement, "; ".join(found))
    first = [r for r in redundancy if r["copies"] == 0 and r["system"] == RatingSystem.CCE]
    shared = [
        sum(row["rank"] == 1 for row in first if row["trial"] == trial)
        for trial in sorted({row["trial"] for row in first})
    ]
    yield Claim("Fig. 3", "under CCE the top three models tie", f"{_ranks_text(shared)} at rank 1")


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


def _ranks_text(values: Sequence[int | None]) -> str:
    return ", ".join("–" if value is None else str(value) for value in values)


def _example_claims() -> Iterator[Claim]:
    shown = examples()
    for where, game, words in (
        ("App. D", "rock", "rock-paper-scissors, also with rock twice: all ratings 0"),
        ("App. E", "chicken, Sh", "max-entropy equilibria of chicken change with a copy"),
        ("App. E", "chicken, ", "chicken, also with straight twice: swerve 11/12, ratings 0"),
    ):
        mine = [each for each in shown if each[0].startswith(game)]
        if game == "chicken, ":
            mine = [each for each in mine if "Shannon" not in each[0]]
        yield Claim(where, words, f"so, within {largest_error(mine):.0e}")


# -- one game --------------------------------------------------------------------------------------
# On small simulated tables, since all of this is computed anew for every page.

TASKS, MODELS, SKILLS, COPIES = 60, 8, 4, 30
"""The table of figures 4 and 5; copies are of the three tasks with the most mass, ten of each."""
SMALL, DRAWS, STARTS = (12, 6), 4, 24
"""Tables of figure 10, their number, and random targets from which equilibria are sought."""


@cache
def structure() -> list[Claim]:
    """Claims about Fig. 4, 5, 10 and Table 1, from fixed seeds. Raises :class:`RatingError` if no
    equilibrium is reached."""
    rated, more, first = _rated()
    ratings, masses = rated.ratings[TASK], rated.masses[TASK]
    moved = float(np.abs(more.ratings[TASK][:TASKS] - ratings).max())
    played = masses > 1e-6
    skills, parts = _family_parts(rated)
    size, own = len(skills), float(np.trace(parts))
    others = (parts.sum() - own) / max(size * (size - 1), 1)
    scores = leader_scores()[1]
    swept = mean_preferences([wins(column[:, None]) for column in scores.T])
    pure = len(pure_equilibria(king_of_the_hill(swept)))
    sweeps, rivals = len(clean_sweeps(swept)), len(scores) - 1
    places = [
        ", ".join(f"{int((sums > sums[0] + 1e-9).sum()) + 1} of {len(sums)}" for sums in rows)
        for rows in zip(*map(_payoffs, range(DRAWS)), strict=True)
    ]
    return [
        Claim(
            "Fig. 4",
            "prompts with a high NE rating have the mass; copies have the same rating and less",
            f"{played.sum()} of {TASKS} have mass, rated within {abs(ratings[played].min()):.0e} "
            f"of 0; ten copies of each of the first three move ratings by {moved:.0e} at most; the "
            f"three themselves have mass {masses[first].sum():.3f}, then "
            f"{more.masses[TASK][first].sum():.3f}",
        ),
        Claim(
            "Fig. 5",
            "contributions group by family of models",
            f"by main skill ({size} families): rivals of the own family add {own / size:+.3f} to a "
            f"rating, those of another {others:+.3f} on average",
        ),
        Claim(
            "Table 1",
            "each task that a model sweeps gives one pure NE for each rival: 5 × 16 = 80",
            f"{sweeps} × {rivals} = {sweeps * rivals} of {pure} pure NE",
        ),
        Claim(
            "Fig. 10",
            "the selected NE has the highest sum of payoffs (1 of 128) under uniform priors, and "
            "under iterated ones: it is risk-dominant",
            f"its place in {DRAWS} tables: uniform {places[0]}; iterated {places[1]}",
        ),
    ]


@cache
def _rated() -> tuple[Ratings, Ratings, NDArray[np.intp]]:
    """Ratings without and with ten copies of each of the three tasks with the most mass, and
    these."""
    random = np.random.default_rng(0)
    preferences = judged_preferences(TASKS, MODELS, random, SKILLS)
    rated = rate(king_of_the_hill(preferences))
    first = np.argsort(-rated.masses[TASK], kind="stable")[:3]
    copies = np.repeat(first, COPIES // 3)
    return rated, rate(king_of_the_hill(with_copies(preferences, copies, random))), first


def _family_parts(rated: Ratings) -> tuple[NDArray[np.intp], Array]:
    """Main skills, and what rivals of each add to the mean rating of the models of each, (rows:
    models, columns: rivals)."""
    main = skilled(TASKS, MODELS, np.random.default_rng(0), SKILLS)[1].argmax(axis=1)
    skills, family = np.unique(main, return_inverse=True)
    member = np.eye(len(skills))[:, family]
    parts = member / member.sum(axis=1, keepdims=True)
    return skills, parts @ rated.contributions(KING, REBEL) @ member.T


@cache
def _payoffs(draw: int) -> Array:
    """Sums over players (2, equilibria) under uniform and iterated priors, the selected equilibrium
    first."""
    table = judged_preferences(*SMALL, np.random.default_rng(draw))
    game = king_of_the_hill(table)
    found = equilibria(game, STARTS, draw)
    sums = [coordination_payoffs(game, found, rounds).sum(axis=1) for rounds in (0, ROUNDS)]
    return np.stack(sums)


def structure_figure() -> Element:
    """Three panels: tasks by rating and mass, contributions by family, payoffs by equilibrium."""
    rated, more, _ = _rated()
    shapes = [*_tasks_panel(rated, more), *_families_panel(rated), *_payoffs_panel()]
    title = "Tasks by rating and mass, contributions by family of models, payoffs by equilibrium"
    return canvas((1080, 330), title, *shapes, class_="structure")


def _tasks_panel(*ratings: Ratings) -> Iterator[Element]:
    yield text(60, 18, "Tasks with and without copies (Fig. 4)", "heading")
    most = max(float(each.masses[TASK].max()) for each in ratings)
    least = min(float(each.ratings[TASK].min()) for each in ratings)
    plot = Plot.box((60, 50), (260, 200), (least, 0.0), (0.0, most))
    yield from plot.grid("rating of the task", "mass", 4, 5)
    for each, colour, size in zip(ratings, ("s0", "s1"), (4, 2), strict=True):
        for rating, mass in zip(each.ratings[TASK], each.masses[TASK], strict=True):
            yield circle(*plot.place(float(rating), float(mass)), size, f"solid {colour}")
    yield from key(60, 310, f"{TASKS} tasks", "series s0")
    yield from key(180, 310, f"and {COPIES} copies", "series s1")


def _families_panel(rated: Ratings) -> Iterator[Element]:
    yield text(400, 18, "What families of rivals add (Fig. 5)", "heading")
    skills, parts = _family_parts(rated)
    largest = float(np.abs(parts).max()) or 1.0
    for row, skill in enumerate(skills.tolist()):
        yield text(480, 84 + 40 * row, f"skill {skill + 1}", "tick", "end")
        yield text(508 + 44 * row, 48, f"skill {skill + 1}", "tick", "middle")
        for column, part in enumerate(parts[row].tolist()):
            x, y = 488 + 44 * column, 58 + 40 * row
            colour, opacity = "s1" if part < 0 else "s2", round(0.05 + 0.7 * abs(part) / largest, 3)
            cell = {"width": 40, "height": 36, "class_": f"solid {colour}", "opacity": opacity}
            yield el("rect", x=x, y=y, **cell)
            yield text(x + 20, y + 23, f"{part:+.2f}".replace("-", "−"), "tick", "middle")
    below = 84 + 40 * len(skills)
    yield text(400, below, "rows: models by main skill, their mean", "axis")
    yield text(400, below + 16, "columns: rivals by main skill", "axis")


def _payoffs_panel() -> Iterator[Element]:
    yield text(740, 18, "Payoffs where players miscoordinate (Fig. 10)", "heading")
    payoffs = [_payoffs(draw) for draw in range(DRAWS)]
    values = np.concatenate([each.ravel() for each in payoffs])
    box = (0.5, DRAWS + 0.5), (float(values.min()), float(values.max()))
    plot = Plot.box((740, 50), (320, 200), *box, "x")
    yield from plot.grid("simulated table", "sum of payoffs", DRAWS, 5)
    for draw, sums in enumerate(payoffs, start=1):
        for row, shift, colour in zip(sums.tolist(), (-0.12, 0.12), ("s0", "s2"), strict=True):
            selected, *others = (plot.place(draw + shift, value) for value in row)
            yield from (circle(*place, 3, f"solid {colour}") for place in others)
            yield circle(*selected, 5, "solid s1")
    names = ((740, "uniform priors", "s0"), (880, "iterated", "s2"), (990, "selected", "s1"))
    for x, words, colour in names:
        yield from key(x, 310, words, f"series {colour}")


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
    """Fig. 1, centre: skill entropy by iteration, mean and standard deviation over trials."""
    shapes: list[Element] = []
    least = min(min(row["model_entropy"], row["prompt_entropy"]) for row in paths)
    steps, most = max(row["iteration"] for row in paths), log(paths[0]["skills"])
    for index, of in enumerate(("model", "prompt")):
        corner = LEFT + index * (WIDE + GAP), TOP
        plot = Plot.box(corner, (WIDE, HIGH), (0, max(steps, 1)), (least, most), "x")
        shapes += [text(corner[0], 18, f"Skill entropy of {of}s", "heading")]
        shapes += plot.grid("iteration", "nats", 5, 5)
        for row, system in enumerate(SYSTEMS):
            for column, prompts in enumerate(PROMPT_SETTINGS):
                colour, name = STYLES[system]
                style = f"dashed {colour}" if prompts == "initial" else colour
                at = LEFT + column * 260, TOP + HIGH + 58 + 20 * row
                shapes += key(*at, f"{name}, {prompts} prompts", f"series {style}")
                curves = entropies(paths, of, system, prompts)
                shapes += _curve(plot, curves, colour, style) if len(curves) else ()
    title = "Skill entropy by iteration under Elo and under equilibrium ratings"
    return canvas((LEFT + 2 * WIDE + GAP + 20, TOP + HIGH + 96), title, *shapes, class_="paths")


def _curve(plot: Plot, curves: Array, colour: str, style: str) -> Iterator[Element]:
    """The mean; of trials with additional prompts the standard deviation too."""
    xs, mean = list(range(curves.shape[1])), curves.mean(axis=0)
    if len(curves) > 1 and style == colour:
        spread = curves.std(axis=0, ddof=1)
        rim = plot.places(xs, mean + spread) + plot.places(xs, mean - spread)[::-1]
        yield el("polygon", points=points(rim), class_=f"solid {colour}", opacity=0.15)
    yield polyline(plot.places(xs, mean.tolist()), f"series {style}")


def sequence_figure(paths: Sequence[Row]) -> Element:
    """Fig. 1, right, and 2: each vector that entered in one trial is a column, each skill a row;
    the darker, the more of the vector's sum."""
    shapes: list[Element] = []
    width, y, skills = 420.0, TOP, paths[0]["skills"]
    for system in SYSTEMS:
        mine = [
            row
            for row in sorted(paths, key=lambda row: int(row["iteration"]))
            if (row["trial"], row["system"], row["prompt_setting"]) == (0, system, "additional")
        ]
        for of in ("models", "prompts"):
            vectors = [value for row in mine for value in row[of] or ()]
            colour, name = STYLES[system]
            shapes += [text(LEFT, y - 10, f"{of} under {name}", "heading")]
            shapes += _cells(np.reshape(vectors, (-1, skills)), y, colour)
            width, y = max(width, LEFT + CELL * len(vectors) / skills), y + CELL * skills + 46
    about = "the initial vectors, then those that entered, in their order"
    shapes += [text(LEFT, y - 18, about, "axis")]
    title = "Models and prompts in the order in which they entered, skill by skill"
    return canvas((width + 20, y), title, *shapes, class_="sequence")


def _cells(vectors: Array, y: float, colour: str) -> Iterator[Element]:
    for skill in range(vectors.shape[1]):
        yield text(LEFT - 8, y + CELL * (skill + 0.8), f"skill {skill + 1}", "tick", "end")
    for column, vector in enumerate(vectors):
        for skill, share in enumerate((vector / (vector.sum() or 1.0)).tolist()):
            x, top = LEFT + CELL * column, y + CELL * skill
            opacity = round(min(1.0, 0.04 + 1.3 * share), 3)
            cell = {"width": CELL - 1, "height": CELL - 1, "opacity": opacity}
            yield el("rect", x=x, y=top, class_=f"solid {colour}", **cell)


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
