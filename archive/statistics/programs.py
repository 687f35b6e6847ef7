"""Games that are programs: every table of the gg-bench paper, from one run; how alike programs
are, and when one agent surely beats another."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from archive.run import Row
from archive.schema import PairPurpose
from archive.statistics.intervals import CONFIDENCE, mean_interval
from archive.text import number

if TYPE_CHECKING:
    from tree_sitter import Node


# -- how alike programs are (App. C) ---------------------------------------------------------------
# The paper uses Dolos: tokens of the tree, k-grams of 23, windows of 17; the similarity of two
# files is the share of fingerprints, of both together, that the other one has too. Winnowing:
# Schleimer, Wilkerson and Aiken, 2003.

GRAM, WINDOW = 23, 17


def tokens(source: str) -> Iterator[str]:
    """The kinds of the syntax tree's nodes, with a bracket around each node's children.

    Without recursion: a stranger's program may be nested deeply. Raises ImportError without the
    extra ``ggbench``.
    """
    import tree_sitter_python
    from tree_sitter import Language, Parser

    parser = Parser(Language(tree_sitter_python.language()))
    waiting: list[Node | str] = [parser.parse(source.encode(errors="replace")).root_node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            yield node
        elif node.type != "comment":
            yield "("
            yield node.type
            waiting.append(")")
            waiting.extend(reversed(node.children))


def fingerprints(source: str) -> list[int]:
    """The hashes of k-grams that winnowing keeps, in their order; a hash may occur twice."""
    words = list(tokens(source))
    grams = ("\0".join(words[at : at + GRAM]) for at in range(len(words) - GRAM + 1))
    hashes = [int.from_bytes(hashlib.sha256(gram.encode()).digest()[:8], "big") for gram in grams]
    return winnow(hashes, WINDOW)


def winnow(hashes: Sequence[int], window: int) -> list[int]:
    """The smallest hash of each window of ``window`` consecutive ones, the rightmost of equal ones,
    each index once; empty for fewer than ``window`` hashes."""
    starts = range(len(hashes) - window + 1)
    places = [min(range(at, at + window), key=lambda i: (hashes[i], -i)) for at in starts]
    return [hashes[place] for place in dict.fromkeys(places)]


def similarity(left: Sequence[int], right: Sequence[int]) -> float:
    """(covered left + covered right) / (fingerprints left + right); 0 if there are none."""
    in_left, in_right = set(left), set(right)
    covered = sum(each in in_right for each in left) + sum(each in in_left for each in right)
    return covered / max(1, len(left) + len(right))


def highest(sources: Sequence[str]) -> list[float]:
    """Each program's highest similarity to another, in their order; none for fewer than two."""
    prints = [fingerprints(source) for source in sources] if len(sources) > 1 else []
    return [
        max(similarity(own, other) for j, other in enumerate(prints) if j != i)
        for i, own in enumerate(prints)
    ]


# -- win rates, and when one agent surely beats another --------------------------------------------
# A draw is a win for neither player. The paper prints wins / (games − faults), but its text defines
# wins / games. Both are computed here.


class Tally(NamedTuple):
    """One player's plays of one game, counted. ``faults``: the player gave no legal move."""

    wins: int
    plays: int
    faults: int = 0


def over_plays(tallies: Sequence[Tally]) -> tuple[float, float | None]:
    """Mean win rate, wins / plays of each game, and half-width 1.96 · SD / √n with SD over n − 1;
    no width for a single game."""
    rates = [tally.wins / tally.plays for tally in tallies]
    spread = float(np.std(rates, ddof=1)) if len(rates) > 1 else None
    return float(np.mean(rates)), spread and 1.96 * spread / math.sqrt(len(rates))


def over_answers(tallies: Sequence[Tally]) -> tuple[float, float | None] | None:
    """The same from wins / (plays − faults), as the paper prints it; games with only faults are
    left out. None if no game is left."""
    answered = [Tally(wins, plays - faults) for wins, plays, faults in tallies if plays > faults]
    return over_plays(answered) if answered else None


def bounds(tallies: Sequence[Tally]) -> tuple[float, float]:
    """Bounds of the mean win rate: Student's over games, whose rates vary by their plays too; never
    narrower than Clopper and Pearson's over all plays, the only ones of one game."""
    from scipy import stats  # slow to load

    wins, plays = sum(tally.wins for tally in tallies), sum(tally.plays for tally in tallies)
    low, high = stats.binomtest(wins, plays).proportion_ci(CONFIDENCE)
    if len(tallies) > 1:
        rates = mean_interval(np.array([tally.wins / tally.plays for tally in tallies]), CONFIDENCE)
        low, high = min(low, rates.low), max(high, rates.high)
    return max(0.0, float(low)), min(1.0, float(high))


def passes(purpose: PairPurpose, wins: int, games: int) -> bool:
    """Whether wins are enough: in a selection for the paper's rule (§ 2.4), a win rate above 80 %,
    which means five of six games; in fresh games for at least 80 %; against random moves for 90 %.

    If neither seats nor draws matter, the best of six pairs of equal agents wins five of six games
    in 1 − (1 − 2 · 7 / 64)⁶ = 77 % of cases, and a pair of them 24 of 30 fresh games in 0.07 %.
    """
    if purpose is PairPurpose.SELECTION:
        return 5 * wins > 4 * games
    return 10 * wins >= (9 if purpose is PairPurpose.BASELINE else 8) * games


def tallies_of(rows: Iterable[Mapping[str, Any]], player: str) -> list[Tally]:
    """The tallies of a player's rows of ``gg_plays``, by game, in the order of their first play."""
    by_game: dict[str, list[str]] = {}
    for row in rows:
        if row["player"] == player:
            by_game.setdefault(row["program_id"], []).append(row["outcome"])
    return [
        Tally(outcomes.count("win"), len(outcomes), outcomes.count("fault"))
        for outcomes in by_game.values()
    ]


# -- the tables ------------------------------------------------------------------------------------

Rows = Sequence[Row]
NAMES = ("gg_games", "gg_filters", "gg_agents", "gg_pairs", "gg_plays", "gg_kinds")
STAGES = (
    *("keyword", "known", "execution", "alternation", "repeatability", "timeout", "undecided"),
    *("model", "training", "opponent"),
)
"""Names of the filters, in order; ``model`` if one was named."""
_TOKEN = re.compile(r"\w+|[^\w\s]")


class ProgramTable(NamedTuple):
    """A table: its title, what its numbers are, its columns and its rows."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


def program_id(*texts: str) -> str:
    """SHA-256 of a game's rules, source and moves, each with its length in bytes before it."""
    parts = [text.encode(errors="surrogatepass") for text in texts]
    return hashlib.sha256(b"".join(b"%d\n%b" % (len(part), part) for part in parts)).hexdigest()


def program_tables(rows: Mapping[str, Rows]) -> list[ProgramTable]:
    """All tables that have rows; none where the run has no such game."""
    if not rows["gg_games"]:
        return []
    games = sorted(rows["gg_games"], key=lambda row: row["place"])
    kept = [game for game in games if confirmed_pair(rows, game["program_id"])]
    if not rows["gg_pairs"]:  # a run without players filters only, as others do first
        kept = [game for game in games if stage_of(rows, game).startswith("passed")]
    parts = [
        _players(rows["gg_plays"]),
        _games(rows, games),
        _funnel(rows["gg_filters"], games),
        _texts(rows["gg_filters"], games, kept),
        _categories(games, kept),
        *_similarities(games, kept),
        *_kinds(rows["gg_kinds"], games),
    ]
    return [part for part in parts if part.rows]


def stage_of(rows: Mapping[str, Rows], game: Row) -> str:
    """The state of a game: ready, waiting, or refused with the reason."""
    if game["failed"]:
        return f"no text: {game['failed']}"
    *_, last = [None, *(r for r in rows["gg_filters"] if r["program_id"] == game["program_id"])]
    if last is None:
        return "waiting"
    if last["passed"]:
        return "ready" if last["stage"] == "opponent" else f"passed {last['stage']}"
    return f"refused: {last['stage']}: {last['reason']}"


def confirmed_pair(rows: Mapping[str, Rows], program_id: str) -> Row | None:
    """The pair of a game that passed confirmation; its loser is the game's opponent."""
    facts = {"program_id": program_id, "purpose": PairPurpose.CONFIRMATION, "passed": True}
    return next((pair for pair in rows["gg_pairs"] if facts.items() <= pair.items()), None)


def _players(plays: Rows) -> ProgramTable:
    cells = []
    for name in dict.fromkeys(row["player"] for row in plays):
        tallies = tallies_of(plays, name)
        rate, half_width = over_plays(tallies)
        paper = over_answers(tallies) or (None, None)
        cells.append((name, len(tallies), rate, *bounds(tallies), half_width, *paper))
    columns = ("wins / plays", "low", "high", "±", "wins / (plays − faults)", "± of that")
    return ProgramTable(
        "Win rates",
        "Means over games; 95 % over games, of one game over plays. The last two columns are the "
        "formula of the paper's table.",
        ("player", "games", *columns),
        cells,
    )


def _games(rows: Mapping[str, Rows], games: Rows) -> ProgramTable:
    cells = []
    for game in games:
        facts: tuple[Any, ...] = (None, None, None)
        if pair := confirmed_pair(rows, game["program_id"]):
            winner = f"{pair['winner']}, {pair['simulations']} simulations"
            facts = pair["loser"], winner, f"{pair['wins']}/{pair['games']}"
        cells.append((game["title"], game["category"], stage_of(rows, game), *facts))
    return ProgramTable(
        "Games that are programs",
        "Of equal agents, the best of six pairs would win five of six games in 77% of games, and "
        "24 of 30 fresh games in 0.07%.",
        ("game", "category", "stands at", "opponent", "beaten by", "fresh"),
        cells,
    )


def _funnel(filters: Rows, games: Rows) -> ProgramTable:
    """How many games pass each filter, of those that came to it."""
    verdicts = Counter((row["stage"], row["passed"]) for row in filters)
    complete = sum(game["failed"] is None for game in games)
    cells = [("texts", len(games), complete, len(games) - complete)]
    for stage in STAGES:
        passed, refused = verdicts[stage, True], verdicts[stage, False]
        if passed + refused:
            cells.append((stage, passed + refused, passed, refused))
    return ProgramTable("Funnel", "", ("filter", "games", "passed", "refused"), cells)


def _texts(filters: Rows, games: Rows, kept: Rows) -> ProgramTable:
    """Table 1."""
    known = [row for row in reversed(filters) if row["actions"] is not None]
    actions = {row["program_id"]: row["actions"] for row in known}  # the first of each game
    measures: dict[str, Callable[[Row], int | None]] = {
        "description length (tokens)": lambda game: len(_TOKEN.findall(game["rules"])) or None,
        "code length (lines)": lambda game: len(game["source"].splitlines()) or None,
        "action length (tokens)": lambda game: len(_TOKEN.findall(game["moves"])) or None,
        "action space size": lambda game: actions.get(game["program_id"]),
    }
    cells = [
        (name, *_spread(map(measure, games)), *_spread(map(measure, kept)))
        for name, measure in measures.items()
    ]
    parts = ("n", "mean", "SD", "min", "max")
    return ProgramTable(
        "Texts before and after filtering",
        "Table 1 of the paper; tokens are words and signs, and the SD is that of the population.",
        ("", *parts, *(f"{part} after" for part in parts)),
        cells,
    )


def _spread(measured: Iterable[int | None]) -> tuple[Any, ...]:
    values = [value for value in measured if value is not None]
    if not values:
        return (0, None, None, None, None)
    return len(values), float(np.mean(values)), float(np.std(values)), min(values), max(values)


def _categories(games: Rows, kept: Rows) -> ProgramTable:
    """Figure 6 and the shares of Table 2."""
    before, after = (Counter(game["category"] for game in part) for part in (games, kept))
    n, m = before.total(), max(1, after.total())
    cells = [
        (name or "nobody said", count, count / n, after[name], after[name] / m)
        for name, count in before.most_common()
    ]
    columns = ("category", "before", "share before", "after", "share after")
    return ProgramTable("Categories before and after filtering", "Figure 6.", columns, cells)


def _similarities(games: Rows, kept: Rows) -> Iterator[ProgramTable]:
    """Table 5, Figure 5, and Table 6 by author; none without the extra ``ggbench``."""
    try:
        values = highest([game["source"] for game in kept])
        by_author = _authors(games, kept)
    except ImportError:
        return
    if len(kept) > 1:
        columns = ("mean", "SD", "min", "25 %", "50 %", "75 %", "max")
        note = "Table 5: each kept program's highest similarity to another."
        quartiles = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
        row = float(np.mean(values)), float(np.std(values, ddof=1)), *quartiles
        yield ProgramTable("Similarity", note, columns, [row])
        counts, edges = np.histogram(values, 20, (0.0, 1.0))
        bins = [(number(low), int(n)) for low, n in zip(edges[:-1], counts, strict=True)]
        first, last = np.flatnonzero(counts)[[0, -1]]
        yield ProgramTable(
            "Histogram of similarities", "Figure 5.", ("from", "programs"), bins[first : last + 1]
        )
    yield by_author


def _authors(games: Rows, kept: Rows) -> ProgramTable:
    cells = []
    for author in dict.fromkeys(game["author"] for game in games):
        mine, own = ([g for g in part if g["author"] == author] for part in (games, kept))
        alike = highest([game["source"] for game in own])
        median = float(np.median(alike)) if alike else None
        complete = sum(game["failed"] is None for game in mine)
        titles = ", ".join(game["title"] for game in own)
        cells.append((author, len(mine), complete, len(own), len(own) / len(mine), median, titles))
    columns = ("games", "complete", "kept", "share kept", "median similarity", "kept games")
    return ProgramTable("Authors", "Section 4.3 and Table 6.", ("author", *columns), cells)


def _kinds(kinds: Rows, games: Rows) -> Iterator[ProgramTable]:
    """App. D: a table for each time that the games were sorted."""
    titles = {game["program_id"]: game["title"] for game in games if not game["failed"]}
    for sorting in dict.fromkeys((row["model"], row["clusters"]) for row in kinds):
        cells = []
        for row in kinds:
            if (row["model"], row["clusters"]) == sorting:
                own = [title for key, title in titles.items() if key in row["programs"]]
                share = len(own) / len(titles)
                cells.append((row["kind"] or "none of these", len(own), share, ", ".join(own)))
        columns = ("kind", "games", "share", "titles")
        yield ProgramTable("Kinds of games", f"Appendix D, by {sorting[0]}.", columns, cells)
