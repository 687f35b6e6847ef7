"""How alike programs are: winnowed fingerprints of their syntax trees (App. C of the paper).

The paper uses Dolos: tokens of the tree, k-grams of 23, windows of 17; the similarity of two files
is the share of fingerprints, of both together, that the other one has too. Winnowing: Schleimer,
Wilkerson and Aiken, 2003.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import tree_sitter_python
from tree_sitter import Language, Node, Parser

GRAM, WINDOW = 23, 17


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_python.language()))


def tokens(source: str) -> list[str]:
    """The kinds of the syntax tree's nodes, with a bracket around each node's children."""
    return list(_tokens(_parser().parse(source.encode(errors="replace")).root_node))


def _tokens(root: Node) -> Iterator[str]:
    """Without recursion: a stranger's program may be nested deeply."""
    waiting: list[Node | str] = [root]
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
    return winnow(_hashes(tokens(source), GRAM), WINDOW)


def _hashes(words: Sequence[str], size: int) -> list[int]:
    grams = ("\0".join(words[at : at + size]) for at in range(len(words) - size + 1))
    return [int.from_bytes(hashlib.sha256(gram.encode()).digest()[:8], "big") for gram in grams]


def winnow(hashes: Sequence[int], window: int) -> list[int]:
    """The smallest hash of each window of ``window`` consecutive ones, the rightmost of equal ones,
    each index once; empty for fewer than ``window`` hashes."""
    selection: list[int] = []
    last = -1
    for start in range(len(hashes) - window + 1):
        index = min(range(start, start + window), key=lambda at: (hashes[at], -at))
        if index != last:
            selection.append(hashes[index])
            last = index
    return selection


def similarity(left: Sequence[int], right: Sequence[int]) -> float:
    """(covered left + covered right) / (fingerprints left + right); 0 if there are none."""
    total = len(left) + len(right)
    if not total:
        return 0.0
    in_left, in_right = set(left), set(right)
    covered_count = sum(each in in_right for each in left) + sum(each in in_left for each in right)
    return covered_count / total


@dataclass(frozen=True)
class HighestSimilarity:
    """The row of Table 5: statistics of each program's highest similarity to another."""

    mean: float
    sd: float
    quartiles: tuple[float, float, float, float, float]


def highest(sources: Sequence[str]) -> list[float]:
    """Each program's highest similarity to another, in their order. Raises ValueError below 2."""
    if len(sources) < 2:
        raise ValueError(f"found {len(sources)} programs, expected at least 2")
    prints = [fingerprints(source) for source in sources]
    return [
        max(similarity(own, other) for j, other in enumerate(prints) if j != i)
        for i, own in enumerate(prints)
    ]


def table_5(values: Sequence[float]) -> HighestSimilarity:
    """Mean, SD (n − 1), and minimum, quartiles, maximum."""
    quartiles = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
    return HighestSimilarity(float(np.mean(values)), float(np.std(values, ddof=1)), (*quartiles,))
