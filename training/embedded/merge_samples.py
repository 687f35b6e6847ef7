"""Make one of several runs of `sample_stories`: `python -m training.embedded.merge_samples`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from training.embedded import distil
from training.embedded.distil import SoftLabels
from training.embedded.sample_stories import BEGINNING, write
from xgl.models import corpus
from xgl.models.corpus import CorpusStory, stories

Part = tuple[Sequence[CorpusStory], SoftLabels]


def renumber(labels: SoftLabels, numbers: dict[int, int]) -> SoftLabels:
    """`labels` with stories renumbered; those without a new number are left out."""
    index = {
        (numbers[story], end): place
        for (story, end), place in labels.index.items()
        if story in numbers
    }
    return SoftLabels(labels.tokens, labels.probabilities, index)


def merge(parts: Sequence[Part], first: int) -> Part:
    """All parts, each numbered from `first`, as one; of texts that begin alike the first stays."""
    texts: list[CorpusStory] = []
    labels: list[SoftLabels] = []
    beginnings: set[str] = set()
    for part_stories, soft in parts:
        numbers: dict[int, int] = {}
        for place, story in enumerate(part_stories):
            if story.text[:BEGINNING] not in beginnings:
                beginnings.add(story.text[:BEGINNING])
                numbers[first + place] = first + len(texts)
                texts.append(story)
        labels.append(renumber(soft, numbers))
    return texts, distil.join(labels)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Merge runs of sample_stories.")
    parser.add_argument("--sampled", type=Path, nargs="+", required=True, help="their stories")
    parser.add_argument("--labels", type=Path, nargs="+", required=True, help="their labels")
    parser.add_argument("--output", type=Path, required=True, help="stories, .jsonl.gz")
    parser.add_argument("--output-labels", type=Path, required=True)
    args = parser.parse_args()
    sampled = [corpus.read(path.read_bytes()) for path in args.sampled]
    parts = list(zip(sampled, map(distil.read_labels, args.labels), strict=True))
    texts, labels = merge(parts, len(stories("train")))
    write(texts, args.output)
    distil.save(labels, args.output_labels)
    print(f"{len(texts)} stories, {len(labels.tokens)} distributions")


if __name__ == "__main__":
    main()
