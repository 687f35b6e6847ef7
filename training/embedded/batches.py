"""Documents as padded batches of tokens, with weights and a teacher's distributions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from tokenizers import Tokenizer

from training.embedded.distil import SoftLabels
from training.embedded.documents import Document, draw
from training.embedded.tokenizer import BOS_ID, EOS_ID
from training.embedded.windows import Segment, Sources

IGNORED = -100
POOL_DOCUMENTS = 1024


@dataclass(frozen=True)
class Row:
    """One document in tokens. `weights[i]` and `labels[i]` (a row of the soft labels, or -1)
    belong to the prediction of `ids[i]`; those of the first token are not used."""

    ids: list[int]
    weights: list[float]
    labels: list[int]


@dataclass(frozen=True)
class Batch:
    """`ids` [batch, time] padded with EOS; `targets` [batch, time] shifted, padding ignored;
    `weights` and `labels` [batch, time] belong to the targets."""

    ids: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor
    labels: torch.Tensor


def _segment(segment: Segment, tokenizer: Tokenizer, soft: SoftLabels | None) -> Row:
    encoding = tokenizer.encode(segment.text, add_special_tokens=False)
    weights = [segment.weight] * len(encoding.ids)
    if soft is None or segment.story < 0:
        return Row(encoding.ids, weights, [-1] * len(encoding.ids))
    ends = (segment.start + end for _, end in encoding.offsets)
    labels = [
        soft.row(segment.story, end, token) for end, token in zip(ends, encoding.ids, strict=True)
    ]
    return Row(encoding.ids, weights, labels)


def row(document: Document, tokenizer: Tokenizer, soft: SoftLabels | None) -> Row:
    """The segments' tokens, after BOS if the document is opened, before EOS if it is closed."""
    parts = [_segment(segment, tokenizer, soft) for segment in document.segments]
    if document.opened:
        parts.insert(0, Row([BOS_ID], [0.0], [-1]))
    if document.closed:
        parts.append(Row([EOS_ID], [1.0], [-1]))
    return Row(
        [i for part in parts for i in part.ids],
        [w for part in parts for w in part.weights],
        [n for part in parts for n in part.labels],
    )


def pad(rows: Sequence[Row]) -> Batch:
    """Rows as one batch, padded on the right."""
    shape = (len(rows), max(len(row.ids) for row in rows) - 1)
    ids, targets = torch.full(shape, EOS_ID), torch.full(shape, IGNORED)
    weights, labels = torch.zeros(shape), torch.full(shape, -1)
    for index, item in enumerate(rows):
        length = len(item.ids) - 1
        ids[index, :length] = torch.tensor(item.ids[:-1])
        targets[index, :length] = torch.tensor(item.ids[1:])
        weights[index, :length] = torch.tensor(item.weights[1:])
        labels[index, :length] = torch.tensor(item.labels[1:])
    return Batch(ids, targets, weights, labels)


def batches(
    rng: Random,
    sources: Sources,
    weights: Sequence[float],
    tokenizer: Tokenizer,
    soft: SoftLabels | None,
    tokens: int,
    longest: int,
) -> Iterator[Batch]:
    """Endless batches of about `tokens` tokens: documents of like length stand together."""
    while True:
        documents = (draw(rng, sources, weights) for _ in range(POOL_DOCUMENTS))
        rows = [row(document, tokenizer, soft) for document in documents]
        rows = sorted((r for r in rows if 2 < len(r.ids) <= longest), key=lambda r: len(r.ids))
        groups: list[list[Row]] = [[]]
        for item in rows:
            if groups[-1] and (len(groups[-1]) + 1) * len(item.ids) > tokens:
                groups.append([])
            groups[-1].append(item)
        rng.shuffle(groups)
        yield from (pad(group) for group in groups)
