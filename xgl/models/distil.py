"""What the reference model (SmolLM2) teaches: its embeddings and its next-token distributions.

A story was sampled from the reference for a prompt. With that prompt in its context, the
reference's distribution is the one each token was drawn from: a label of the same mean as the token
itself, for whatever part of the context the student sees, and of far less variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer

from xgl.models.corpus import Story

TOP = 24


@dataclass(frozen=True)
class SoftLabels:
    """Distributions over our vocabulary, the `TOP` most likely tokens of each.

    tokens, probabilities: [rows, TOP]; `index` maps (story, end of the token in characters) to
    (row, token).
    """

    tokens: torch.Tensor
    probabilities: torch.Tensor
    index: dict[tuple[int, int], tuple[int, int]]

    def row(self, story: int, end: int, token: int) -> int:
        """The row for this token of this story, -1 if there is none."""
        found, expected = self.index.get((story, end), (-1, token))
        return found if expected == token else -1


def chat_prompt(prompt: str) -> str:
    """How the corpus's prompts were put to the reference."""
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def projected_embeddings(embeddings: torch.Tensor, width: int, scale: float) -> torch.Tensor:
    """Principal components of `embeddings` [vocabulary, wide], scaled: [vocabulary, width]."""
    centred = embeddings - embeddings.mean(dim=0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    projected = centred @ directions[:width].T
    return projected * (scale / projected.std())


def _distributions(
    model: Any, context: list[list[int]], body: list[list[int]], pieces: torch.Tensor, size: int
) -> list[torch.Tensor]:
    """P over our vocabulary before each body token: one [tokens, size] a row."""
    rows = [c + b for c, b in zip(context, body, strict=True)]
    width = max(map(len, rows))
    ids = torch.tensor([r + [0] * (width - len(r)) for r in rows])
    mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows])
    hidden = model.model(input_ids=ids, attention_mask=mask).last_hidden_state
    found = []
    for i, (before, own) in enumerate(zip(context, body, strict=True)):
        logits = model.lm_head(hidden[i, len(before) - 1 : len(before) + len(own) - 1]).float()
        mine = torch.zeros(len(own), size)
        found.append(mine.index_add_(1, pieces, logits.softmax(dim=-1)))
    return found


@torch.no_grad()
def label_stories(
    model: Any,
    reference: Tokenizer,
    pruned: Tokenizer,
    to_reference: Sequence[int],
    pieces: Sequence[int],
    stories: Sequence[Story],
    report: Callable[[int], None],
    rows: int = 16,
) -> SoftLabels:
    """The reference's distributions over `stories`, each after the prompt it was sampled for."""
    encoded = [pruned.encode(story.text, add_special_tokens=False) for story in stories]
    order = sorted(range(len(stories)), key=lambda i: len(encoded[i].ids))
    tokens, probabilities = [], []
    index: dict[tuple[int, int], tuple[int, int]] = {}
    first_piece = torch.tensor(pieces)
    for start in range(0, len(order), rows):
        group = order[start : start + rows]
        context = [reference.encode(chat_prompt(stories[i].prompt)).ids for i in group]
        body = [[to_reference[t] for t in encoded[i].ids] for i in group]
        size = pruned.get_vocab_size()
        for i, mass in zip(
            group, _distributions(model, context, body, first_piece, size), strict=True
        ):
            for (_, end), token in zip(encoded[i].offsets, encoded[i].ids, strict=True):
                index[(i, end)] = (len(index), token)
            top = mass.topk(TOP, dim=-1)
            tokens.append(top.indices.to(torch.int16))
            probabilities.append(top.values.to(torch.float16))
        report(len(group))
    return SoftLabels(torch.cat(tokens), torch.cat(probabilities), index)


def save(labels: SoftLabels, path: Path) -> None:
    """Write labels for another run."""
    torch.save((labels.tokens, labels.probabilities, labels.index), path)


def read(path: Path) -> SoftLabels:
    """Labels written by `save`."""
    return SoftLabels(*torch.load(path, weights_only=True))
