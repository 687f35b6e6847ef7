"""Tables on a terminal, figures as files, and a page of both."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rich.table import Table

from archive.charts.document import document, style_sheet
from archive.views.tables import counted
from evo.config.ratings_paper import MAIN_SETTING
from evo.ratings_paper.figures import (
    WORDS,
    entropy_figure,
    redundancy_figure,
    sequence_figure,
)
from evo.ratings_paper.results import PROMPT_SETTINGS, SYSTEMS, Claim, Results, claims, ends
from xgl.diagram.svg import Element, render

PAGE = "ratings_paper.html"
LAYOUT = """
body { background: var(--paper); color: var(--ink); font: 15px/1.5 var(--sans); margin: 2rem auto;
  max-width: 60rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } th { text-align: left; color: var(--soft); }
td, th { border-bottom: 1px solid var(--rule); padding: .25rem .75rem .25rem 0;
  vertical-align: top; }
.scroll { overflow-x: auto; }
"""
CLAIM_COLUMNS = ("where", "the paper says", "we find")
VARIANT_COLUMNS = ("setting", "rated by", "prompts", "models' entropy", "prompts' entropy")
INTRODUCTION = """
Models and prompts are simulated as vectors of skills. In each iteration a new model enters that
is rated best, by Elo or by an equilibrium of the game between prompts and models. What a rating
rewards shows in what enters: the higher the entropy of the mean vector, the more even the skills.
Then tasks are copied that the best model under Elo does badly on: a rating that counts tasks moves
with every copy.
"""


def tables(results: Results) -> list[Table]:
    """For a terminal."""
    found = Table(title="The ratings paper's experiments", title_justify="left")
    for column in CLAIM_COLUMNS:
        found.add_column(column, overflow="fold")
    for claim in claims(results):
        found.add_row(claim.where, claim.paper, claim.found)
    variants = Table(title="Under other unstated settings, nats", title_justify="left")
    for column in VARIANT_COLUMNS:
        variants.add_column(column, overflow="fold")
    for cells in variant_cells(results):
        variants.add_row(*cells)
    return [found, variants]


def variant_cells(results: Results) -> list[tuple[str, ...]]:
    """Entropies at the start and at the end in every setting of paths that has rows."""
    rows: list[tuple[str, ...]] = []
    for setting, (path, _) in results.config.ratings_paper.paths().items():
        for system in SYSTEMS:
            for prompts in PROMPT_SETTINGS:
                of_models, of_prompts = (
                    results.entropies(of, setting, system, prompts) for of in ("model", "prompt")
                )
                if len(of_models):
                    name = f"{setting} (K = {path.skills}, {counted(len(of_models), 'trial')})"
                    words = (name, WORDS[system], prompts)
                    rows.append((*words, ends(of_models), ends(of_prompts)))
    return rows


def figures(results: Results) -> dict[str, Element]:
    """By the name of their file, those that have rows."""
    found: dict[str, Element] = {}
    if any(row["setting"] == MAIN_SETTING for row in results.paths):
        found["improvement.svg"] = entropy_figure(results)
        found["sequence.svg"] = sequence_figure(results)
    if results.redundancy:
        found["redundancy.svg"] = redundancy_figure(results)
    return found


def files(results: Results) -> dict[str, str]:
    """Names and contents: the figures, and the page with all of them."""
    drawn = figures(results)
    return {name: document(each) for name, each in drawn.items()} | {PAGE: html(results, drawn)}


def html(results: Results, drawn: dict[str, Element]) -> str:
    """The page."""
    headings = {
        "improvement.svg": "Diversity by iteration (Fig. 1, centre)",
        "sequence.svg": "What entered in one trial (Fig. 1, right)",
        "redundancy.svg": "Tasks against one model (Fig. 3 and 11)",
    }
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width, initial-scale=1">',
        "<title>Equilibrium ratings in simulation</title>",
        f"<style>{style_sheet()}{LAYOUT}</style>",
        f"<h1>Equilibrium ratings in simulation</h1><p>{INTRODUCTION}",
    ]
    for name, figure in drawn.items():
        parts += [f"<h2>{headings[name]}</h2>", f"<div class=scroll>{render(figure)}</div>"]
    parts += ["<h2>What the paper says, and what we find</h2>", *_claims(claims(results))]
    parts += ["<h2>Other unstated settings</h2>"]
    parts += [_table(VARIANT_COLUMNS, variant_cells(results)), "</html>"]
    return "\n".join(parts)


def _claims(found: Sequence[Claim]) -> list[str]:
    """A table, and the settings under it, each once."""
    settings = list(dict.fromkeys(claim.settings for claim in found if claim.settings))
    cells = [(each.where, each.paper, each.found, _note(each, settings)) for each in found]
    notes = [f"<li>{escape(each)}" for each in settings]
    return [
        _table((*CLAIM_COLUMNS, "settings"), cells),
        "<p>Settings that the paper leaves open:<ol>",
        *notes,
        "</ol>",
    ]


def _note(claim: Claim, settings: Sequence[str]) -> str:
    return f"[{settings.index(claim.settings) + 1}]" if claim.settings else ""


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(column)}" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}' for cell in row)}" for row in rows)
    return f"<div class=scroll><table><tr>{head}{body}</table></div>"
