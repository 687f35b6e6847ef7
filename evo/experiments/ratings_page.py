"""The paper's claims and our results: tables on a terminal, figures as files, a page of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
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
from archive.ratings.examples import (
    ROUNDS,
    Example,
    clean_sweeps,
    coordination_payoffs,
    equilibria,
    examples,
    largest_error,
    pure_equilibria,
)
from archive.ratings.normal_form import Array
from archive.ratings.preferences import KING, REBEL, TASK, king_of_the_hill, mean_preferences, wins
from archive.ratings.rating import Ratings, rate
from archive.ratings.simulations import (
    RatingSystem,
    judged_preferences,
    leader_scores,
    skilled,
    with_copies,
)
from archive.text import plural
from archive.views.tables import add, table
from evo.config.ratings_paper import RatingsPaperRunConfig
from xgl.diagram.svg import Element, el, points, render

# -- one game --------------------------------------------------------------------------------------
# On small simulated tables, since all of this is computed anew for every page.

TASKS, MODELS, SKILLS, COPIES = 60, 8, 4, 30
"""The table of figures 4 and 5; copies are of the three tasks with the most mass, ten of each."""
SETTINGS = f"synthetic preferences: {TASKS} tasks and {COPIES} copies, {MODELS} models"
SMALL, DRAWS, STARTS = (12, 6), 4, 24
"""Tables of figure 10, their number, and random targets from which equilibria are sought."""


class Claim(NamedTuple):
    """The paper's claim in one place (``where``), our ``result``, and our values of the settings
    that the paper leaves open (empty if none)."""

    where: str
    paper: str
    result: str
    settings: str


@cache
def structure() -> list[Claim]:
    """Claims about Fig. 4, 5, 10 and Table 1, from fixed seeds. Raises :class:`RatingError` if no
    equilibrium is reached."""
    rated, more, first = _rated()
    return [_copies(rated, more, first), _families(rated), _sweeps(), _selected()]


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


def _copies(rated: Ratings, more: Ratings, first: NDArray[np.intp]) -> Claim:
    """``more``: with copies of the tasks ``first``."""
    ratings, masses = rated.ratings[TASK], rated.masses[TASK]
    moved = float(np.abs(more.ratings[TASK][:TASKS] - ratings).max())
    played = masses > 1e-6
    return Claim(
        "Fig. 4",
        "prompts with a high NE rating have the mass; copies have the same rating and less mass",
        f"{played.sum()} of {TASKS} have mass, rated within {abs(ratings[played].min()):.0e} of "
        f"0; ten copies of each of the first three move ratings by {moved:.0e} at most; the three "
        f"themselves have mass {masses[first].sum():.3f}, then "
        f"{more.masses[TASK][first].sum():.3f}",
        SETTINGS,
    )


def _family_parts(rated: Ratings) -> tuple[NDArray[np.intp], Array]:
    """Main skills, and what rivals of each add to the mean rating of the models of each, (rows:
    models, columns: rivals)."""
    main = skilled(TASKS, MODELS, np.random.default_rng(0), SKILLS)[1].argmax(axis=1)
    skills, family = np.unique(main, return_inverse=True)
    member = np.eye(len(skills))[:, family]
    parts = member / member.sum(axis=1, keepdims=True)
    return skills, parts @ rated.contributions(KING, REBEL) @ member.T


def _families(rated: Ratings) -> Claim:
    skills, parts = _family_parts(rated)
    size = len(skills)
    own, others = np.trace(parts), parts.sum() - np.trace(parts)
    return Claim(
        "Fig. 5",
        "contributions group by family of models",
        f"by main skill ({size} families): rivals of the own family add {own / size:+.3f} to a "
        f"rating, those of another {others / max(size * (size - 1), 1):+.3f} on average",
        SETTINGS,
    )


def _sweeps() -> Claim:
    scores = leader_scores()[1]
    swept = mean_preferences([wins(column[:, None]) for column in scores.T])
    pure, sweeps = len(pure_equilibria(king_of_the_hill(swept))), len(clean_sweeps(swept))
    rivals = len(scores) - 1
    return Claim(
        "Table 1",
        "each task that a model sweeps gives one pure NE for each rival: 5 × 16 = 80",
        f"{sweeps} × {rivals} = {sweeps * rivals} of {pure} pure NE",
        "the example table of 6 models and 12 tasks, wins",
    )


def _selected() -> Claim:
    places = [
        ", ".join(f"{int((sums > sums[0] + 1e-9).sum()) + 1} of {len(sums)}" for sums in rows)
        for rows in zip(*map(_payoffs, range(DRAWS)), strict=True)
    ]
    return Claim(
        "Fig. 10",
        "the selected NE has the highest sum of payoffs (1 of 128) under uniform priors, and under "
        "iterated ones: it is risk-dominant",
        f"its place in {DRAWS} tables: uniform {places[0]}; iterated {places[1]}",
        f"{SMALL[0]} tasks, {SMALL[1]} models; NE from {STARTS} random targets; by the "
        "paper's own search, at its size: benchmarks/risk_dominance.py",
    )


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


# -- results ---------------------------------------------------------------------------------------

Row = dict[str, Any]
SYSTEMS = ("elo", "equilibrium")
PROMPT_SETTINGS = ("initial", "additional")
NAMES = {
    RatingSystem.ELO: "Elo",
    RatingSystem.NE: "NE",
    RatingSystem.CCE: "CCE",
    RatingSystem.NE_SHANNON: "NE, Shannon",
    RatingSystem.CCE_SHANNON: "CCE, Shannon",
}


@dataclass(frozen=True)
class Results:
    """Rows of ``improvement_paths`` and ``redundancy_ratings`` so far."""

    config: RatingsPaperRunConfig
    paths: Sequence[Row]
    redundancy: Sequence[Row]

    def entropies(self, of: str, system: str, prompt_setting: str) -> Array:
        """(trials, iterations + 1) nats of ``of``, prompt or model."""
        by_trial: dict[int, list[Row]] = {}
        for row in self.paths:
            if (row["system"], row["prompt_setting"]) == (system, prompt_setting):
                by_trial.setdefault(row["trial"], []).append(row)
        curves = [sorted(rows, key=lambda row: row["iteration"]) for rows in by_trial.values()]
        values = [[row[f"{of}_entropy"] for row in curve] for curve in curves]
        return np.array(values, np.float64).reshape(len(values), -1 if values else 0)

    def sequence(self, of: str, system: str) -> Array:
        """(entered, skills): what entered in trial 0 with additional prompts."""
        rows = [
            row
            for row in self.paths
            if (row["trial"], row["system"], row["prompt_setting"]) == (0, system, "additional")
        ]
        rows.sort(key=lambda row: row["iteration"])
        flat = [value for row in rows for value in row[of] or ()]
        return np.array(flat, np.float64).reshape(-1, rows[0]["skills"] if rows else 1)

    def tables_of(self, near: bool) -> list[tuple[float, int]]:
        """(jitter, copies) of exact or near copies, with the table without copies."""
        settings = {(row["jitter"], row["copies"]) for row in self.redundancy}
        return sorted((j, n) for j, n in settings if n == 0 or (j > 0) == near)

    def ranks(self, jitter: float, copies: int, system: str) -> list[int | None]:
        """Rank of the model that the copies are against, trial by trial; None if no equilibrium
        was reached."""
        return [
            row["rank"]
            for row in sorted(self.redundancy, key=lambda row: row["trial"])
            if (row["jitter"], row["copies"], row["system"]) == (jitter, copies, system)
            and row["model"] == row["against"]
        ]

    def first_models(self, system: str) -> list[int]:
        """Number of models that share rank 1 without copies, trial by trial."""
        rows = [r for r in self.redundancy if r["copies"] == 0 and r["system"] == system]
        trials = sorted({row["trial"] for row in rows})
        return [sum(r["rank"] == 1 for r in rows if r["trial"] == trial) for trial in trials]


# -- what the paper says, and what we find ---------------------------------------------------------


def claims(results: Results) -> list[Claim]:
    """Claims of all experiments that have rows."""
    return [
        *_path_claims(results),
        *_redundancy_claims(results),
        *structure(),
        *_example_claims(examples()),
    ]


def ends(curves: Array) -> str:
    """Mean at the start and at the end, with the spread over trials."""
    if not len(curves):
        return "–"
    spread = f" ± {curves[:, -1].std(ddof=1):.3f}" if len(curves) > 1 else ""
    text = f"{curves[:, 0].mean():.3f} → {curves[:, -1].mean():.3f}{spread}"
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def _path_claims(results: Results) -> Iterator[Claim]:
    if not results.paths:
        return
    path = results.config.ratings_paper.path
    settings = (
        f"K = {path.skills}, P0 = {path.prompts}, M0 = {path.models}, M′ = {path.improvements}, "
        f"{path.iterations} iterations; Elo by mean utility; mean over trials ± standard "
        f"deviation, nats, ln K = {log(path.skills):.3f}"
    )
    statements = (
        ("elo", "initial", "model", "Elo: model entropy falls with the initial prompts"),
        ("elo", "additional", "model", "more with additional prompts"),
        ("elo", "additional", "prompt", "Elo: prompt entropy falls too"),
        ("equilibrium", "initial", "model", "equilibrium: model entropy is preserved"),
        ("equilibrium", "additional", "model", "with additional prompts too"),
        ("equilibrium", "additional", "prompt", "equilibrium: prompt entropy is preserved"),
    )
    for system, prompt_setting, of, words in statements:
        curves = results.entropies(of, system, prompt_setting)
        result = f"{ends(curves)} ({plural(len(curves), 'trial')})"
        yield Claim("Fig. 1", words, result, settings)


def _redundancy_claims(results: Results) -> Iterator[Claim]:
    if not results.redundancy:
        return
    redundancy = results.config.ratings_paper.redundancy
    settings = (
        f"synthetic preferences: {redundancy.tasks} tasks, {redundancy.models} models of 4 skills, "
        f"{redundancy.judgements} noisy judgements; {plural(redundancy.trials, 'draw')}; "
        "rank of Elo's leader by number of copies"
    )
    for near, where, words in (
        (False, "Fig. 3", _EXACT),
        (True, "Fig. 11", _NEAR),
    ):
        tables = results.tables_of(near)
        for system, statement in words.items():
            result = "; ".join(
                f"{n}: {_ranks_text(results.ranks(j, n, system))}" for j, n in tables
            )
            yield Claim(where, statement, result, settings)
    shared = _ranks_text(results.first_models(RatingSystem.CCE))
    yield Claim("Fig. 3", "under CCE the top three models tie", f"{shared} at rank 1", settings)


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


def _example_claims(examples: Sequence[Example]) -> Iterator[Claim]:
    for where, game, words in (
        ("App. D", "rock", "rock-paper-scissors, also with rock twice: all ratings 0"),
        ("App. E", "chicken, Sh", "max-entropy equilibria of chicken change with a copy"),
        ("App. E", "chicken, ", "chicken, also with straight twice: swerve 11/12, ratings 0"),
    ):
        mine = [each for each in examples if each[0].startswith(game)]
        if game == "chicken, ":
            mine = [each for each in mine if "Shannon" not in each[0]]
        yield Claim(where, words, f"so, within {largest_error(mine):.0e}", "")


PAGE = "ratings_paper.html"
CLAIM_COLUMNS = ("where", "the paper says", "we find")
INTRODUCTION = """
Models and prompts are simulated as vectors of skills. In each iteration a new model enters that
is rated best, by Elo or by an equilibrium of the game between prompts and models. What a rating
rewards shows in what enters: the higher the entropy of the mean vector, the more even the skills.
Then tasks are copied that the best model under Elo does badly on: a rating that counts tasks moves
with every copy.
"""


# -- terminal and page -----------------------------------------------------------------------------


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
    return figures | {"structure.svg": structure_figure()}


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
        "structure.svg": "Tasks, families and equilibria (Fig. 4, 5 and 10)",
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


# -- figures ---------------------------------------------------------------------------------------

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
