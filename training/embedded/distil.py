"""What the reference model (SmolLM2) teaches: its embeddings and its next-token distributions.

A story was sampled from the reference for a prompt. The distribution that each token was drawn from
is a label of the same mean as the token itself, for whatever part of the context the student sees,
and of far less variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

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
        row, label_token = self.index.get((story, end), (-1, token))
        return row if label_token == token else -1


def chat_prompt(prompt: str) -> str:
    """How the corpus's prompts were put to the reference."""
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"


def projected_embeddings(embeddings: torch.Tensor, width: int, scale: float) -> torch.Tensor:
    """Principal components of `embeddings` [vocabulary, wide], scaled: [vocabulary, width]."""
    centred = embeddings - embeddings.mean(dim=0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    projected = centred @ directions[:width].T
    return projected * (scale / projected.std())


def join(parts: Sequence[SoftLabels]) -> SoftLabels:
    """Labels of several batches as one."""
    index: dict[tuple[int, int], tuple[int, int]] = {}
    base = 0
    for part in parts:
        index.update({key: (base + row, token) for key, (row, token) in part.index.items()})
        base += len(part.tokens)
    return SoftLabels(
        torch.cat([part.tokens for part in parts]),
        torch.cat([part.probabilities for part in parts]),
        index,
    )


def save(labels: SoftLabels, path: Path) -> None:
    """Write labels for another run."""
    torch.save((labels.tokens, labels.probabilities, labels.index), path)


def read_labels(path: Path) -> SoftLabels:
    """Labels written by `save`."""
    return SoftLabels(*torch.load(path, weights_only=True))
