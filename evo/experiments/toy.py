"""``python -m evo.run +experiment=toy_growth``: Fig. 6.1 over many seeds.

The figure shows the space, what a scope covers of it, and its games by generation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from archive import Archive, Reason, RunEvent, Verdict
from archive.charts import Plot, canvas, document, line, series, text
from archive.schema import TaskId
from archive.store.files import save_text
from archive.text import percent, plural
from archive.views.tables import add, table
from evo.config.schema import GrowthSettings, NamedRun
from evo.growth.algorithm import AcceptanceResult, Assessment, Candidate, Place, ScopeMember, grow
from evo.record.run_folder import RunIdentity, run_row
from evo.record.steps import Steps
from evo.runner import Plan, RunOutcome, RunSession, Services
from xgl.console import Console
from xgl.diagram.svg import Element, el
from xgl.language.canonical import content_id
from xgl.random_streams import stream
from xgl.settings import Count, settings

CLAIM = "Fig. 6.1"
"""What the archive calls the growths of a run."""
FIG61 = GrowthSettings(alpha1=0.9, alpha2=0.05, generations=100, list_size=100)
"""The parameters of Algorithm 1."""
Game = tuple[float, ...]
"""The skills of a game."""
START: tuple[Game, ...] = ((0.05, 0.05),)
"""Σ_0."""
RADIUS = 0.1
"""ρ: Λ draws within this distance of the parent."""
POINTS = 400
"""Along each axis of the grid on which coverage is counted."""


@settings
class ToyConfig:
    """The claim of Fig. 6.1, over many seeds."""

    seeds: Count = 20
    """Growths, with the run's seed and those after it."""


@settings
class ToyRunConfig(NamedRun):
    """Everything that a toy growth depends on."""

    experiment: Literal["toy_growth"]
    """Name of the experiment."""
    toy: ToyConfig = ToyConfig()

    def __post_init__(self) -> None:
        if self.seed + self.toy.seeds > 1 << 63:
            most = (1 << 63) - self.toy.seeds
            raise ValueError(f"seed: found {self.seed}, expected at most {most}")


# -- games, values and Λ (§6.1.2, §6.3.4) ----------------------------------------------------------
# A game is a vector g of d non-negative skills, in the figure's space Σ √g_i ≤ 1, and
# V_G(G~) = Σ_i min(g~_i, g_i) / ‖g~‖₁ is the share of G~'s skills that playing G captures.

Skills = NDArray[np.float64]
"""Games, shape (n, d)."""
DRAWS, WIDEST = 10_000, 64
"""Most draws from a neighbourhood for each requested candidate, in all and at a time."""


def in_space(games: Skills) -> NDArray[np.bool_]:
    """Mask (n,) of the points (n, d) that are games of Fig. 6.1: g_i ≥ 0, not all 0, Σ √g_i ≤ 1."""
    roots = np.sqrt(games.clip(0)).sum(axis=1)
    return (games >= 0).all(axis=1) & (roots <= 1) & (roots > 0)


def transfer(sources: Skills, targets: Skills) -> Skills:
    """V of each source on each target (§6.1.2): (m, d) and (n, d) to (n, m), in [0, 1]. Skills are
    added one after another, as a sum over i is written, so that the values do not depend on how
    many games are asked about at once, and V_G(G) is 1 and not nearly 1."""
    sums = np.zeros((len(targets), len(sources)))
    for theirs, ours in zip(targets.T, sources.T, strict=True):
        sums += np.minimum(theirs[:, None], ours)
    return sums / np.add.accumulate(targets, axis=1)[:, -1:]


def coverage(scope: Skills, targets: Skills) -> Skills:
    """γ of each target: the most that one game of the scope captures of it, shape (n,)."""
    return transfer(scope, targets).max(axis=1)


class ToyOracle:
    """Implements :class:`evo.growth.algorithm.Oracle`: values are exact, so ranks are confirmed."""

    def assess(
        self, candidates: Sequence[Candidate[Game]], scope: Sequence[Game]
    ) -> Steps[Game, list[Assessment[Game]]]:
        """Values of a list, whose candidates have one parent."""
        yield from ()
        parent, games = candidates[0].parent, np.array([each.game for each in candidates])
        helps = transfer(games, np.array([parent]))[0].tolist()
        gammas = coverage(np.array(scope), games).tolist()
        rows = zip(candidates, helps, gammas, strict=True)
        return [Assessment(candidate, parent, value, gamma) for candidate, value, gamma in rows]

    def test(
        self, assessment: Assessment[Game], scope: Sequence[Game], doublings: int = 0
    ) -> Steps[Game, AcceptanceResult]:
        """What is known needs no test."""
        yield from ()
        return AcceptanceResult(Verdict.ACCEPTED, assessment.gamma)

    def dismiss(
        self, assessment: Assessment[Game], result: AcceptanceResult | None, reason: Reason
    ) -> None:
        """Nothing is recorded."""


@dataclass(frozen=True)
class Neighbourhood:
    """Λ of Fig. 6.1: games drawn uniformly from those of the space within Euclidean distance
    ``radius`` (ρ) of the parent. A list is shorter than requested if the space is so thin around
    the parent that ``DRAWS`` draws for each candidate are not enough."""

    radius: float
    seed: int

    def propose(self, place: Place[Game], scope: Sequence[Game], n: int) -> list[Game]:
        centre = np.array(place.parent)
        key = self.seed, place.parent_generation, centre.tobytes().hex(), place.round
        draw = stream("toy", *key)
        points, n_drawn, width = np.empty((0, len(centre))), 0, 1
        while len(points) < n and n_drawn < DRAWS * n:
            directions = draw.standard_normal((width * n, len(centre)))
            lengths = np.linalg.norm(directions, axis=1, keepdims=True)
            ball = directions / lengths * draw.random((width * n, 1)) ** (1 / len(centre))
            near = centre + self.radius * ball
            points = np.concatenate([points, near[in_space(near)]])[:n]
            n_drawn, width = n_drawn + width * n, min(2 * width, WIDEST)
        return [tuple(point) for point in points.tolist()]


def grid(points: int) -> Skills:
    """The games among the centres of points × points cells of the unit square, shape (n, 2)."""
    axis = (np.arange(points) + 0.5) / points
    centres = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    return centres[in_space(centres)]


Scope = list[ScopeMember[Game]]


def scopes(
    seed: int, settings: GrowthSettings = FIG61, start: Sequence[Game] = START
) -> list[Scope]:
    """Algorithm 1 from the initial scope to its end: Σ_0, Σ_1, …"""
    return list(grow(start, ToyOracle(), Neighbourhood(RADIUS, seed), settings, seed))


def plan_toy_growth(config: ToyRunConfig, services: Services, resumed: bool) -> Plan:
    return plural(config.toy.seeds, "growth"), partial(ToySession, config, services.console)


class ToySession(RunSession):
    """Grows and archives. Each growth is a commit, under a run id of its own; a
    toy game is a row of ``games`` whose code lists its skills."""

    def __init__(self, config: ToyRunConfig, console: Console, archive: Archive) -> None:
        self.config, self.console, self.archive = config, console, archive
        self.identity = RunIdentity.of(config, config.name, archive)
        self.growths: list[tuple[float, int, Scope]] = []
        """Share of the grid that the last scope covers at 1 − α2, seed, and that scope."""

    def work(self) -> RunOutcome:
        """Grow, and draw the growth in the middle; raises :class:`archive.ArchiveError`."""
        config = self.config
        archived = {row["run_id"] for row in self.archive.rows("scopes", ["run_id"])}
        games, least = grid(POINTS), 1 - FIG61.alpha2
        for seed in range(config.seed, config.seed + config.toy.seeds):
            identity = replace(self.identity, run_id=f"{CLAIM}, seed {seed}", seed=seed)
            grown = scopes(seed)  # in seconds, so that a resumed run grows it again
            if identity.run_id not in archived:
                self._commit(identity, grown)
            share = float((coverage(skills_of(grown[-1]), games) >= least).mean())
            self.growths.append((share, seed, grown[-1]))
        self.growths.sort(key=lambda growth: growth[0])
        middle = self.growths[(len(self.growths) - 1) // 2]
        save_text(self.config.folder / "figure.svg", document(figure(*middle, least)))
        message = f"{plural(len(self.growths), 'growth')} came to the end"
        return RunOutcome(RunEvent.FINISHED, 0, message, None)

    def _commit(self, identity: RunIdentity, scopes: Sequence[Scope]) -> None:
        known = set(self.archive.table("games", ["game_id"])["game_id"].to_pylist())
        new = {game_id(member.game): member.game for member in scopes[-1]}
        common = {"dialect": "skills", "metadata_json": "{}", "steps": 0}
        names = sorted(new.keys() - known)
        games = [{"game_id": name, "code": code(new[name]), **common} for name in names]
        mine = {"run_id": identity.run_id}
        rows = [
            mine | member.row(number, lambda game: TaskId(game_id(game), "all"))
            for number, scope in enumerate(scopes)
            for member in scope
        ]
        finished = run_row(identity, RunEvent.FINISHED)
        self.archive.commit({"games": games, "scopes": rows, "runs": [finished]})

    def show(self, outcome: RunOutcome) -> None:
        """Print the shares covered over all seeds, once all growths are archived."""
        if outcome.event is not RunEvent.FINISHED:
            return
        columns = ("growths", "games", "least", "mean", "most", "at least 99 %")
        view = table("Share of the grid covered at 1 − α2", *columns, numbers=True)
        shares = [share for share, _, _ in self.growths]
        games = sum(len(scope) for _, _, scope in self.growths) / len(shares)
        ends = (percent(s, 2) for s in (shares[0], sum(shares) / len(shares), shares[-1]))
        add(view, len(shares), f"{games:.1f}", *ends, sum(share >= 0.99 for share in shares))
        self.console.print(view)
        self.console.print(f"figure   {self.config.folder / 'figure.svg'}", soft_wrap=True)


def skills_of(scope: Scope) -> Skills:
    """The games of a scope, shape (n, 2)."""
    return np.array([member.game for member in scope])


def game_id(game: Game) -> str:
    """As of every game: hash of dialect, metadata and code, 16 hex digits."""
    return content_id("skills", "{}", code(game))


def code(game: Game) -> str:
    """A toy game's skills."""
    return " ".join(map(repr, game))


# -- the figure ------------------------------------------------------------------------------------

SIDE, LEFT, TOP = 330.0, 44.0, 16.0
"""Side of the unit square, and its place in the figure."""
SQUARES = 55
"""Squares along an axis that are drawn as covered or not."""


def figure(share: float, seed: int, members: Scope, least: float) -> Element:
    """The unit square whose corner (0, 0) is at the lower left: what is covered at ``least``, the
    games, in fuller colour by generation, lines from parents, and a legend beneath."""
    last = max(member.generation for member in members)
    plot, below = Plot((LEFT, TOP), (SIDE, SIDE), (0, 1), (0, 1)), TOP + SIDE + 60
    marks = {
        "covered": "covered at 1 − α2",
        "uncovered": "not covered",
        f"solid {series(0)}": f"games, the fuller the later, to generation {last}",
    }
    about = CLAIM, f"{percent(share, 2)} covered (seed {seed})", plural(len(members), "game")
    x, y = plot.place(0.34, 0.93)
    shapes = [*_squares(members, plot, least), *plot.grid("skill 1", "", 2, 2)]
    shapes += [text(plot.x.start + 8, plot.y.end + 8, "skill 2", "axis"), *_games(members, plot)]
    shapes += [text(x, y + 19 * n, each, "" if n else "heading") for n, each in enumerate(about)]
    for row, (class_, words) in enumerate(marks.items()):
        at = {"x": LEFT, "y": below - 7 + 20 * row}
        shapes += [el("rect", **at, width=14, height=14, class_=class_)]
        shapes += [text(LEFT + 22, below + 4 + 20 * row, words)]
    title = "Scope growth on the toy model: what the last scope covers, games by generation"
    return canvas((LEFT + SIDE + 16, below + 64), title, *shapes, class_="toy")


def _squares(members: Scope, plot: Plot, least: float) -> Iterator[Element]:
    squares, side = grid(SQUARES), SIDE / SQUARES
    covered = coverage(skills_of(members), squares) >= least
    for centre, is_covered in zip(squares.tolist(), covered.tolist(), strict=True):
        x, y = (round(each - side / 2, 1) for each in plot.place(*centre))
        class_ = "covered" if is_covered else "uncovered"
        yield el("rect", x=x, y=y, width=side, height=side, class_=class_)


def _games(members: Scope, plot: Plot) -> Iterator[Element]:
    last = max(1, *(member.generation for member in members))
    for member in members:
        if member.parent is not None:
            yield line(*plot.place(*member.parent), *plot.place(*member.game), "descent")
    for member in members:
        x, y = plot.place(*member.game)
        dark, class_ = round(0.2 + 0.8 * member.generation / last, 2), f"game solid {series(0)}"
        yield el("circle", cx=x, cy=y, r=3.4, class_=class_, fill_opacity=dark)
        if not member.parent:
            yield el("circle", cx=x, cy=y, r=7, class_="start")
