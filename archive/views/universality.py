"""Do measures rank models alike? One table for people, and what it means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from archive.statistics.studies.universality import (
    MeasuredScope,
    Universality,
    UniversalityAnswer,
    UniversalityQuestion,
)
from archive.statistics.values.intervals import Interval
from archive.views.tables import add, plain_text, plural, table

MEANING = {
    "grown": "two grown measures",
    "random": "two random scopes",
    "content": "a grown measure and the share of content words",
    "split": "half of the maps of one, the other half of another",
    "noise_ceiling": "two halves of the maps of one (the noise ceiling)",
    "of_noise_ceiling": "share of the noise ceiling",
    "beyond_random": "grown minus random",
    "beyond_content": "grown minus content words",
}
JSON_KEYS = {"noise_ceiling": "ceiling", "of_noise_ceiling": "of_ceiling"}
"""Keys of ``--json`` that are older than the names of the fields."""
VERDICTS = {
    UniversalityAnswer.SUPPORTED: "surely agree, and surely reach {margin:.0%} of what noise "
    "allows",
    UniversalityAnswer.FALSIFIED: "surely stay below {margin:.0%} of what noise allows",
    UniversalityAnswer.OPEN: "neither surely reach {margin:.0%} of what noise allows nor surely "
    "stay below",
}


def as_json(result: Universality) -> dict[str, Any]:
    """Everything; what is not a number is null."""
    facts = asdict(result)
    return {JSON_KEYS.get(name, name): _plain(value) for name, value in facts.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def show(result: Universality, question: UniversalityQuestion, console: Console) -> None:
    """Kendall's τ of each comparison, and the verdict."""
    title = (
        f"Kendall's τ over {plural(len(result.models), 'model')} of "
        f"{plural(result.families, 'family')}, {plural(len(result.measures), 'growth')}; "
        f"{question.confidence:.0%} over models and growths"
    )
    rows = table(title, "between", "τ", "bounds")
    for name, meaning in MEANING.items():
        tau: Interval = getattr(result, name)
        if tau.value is not None:
            add(rows, meaning, f"{tau.value:.2f}", f"{tau.low:.2f} to {tau.high:.2f}")
    console.print(rows)
    meaning = VERDICTS[result.answer].format(margin=question.margin)
    console.print(
        plain_text(f"Two growths rank models alike: {result.answer}. They {meaning}."),
        soft_wrap=True,
    )
    lines = (
        _comparison_text(result.beyond_random, "random playable games"),
        _comparison_text(result.beyond_content, "a count of content words"),
    )
    for line in filter(None, (*lines, _common_games(result))):
        console.print(plain_text(line), soft_wrap=True)


def _common_games(result: Universality) -> str | None:
    if not result.shared:
        return None
    pairs, count = math.comb(len(result.measures), 2), len(result.shared)
    one, other, games = max(result.shared, key=lambda pair: pair[2])
    return (
        f"{count} of {plural(pairs, 'pair')} of growths share games ({one} and {other} "
        f"{plural(games, 'game')}): agreement on these is no evidence about growth."
    )


def show_values(scopes: Sequence[MeasuredScope], console: Console) -> None:
    """Each model's mean normalised score on each measure, those best on average first."""
    common = set.intersection(*(set(scope.models) for scope in scopes))
    values = {
        model: [float(scope.values[scope.models.index(model)]) for scope in scopes]
        for model in common
    }
    heads = [f"{scope.name} ({plural(scope.games, 'game')})" for scope in scopes]
    rows = table("Mean normalised score (narms) over games", "model", *heads)
    for model in sorted(values, key=lambda model: (-sum(values[model]), model)):
        add(rows, model, *(f"{value:.2f}" for value in values[model]))
    console.print(rows)


def _comparison_text(difference: Interval, other: str) -> str | None:
    if difference.value is None:
        return None
    if difference.low > 0:
        return f"Their agreement is surely above that of {other}."
    if difference.high < 0:
        return f"Their agreement is surely below that of {other}."
    return f"No difference from {other} is shown: the agreement need not come from growth."
