"""How the scope grew: its size after each step, and which game was accepted from which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archive.charts.plot import LinearScale, canvas, circle, line, mark, rect, text
from archive.report.contents import GameFacts
from archive.text import plural
from xgl.diagram.svg import Element, el

MANY = 150
"""Beyond this many games only the starting ones carry their names."""
LEFT, TOP = 20.0, 44.0


def growth(sizes: Sequence[tuple[int, int]]) -> Element:
    """A bar for each scope, of its games and how many of them are new: those known before, and new
    ones on top of them."""
    few = len(sizes) <= 12
    step, width = (64.0, 46.0) if few else (26.0, 20.0)
    left, top, base = 8.0, 26.0, 156.0
    largest = max((size for size, _ in sizes), default=1)
    height = LinearScale(0, max(largest, 1), 0, base - top)
    shapes: list[Element] = []
    for index, (size, new_games) in enumerate(sizes):
        x = left + index * step
        old, new = height(size - new_games), height(new_games)
        shapes.append(
            mark(
                f"Scope {index}: {plural(size, 'game')}, {new_games} new",
                rect(x, base - old, width, old, "old"),
                rect(x, base - old - new, width, new, "new"),
                text(x + width / 2, base - old - new - 7, f"{size:,}", "value", "middle"),
                text(x + width / 2, base + 17, str(index), "tick", "middle"),
            )
        )
    right = left + len(sizes) * step
    shapes.append(line(0, base, right, base, "rule"))
    shapes.append(text(left, base + 35, "scope", "axis"))
    title = "Size of each scope: " + "; ".join(
        f"scope {index}, {plural(size, 'game')}" for index, (size, _) in enumerate(sizes)
    )
    return canvas((max(right, 150), base + 40), title, *shapes, class_="growth")


def lineage(games: Sequence[GameFacts]) -> Element:
    """A forest: columns are generations, a first child is on its parent's row."""
    few = len(games) <= MANY
    column, row = (200.0, 42.0) if few else (120.0, 13.0)
    rows = _rows(games)
    shapes = [*_generations(games, column, TOP + len(set(rows.values())) * row)]
    at = {g.place: (LEFT + g.generation * column, TOP + 18 + rows[g.place] * row) for g in games}
    for game in games:
        if game.parent is not None:
            shapes.append(_edge(at[game.parent], at[game.place], game))
    for game in games:
        shapes.append(_node(game, *at[game.place], few))
    last = max((game.generation for game in games), default=0)
    right = LEFT + last * column + (190 if few else 60)
    bottom = TOP + 18 + (max(rows.values(), default=0) + 1) * row
    title = f"Descent of {plural(len(games), 'game')}; each is a link to its card"
    return canvas((right, bottom), title, *shapes, class_="lineage", role="group")


def _rows(games: Sequence[GameFacts]) -> dict[int, int]:
    """Row of each game: depth first, a first child in its parent's row, the next ones below."""
    rows: dict[int, int] = {}
    free = 0
    for root in (game for game in games if game.parent is None):
        waiting = [(root.place, True)]
        while waiting:
            place, beside = waiting.pop()
            parent = games[place].parent
            if beside and parent is not None:
                rows[place] = rows[parent]
            else:
                rows[place] = free
                free += 1
            kids = games[place].children
            waiting += [(kid, kid == kids[0]) for kid in reversed(kids)]
    return rows


def _generations(games: Sequence[GameFacts], column: float, bottom: float) -> Iterator[Element]:
    last = max((game.generation for game in games), default=0)
    for number in range(last + 1):
        x = LEFT + number * column
        yield line(x, 28, x, bottom, "grid")
        yield text(x - 6, 18, "start" if number == 0 else f"generation {number}", "tick")


def _edge(start: tuple[float, float], end: tuple[float, float], game: GameFacts) -> Element:
    (x1, y1), (x2, y2) = start, end
    turn = min(12.0, abs(y2 - y1), x2 - x1)
    path = f"M{x1:.1f},{y1:.1f}"
    if y1 != y2:
        path += f"V{y2 - turn:.1f}Q{x1:.1f},{y2:.1f} {x1 + turn:.1f},{y2:.1f}"
    path += f"H{x2:.1f}"
    return el("path", d=path, class_="edge", data_child=game.place)


def _node(game: GameFacts, x: float, y: float, few: bool) -> Element:
    label = f"{game.name}, {'start' if game.parent is None else f'generation {game.generation}'}"
    if game.gamma is not None:
        label += f", γ {game.gamma:.2f}"
    kind = "start" if game.parent is None else "new"
    marks: list[Element | None] = [
        el("title", f"{label}: {game.pay}"),
        circle(x, y, 12, "hit") if few else None,
        circle(x, y, 6.5 if few else 4, f"node {kind}"),
    ]
    if few or game.parent is None:
        name = text(x + 11, y - 9, game.name, "name")
        if few and game.gamma is not None:
            aside = el("tspan", f" γ {game.gamma:.2f}", dx=5, class_="tick")
            name = el("text", *name.children, aside, **name.attributes)
        marks.append(name)
    return el(
        "a",
        *marks,
        href=f"#game-{game.place}",
        class_="mark",
        aria_label=label,
        data_game=game.place,
        data_parent=game.parent,
    )
