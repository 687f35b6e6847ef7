"""How alike programs are: winnowed fingerprints of their syntax trees (App. C of the gg-bench
paper).

The paper uses Dolos: tokens of the tree, k-grams of 23, windows of 17; the similarity of two files
is the share of fingerprints, of both together, that the other one has too. Winnowing: Schleimer,
Wilkerson and Aiken, 2003.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tree_sitter import Node

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


def table_5(values: Sequence[float]) -> list[float]:
    """The row of Table 5: mean, SD (n − 1), minimum, quartiles, maximum."""
    quartiles = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
    return [float(np.mean(values)), float(np.std(values, ddof=1)), *quartiles]
