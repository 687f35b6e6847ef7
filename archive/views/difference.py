"""Two runs side by side: settings, scopes and verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from archive.query import find_run, games, newest_scope, verdict_counts
from archive.store.archive import Archive
from archive.views.tables import SHORT, add, number, plain_text, table

NUMBERS = ("captured", "captured_def37", "gamma", "own_gain")


@dataclass(frozen=True)
class Difference:
    """``settings``: by key, both values. ``scope``: ids only in the first, in both, only in the
    second. ``verdicts``: counts by verdict and reason. ``decisions``: games that both decided on
    and that differ in verdict, reason or numbers."""

    runs: tuple[str, str]
    settings: Mapping[str, tuple[Any, Any]]
    scope: tuple[Sequence[str], Sequence[str], Sequence[str]]
    generations: tuple[int, int]
    verdicts: Sequence[tuple[str, str, int, int]]
    decisions: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
    same_decisions: int
    codes: Mapping[str, str]


def gather(
    first: Archive, second: Archive, first_id: str | None, second_id: str | None
) -> Difference:
    """Raises LookupFailedError if a run or its scope is not there."""
    pair = ((first, find_run(first, first_id).run_id), (second, find_run(second, second_id).run_id))
    newest = [newest_scope(*run) for run in pair]
    left, right = ([member.game_id for member in members] for _, members in newest)
    apart, same = _decisions(*(_decision_rows(*run) for run in pair))
    scope = (
        [game for game in left if game not in right],
        [game for game in left if game in right],
        [game for game in right if game not in left],
    )
    codes: dict[str, str] = {}
    for (archive, _), ids in zip(pair, (left, right), strict=True):
        codes |= {game_id: row["code"] for game_id, row in games(archive, ids).items()}
    return Difference(
        (pair[0][1], pair[1][1]),
        _settings(*(_config(*run) for run in pair)),
        scope,
        (newest[0][0], newest[1][0]),
        _verdicts(*pair),
        apart,
        same,
        codes,
    )


def _config(archive: Archive, run_id: str) -> dict[str, Any]:
    rows = archive.rows("runs", ["config_json"], [("run_id", "=", run_id)])
    try:
        return _flatten("", json.loads(rows[0]["config_json"]))
    except (ValueError, RecursionError):
        return {}


def _flatten(prefix: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        return {prefix: value}
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat |= _flatten(f"{prefix}.{key}" if prefix else str(key), item)
    return flat


def _settings(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    keys = [*left, *(key for key in right if key not in left)]
    pairs = {key: (left.get(key), right.get(key)) for key in keys}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _verdicts(*pair: tuple[Archive, str]) -> list[tuple[str, str, int, int]]:
    counts = [{(v.verdict, v.reason): v.count for v in verdict_counts(*run)} for run in pair]
    keys = sorted({*counts[0], *counts[1]})
    return [(*key, counts[0].get(key, 0), counts[1].get(key, 0)) for key in keys]


def _decision_rows(archive: Archive, run_id: str) -> dict[str, dict[str, Any]]:
    columns = ["game_id", "verdict", "reason", *NUMBERS]
    rows = archive.rows("decisions", columns, [("run_id", "=", run_id)])
    return {row["game_id"]: row for row in rows}


def _decisions(
    left: Mapping[str, dict[str, Any]], right: Mapping[str, dict[str, Any]]
) -> tuple[list[tuple[Mapping[str, Any], Mapping[str, Any]]], int]:
    both = [game_id for game_id in left if game_id in right]
    pairs = [(left[game], right[game]) for game in both]
    apart: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [
        pair for pair in pairs if pair[0] != pair[1]
    ]
    return apart, len(both) - len(apart)


def show(difference: Difference, console: Console) -> None:
    """Only what differs, and how much is the same."""
    first, second = difference.runs
    if first == second:
        first, second = f"{first} (1)", f"{second} (2)"
    if difference.settings:
        settings = table("Settings that differ", "key", first, second)
        for key, pair in difference.settings.items():
            add(settings, key, *(json.dumps(value, ensure_ascii=False) for value in pair))
        console.print(settings)
    _show_scope(difference, console)
    verdicts = table("Verdicts", "verdict", "reason", first, second)
    for row in difference.verdicts:
        add(verdicts, *row)
    console.print(verdicts)
    if difference.decisions:
        decisions = table("Decided differently", "game", "", first, second)
        for left, right in difference.decisions:
            for name in ("verdict", "reason", *NUMBERS):
                if left[name] != right[name]:
                    both = (_as_text(decision[name]) for decision in (left, right))
                    add(decisions, left["game_id"][:SHORT], name, *both)
        console.print(decisions)
    same = f"{difference.same_decisions} decisions on the same games are equal"
    console.print(
        plain_text(f"{same}; scopes {difference.generations[0]} and {difference.generations[1]}.")
    )


def _show_scope(difference: Difference, console: Console) -> None:
    names = ("only in the first", "in both", "only in the second")
    scope = table("Newest scopes", "game", "where", "program")
    for name, ids in zip(names, difference.scope, strict=True):
        for game_id in ids:
            add(scope, game_id[:SHORT], name, difference.codes[game_id].rstrip("\n"))
    console.print(scope)


def _as_text(value: Any) -> str:
    return number(value, 4) if isinstance(value, float) else str(value)
