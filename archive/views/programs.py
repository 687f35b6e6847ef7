"""Games that are programs, on a terminal: their way through the filters, and who wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rich.table import Table

from archive.statistics.measures.program_games import (
    Rows,
    confirmed_pair,
    newest_scores,
    null_counts,
    stage_of,
)
from archive.views.tables import add, table


def tables(rows: Mapping[str, Rows]) -> list[Table]:
    """Games, opponents, plays, scores; none where the run has no such game."""
    if not rows["gg_games"]:
        return []
    parts = [_games(rows), _null(rows["gg_pairs"]), _plays(rows), _scores(rows["gg_scores"])]
    return [part for part in parts if part.row_count]


def _games(rows: Mapping[str, Rows]) -> Table:
    """One row a game: where it stands, and how its opponent was found."""
    view = table("Games that are programs", "game", "category", "stands at", "opponent", "fresh")
    for game in sorted(rows["gg_games"], key=lambda row: row["place"]):
        verdicts = [r for r in rows["gg_filters"] if r["program_id"] == game["program_id"]]
        pair = confirmed_pair(rows["gg_pairs"], game["program_id"])
        opponent = f"{pair['loser']}@{pair['rung']} (beaten by {pair['winner']})" if pair else ""
        fresh = f"{pair['wins']}/{pair['games']}" if pair else ""
        add(view, game["title"], game["category"] or "", stage_of(game, verdicts), opponent, fresh)
    return view


def _null(pairs: Rows) -> Table:
    """Equal agents under the same two rules, which shows how reliable the rules are."""
    view = table("Two copies of one agent (null control)", "rule", "passed", "trials")
    for row in null_counts(pairs):
        add(view, *row)
    return view


def _plays(rows: Mapping[str, Rows]) -> Table:
    """Wins over plays, a column for each player."""
    players = list(dict.fromkeys(row["player"] for row in rows["gg_plays"]))
    view = table("Wins / plays against the opponent", "game", *players)
    for game in rows["gg_games"]:
        mine = [row for row in rows["gg_plays"] if row["program_id"] == game["program_id"]]
        if mine:
            add(view, game["title"], *(_win_text(mine, player) for player in players))
    outcomes = {
        p: Counter(r["outcome"] for r in rows["gg_plays"] if r["player"] == p) for p in players
    }
    for outcome in ("loss", "draw", "fault", "long", "broken"):
        if any(count[outcome] for count in outcomes.values()):
            add(view, f"all games: {outcome}", *(outcomes[player][outcome] for player in players))
    return view


def _win_text(rows: Rows, player: str) -> str:
    mine = [row for row in rows if row["player"] == player]
    return f"{sum(row['outcome'] == 'win' for row in mine)}/{len(mine)}" if mine else ""


def _scores(scores: Rows) -> Table:
    """The mean over games: what the text of the paper says, and what its table prints."""
    columns = ("player", "games", "wins/plays", "95 %", "± over games", "wins/(plays − faults)")
    view = table("Win rates", *columns)
    for player, row in newest_scores(scores).items():
        paper = (
            ""
            if row["paper_rate"] is None
            else (f"{row['paper_rate']:.3f} ± {row['paper_half_width']:.3f}")
        )
        bounds = f"{row['low']:.3f} to {row['high']:.3f}"
        rate, half = f"{row['win_rate']:.3f}", f"{row['half_width']:.3f}"
        add(view, player, row["games"], rate, bounds, half, paper)
    return view
