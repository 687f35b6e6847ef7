"""A page about games that are programs: who wins, how opponents were found, rules beside code.

Texts of games are not trusted: they are escaped, and never become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from archive.charts.document import style_sheet
from archive.charts.plot import LinearScale, canvas, line, plain, rect, series, text
from archive.schema.enums import PairPurpose
from archive.statistics.measures.program_games import (
    confirmed_pair,
    newest_scores,
    null_counts,
    stage_of,
)
from archive.statistics.measures.win_rates import bootstrap, tallies_of
from xgl.diagram.svg import Element, render
from xgl.escaping import visible, visible_lines

Row = Mapping[str, Any]
Rows = Sequence[Row]
LEFT, WIDE, STEP = 170.0, 560.0, 30.0
LAYOUT = """
body { background: var(--paper); color: var(--ink); font: 15px/1.5 var(--sans); margin: 2rem auto;
  max-width: 64rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } th { text-align: left; color: var(--soft); }
td, th { border-bottom: 1px solid var(--rule); padding: .25rem .75rem .25rem 0;
  vertical-align: top; }
.beside { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.table { overflow-x: auto; }
pre { background: var(--raised); border: 1px solid var(--rule); font: 12px/1.4 var(--mono);
  max-height: 30rem; overflow: auto; padding: .75rem; white-space: pre-wrap; }
summary { cursor: pointer; } @media (max-width: 50rem) { .beside { grid-template-columns: 1fr; } }
"""


def html(rows: Mapping[str, Rows], run_id: str) -> str:
    """The page; ``rows`` of the tables ``gg_games`` … ``gg_scores`` of one run."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width, initial-scale=1">',
        f"<title>Games that are programs: {_safe_text(run_id)}</title>",
        f"<style>{style_sheet()}{LAYOUT}</style>",
        f"<h1>Games that are programs</h1><p>Run {_safe_text(run_id)}. A win rate is wins over all "
        "plays against a game's opponent, the mean over games; its interval draws games and plays "
        "again.</p>",
        *_players(rows),
        "<h2>Games and their opponents</h2>",
        _table(
            ("game", "category", "stands at", "opponent", "beaten by", "fresh games won"),
            (_game_cells(rows, game) for game in _sorted_games(rows)),
        ),
        *_null(rows["gg_pairs"]),
        "<h2>Each game</h2>",
        *(part for game in _sorted_games(rows) for part in _game(rows, game)),
        "</html>",
    ]
    return "\n".join(parts)


def _safe_text(words: object) -> str:
    return escape(visible_lines(str(words)))


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{_safe_text(column)}" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_safe_text(cell)}' for cell in row)}" for row in rows)
    return f"<div class=table><table><tr>{head}{body}</table></div>"


def _sorted_games(rows: Mapping[str, Rows]) -> list[Row]:
    return sorted(rows["gg_games"], key=lambda row: row["place"])


# -- players -------------------------------------------------------------------------------------


def _players(rows: Mapping[str, Rows]) -> Iterator[str]:
    names = list(dict.fromkeys(row["player"] for row in rows["gg_plays"]))
    if not names:
        return
    yield "<h2>Players</h2>"
    yield render(figure(rows, names))
    columns = ("player", "games", "wins / plays", "95 %", "wins / (plays − faults), as printed")
    yield _table(columns, map(_score_cells, newest_scores(rows["gg_scores"]).values()))
    outcomes = ("win", "loss", "draw", "fault", "long", "broken")
    yield _table(("outcomes", *outcomes), (_shares(rows, name, outcomes) for name in names))
    yield _table(("wins by game", *names), _game_rows(rows, names))


def figure(rows: Mapping[str, Rows], names: Sequence[str]) -> Element:
    """A bar for each player's win rate, with its interval."""
    scale = LinearScale(0.0, 1.0, LEFT, LEFT + WIDE)
    bottom = 20 + STEP * len(names)
    shapes: list[Element] = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        shapes += [line(scale(tick), 14, scale(tick), bottom, "grid")]
        shapes += [text(scale(tick), bottom + 17, plain(tick), "tick", "middle")]
    for index, name in enumerate(names):
        tallies = tallies_of(rows["gg_plays"], name)
        rate = sum(tally.rate for tally in tallies) / len(tallies)
        low, high = bootstrap(tallies)
        y = 20 + STEP * index
        shapes.append(text(LEFT - 10, y + 15, visible(name)[:24], "name", "end"))
        shapes.append(rect(LEFT, y + 2, scale(rate) - LEFT, STEP - 12, f"solid {series(0)}"))
        shapes.append(line(scale(low), y + 11, scale(high), y + 11, "rule"))
    title = "Win rate of each player against the opponents"
    return canvas((LEFT + WIDE + 30, bottom + 30), title, *shapes)


def _score_cells(row: Row) -> tuple[object, ...]:
    paper = "–"
    if row["paper_rate"] is not None:
        paper = f"{row['paper_rate']:.3f} ± {row['paper_half_width']:.3f}"
    bounds = f"{row['low']:.3f} to {row['high']:.3f}"
    return row["player"], row["games"], f"{row['win_rate']:.3f}", bounds, paper


def _shares(rows: Mapping[str, Rows], name: str, outcomes: Sequence[str]) -> tuple[object, ...]:
    mine = [row["outcome"] for row in rows["gg_plays"] if row["player"] == name]
    return name, *(f"{mine.count(o)} ({mine.count(o) / len(mine):.1%})" for o in outcomes)


def _game_rows(rows: Mapping[str, Rows], names: Sequence[str]) -> Iterator[tuple[object, ...]]:
    for game in _sorted_games(rows):
        mine = [r for r in rows["gg_plays"] if r["program_id"] == game["program_id"]]
        counts = [[r["outcome"] for r in mine if r["player"] == name] for name in names]
        if mine:
            yield game["title"], *(f"{c.count('win')}/{len(c)}" if c else "" for c in counts)


# -- games ---------------------------------------------------------------------------------------


def _game_cells(rows: Mapping[str, Rows], game: Row) -> tuple[object, ...]:
    pair = confirmed_pair(rows["gg_pairs"], game["program_id"])
    stage = stage_of(game, [r for r in rows["gg_filters"] if r["program_id"] == game["program_id"]])
    facts: tuple[object, ...] = ("", "", "")
    if pair:
        opponent = f"{pair['loser']}, {pair['rung']} simulations"
        facts = opponent, pair["winner"], f"{pair['wins']} of {pair['games']}"
    return game["title"], game["category"] or "", stage, *facts


def _null(pairs: Rows) -> Iterator[str]:
    if counts := null_counts(pairs):
        yield "<h2>Two copies of one agent</h2><p>What each rule lets through where nobody is "
        yield "stronger.</p>"
        yield _table(("rule", "passed", "trials"), counts)


def _game(rows: Mapping[str, Rows], game: Row) -> Iterator[str]:
    """Rules and code side by side, the filters, and one play of each player."""
    mine = {
        name: [row for row in rows[name] if row["program_id"] == game["program_id"]]
        for name in ("gg_filters", "gg_pairs", "gg_plays")
    }
    yield f"<details><summary>{_safe_text(game['title'])}</summary><div class=beside>"
    yield f"<pre>{_safe_text(game['rules'])}\n\n{_safe_text(game['moves'])}</pre>"
    yield f"<pre>{_safe_text(game['source'])}</pre></div>"
    filters = (
        (r["stage"], "yes" if r["passed"] else "no", r["reason"]) for r in mine["gg_filters"]
    )
    yield _table(("filter", "passed", "seen"), filters)
    columns = ("rung", "winner", "loser", "games for", "games", "wins", "draws", "passed")
    names = ("rung", "winner", "loser", "purpose", "games", "wins", "draws", "passed")
    pairs = [row for row in mine["gg_pairs"] if not PairPurpose(row["purpose"]).is_null]
    yield _table(columns, (tuple(row[name] for name in names) for row in pairs))
    firsts = {row["player"]: row for row in reversed(mine["gg_plays"])}
    first_plays = (
        (name, row["seat"] + 1, row["outcome"], *_moves(row)) for name, row in firsts.items()
    )
    yield _table(("one play of", "seat", "outcome", "moves of both, in order"), first_plays)
    yield "</details>"


def _moves(row: Row) -> tuple[str]:
    return (" ".join(map(str, row["moves"])),)
