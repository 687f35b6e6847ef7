"""Distances of programs: edit distance of their canonical syntax trees.

A tree's nodes are the program, its instructions and their parts; one edit inserts, deletes or
relabels a node (Zhang and Shasha, SIAM J. Comput. 18, 1989). Register names are labels: compare
canonical programs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from xgl.language import syntax as syn
from xgl.language.visitors import children

Nested = tuple[str, tuple[Any, ...]]
"""A label and the nested trees below it."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree in postorder: ``leftmost[i]`` is the place of node i's leftmost leaf; ``keyroots`` are
    the root and the nodes with a left sibling."""

    labels: tuple[str, ...]
    leftmost: tuple[int, ...]
    keyroots: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.labels)


def distance(first: syn.Program, second: syn.Program) -> int:
    """Fewest edits from one tree to the other; 0 for equal programs, even of different dialects."""
    return edits(tree(first), tree(second))


def nearest(program: syn.Program, candidates: Iterable[tuple[str, syn.Program]]) -> tuple[str, int]:
    """The name of the closest of ``candidates``, the first of several, and its distance.

    Raises ValueError when there is none. Candidates that cannot be closest by :func:`bound` are not
    compared.
    """
    own = tree(program)
    others = [(name, tree(other)) for name, other in candidates]
    best: tuple[int, int] | None = None
    for least, index in sorted((bound(own, other), i) for i, (_, other) in enumerate(others)):
        if best is not None and least > best[0]:
            break
        nearest = (edits(own, others[index][1]), index)
        best = nearest if best is None else min(best, nearest)
    if best is None:
        raise ValueError("no program is known, expected at least one")
    return others[best[1]][0], best[0]


@lru_cache(maxsize=65536)
def tree(program: syn.Program) -> Tree:
    """A program's tree."""
    return tree_of(("program", tuple(map(_nested, program.instructions))))


def tree_of(root: Nested) -> Tree:
    """A nested tree in postorder."""
    labels: list[str] = []
    leftmost: list[int] = []

    def visit(node: Nested) -> int:
        label, below = node
        firsts = [visit(child) for child in below]
        leftmost.append(firsts[0] if firsts else len(labels))
        labels.append(label)
        return leftmost[-1]

    visit(root)
    last = {leaf: index for index, leaf in enumerate(leftmost)}
    return Tree(tuple(labels), tuple(leftmost), tuple(sorted(last.values())))


def bound(first: Tree, second: Tree) -> int:
    """Lower bound on the edits: labels that the larger tree has and the other lacks."""
    a, b = Counter(first.labels), Counter(second.labels)
    return max(len(first), len(second)) - (a & b).total()


def edits(first: Tree, second: Tree) -> int:
    """Fewest edits between two trees."""
    # Keyroots in postorder: the distances of the subtrees that a pair needs are filled before it.
    costs = [[0] * len(second) for _ in range(len(first))]
    for i in first.keyroots:
        for j in second.keyroots:
            _fill(first, second, i, j, costs)
    return costs[-1][-1]


def _fill(first: Tree, second: Tree, i: int, j: int, costs: list[list[int]]) -> None:
    """Distances of the subtrees on the left paths of nodes ``i`` and ``j``, into ``costs``."""
    top, left = first.leftmost[i], second.leftmost[j]
    rows, columns = i - top + 2, j - left + 2
    forest = [[0] * columns for _ in range(rows)]
    forest[0] = list(range(columns))
    for x in range(1, rows):
        above, row, a = forest[x - 1], forest[x], top + x - 1
        row[0] = x
        whole, label, own = first.leftmost[a] == top, first.labels[a], first.leftmost[a] - top
        for y in range(1, columns):
            b = left + y - 1
            cheapest = min(above[y], row[y - 1]) + 1
            if whole and second.leftmost[b] == left:
                cost = above[y - 1] + (label != second.labels[b])
                row[y] = costs[a][b] = min(cheapest, cost)
            else:
                cost = forest[own][second.leftmost[b] - left] + costs[a][b]
                row[y] = min(cheapest, cost)


# -- from syntax to labels -------------------------------------------------------------------------


def _nested(node: Any) -> Nested:
    match node:
        case syn.Assign(targets):
            return "assign", tuple((f"{name}=", (_nested(value),)) for name, value in targets)
        case syn.Elicit(player, registers, max_len):
            limit = () if max_len is None else (_leaf(max_len),)
            return f"elicit {player}", (*map(_leaf, registers), *limit)
        case syn.Reward(player, amount):
            return f"reward {player}", _terms(amount)
        case syn.Replay(flag, times):
            return f"replay {flag}", (_leaf(times),)
        case syn.Sum():
            return "sum", _terms(node)
        case _:
            return _label(node), tuple(map(_nested, children(node)))


def _terms(amount: syn.Sum) -> tuple[Nested, ...]:
    signed_terms = ((sign, _nested(term)) for sign, term in amount.terms)
    return tuple(
        ("-" + label if sign < 0 else label, below) for sign, (label, below) in signed_terms
    )


def _leaf(value: object) -> Nested:
    return str(value), ()


def _label(node: Any) -> str:
    """A node's own part, without what its children say."""
    match node:
        case syn.Register(text):
            return text
        case syn.Literal(text):
            return f'"{text}"'
        case syn.Number(value):
            return repr(value)
        case syn.Story(tokens, prompt):
            return f"story {tokens or ''}{prompt}"
        case syn.Xent(kind, _, prefix, outer):
            return f"{kind}{'|' if prefix else ''}{',' if outer else ''}"
        case syn.Cut(_, _, side):
            return side
        case syn.Function(name) | syn.Logic(name):
            return name
        case syn.Comparison(_, comparator) | syn.Test(_, comparator):
            return comparator
        case syn.Truth(expected=expected):
            return f"is_{expected}".lower()
        case syn.Reveal(player):
            return f"reveal {player}"
        case syn.Beacon(flag):
            return f"beacon {flag}"
    return type(node).__name__
