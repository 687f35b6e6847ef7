"""A run on language models on one screen, from its archive."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from evo.record.ledger import Ledger
from xgl.judge.engine import Statistics


def show(console: Console, ledger: Ledger, scoring: Statistics) -> None:
    """Scope by generation, verdicts by reason, costs by stage.

    ``scoring``: the judge's work in this session, which no table of the archive holds.
    """
    if ledger.newest_scope:
        console.print(_scope_table(ledger))
    if ledger.decisions:
        console.print(_verdict_table(ledger))
    console.print(_cost_table(ledger))
    if scoring.requested:
        console.print(_judge_line(scoring), highlight=False, soft_wrap=True)


def _scope_table(ledger: Ledger) -> Table:
    """One row a game. ``helps``: value to its parent; ``map``: share of its gain about the map."""
    table = Table(title="Scope by generation", title_justify="left", show_lines=True)
    for column in ("gen", "game", "γ", "helps", "gain", "map"):
        table.add_column(column, no_wrap=True)
    table.add_column("program", overflow="fold", ratio=1)
    accepted = {
        row["game_id"]: row for row in ledger.decisions.values() if row["verdict"] == "accepted"
    }
    codes, own = ledger.game_codes(), ledger.own_gains()
    for row in ledger.newest_scope:
        decision = accepted.get(row["game_id"], {})
        gain, share = own.get(row["game_id"], (None, None))
        table.add_row(
            str(row["accepted_in"]),
            row["game_id"][:8],
            _number(row["gamma"]),
            _number(decision.get("captured")),
            _number(gain),
            _share(share),
            Text(codes[row["game_id"]]),
        )
    return table


def _verdict_table(ledger: Ledger) -> Table:
    table = Table(title="Verdicts", title_justify="left")
    table.add_column("verdict")
    table.add_column("reason")
    table.add_column("decided")
    table.add_column("games", justify="right")
    counts = Counter(
        (row["verdict"], row["reason"], "yes" if row["decided"] else "no")
        for row in ledger.decisions.values()
    )
    for (verdict, reason, decided), count in sorted(counts.items()):
        table.add_row(verdict, reason, decided, str(count))
    return table


def _cost_table(ledger: Ledger) -> Table:
    table = Table(title="Cost by stage", title_justify="left")
    table.add_column("stage")
    table.add_column("tokens", justify="right")
    table.add_column("seconds of work", justify="right")
    for stage, cost in sorted(ledger.costs().items()):
        table.add_row(stage, f"{cost.tokens:,}", f"{cost.seconds:.1f}")
    return table


def _judge_line(scoring: Statistics) -> str:
    """How many of the requested tokens the judge had to read."""
    return (
        f"judge    {scoring.requested_tokens:,} tokens requested, {scoring.read_tokens:,} read; of "
        f"{scoring.requested - scoring.duplicates:,} different strings "
        f"{scoring.hit_rate:.0%} cached"
    )


def _number(value: Any) -> str:
    return "" if value is None else f"{value:.2f}"


def _share(value: Any) -> str:
    return "" if value is None else f"{value:.0%}"
