"""Events of a run, for callbacks. Each is in the archive already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class FinetuneEvent:
    """A fine-tune ended. One entry a step: ``curve`` mean scores (bits), ``entropy`` (bits a
    token), ``grad_norm``."""

    finetune_id: str
    game_id: str
    role: str
    curve: tuple[float, ...]
    entropy: tuple[float, ...]
    grad_norm: tuple[float, ...]
    tokens: int
    seconds: float


@dataclass(frozen=True)
class EvaluationEvent:
    """A policy played a game; ``mean_score`` in bits, over ``plays``."""

    policy_id: str
    game_id: str
    role: str
    purpose: str
    plays: int
    mean_score: float


@dataclass(frozen=True)
class DecisionEvent:
    """A verdict. ``captured``: C of the candidate on its parent; ``gamma``: largest value of a game
    of the scope on the candidate; each None if not known."""

    game_id: str
    role: str
    verdict: str
    reason: str
    captured: float | None
    gamma: float | None


@dataclass(frozen=True)
class ScopeEvent:
    """The scope of a number, from 0, is complete."""

    number: int
    game_ids: tuple[str, ...]


Event = FinetuneEvent | EvaluationEvent | DecisionEvent | ScopeEvent
Callback = Callable[[Event], None]
"""Is called with each event, in the process that drives the run; no result depends on it."""


def events_of(tables: Mapping[str, Sequence[Row]]) -> Iterator[Event]:
    """Events of a commit's rows, fine-tunes first."""
    for row in tables.get("finetunes", ()):
        values = {each.name: row[each.name] for each in fields(FinetuneEvent)}
        curves = {name: tuple(row[name] or ()) for name in ("curve", "entropy", "grad_norm")}
        yield FinetuneEvent(**values | curves)
    plays: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for row in tables.get("scores", ()):
        key = (row["policy_id"], row["game_id"], row["role"], str(row["purpose"]))
        plays[key].append(row["score"])
    for key, scores in plays.items():
        yield EvaluationEvent(*key, len(scores), sum(scores) / len(scores))
    for row in tables.get("decisions", ()):
        facts = row["game_id"], row["role"], str(row["verdict"]), str(row["reason"])
        yield DecisionEvent(*facts, row["captured"], row["gamma"])
    scopes: dict[int, list[str]] = defaultdict(list)
    for row in tables.get("scopes", ()):
        scopes[row["scope"]].append(row["game_id"])
    for number, games in scopes.items():
        yield ScopeEvent(number, tuple(games))
