"""Draw the triples of `topicality.jsonl`; `python -m training.embedded.draw_topicality --help`.

A triple: a held-out story, hint words of it, hint words of another. Twice: words that occur in the
story, and words that WordNet relates to its words but that do not occur in it. A hint of another
story shares no word with this one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from training.embedded.wordnet import WordNet, read_wordnet
from xgl.models.corpus import common_words, content_words, rarity, stem, stories, words

TRIPLES, SEED = 200, 20261121
STORY_WORDS, HINT_WORDS = 25, 3


@dataclass(frozen=True)
class Triple:
    """A story and four hints: two of its own, two of another story."""

    story: str
    own: str
    other: str
    related: str
    related_other: str


@dataclass(frozen=True)
class Candidate:
    """A story's beginning with its two hints."""

    story: str
    own: str
    related: str


def beginning(text: str) -> str:
    """The first words of a story, about as much as a default map shows."""
    return " ".join(text.split()[:STORY_WORDS])


def own_hint(text: str, rarities: Mapping[str, float]) -> list[str]:
    """The rarest content words of `text` that the train stories know, in order of appearance."""
    pool = [word for word in content_words(text) if word in rarities]
    rarest = set(sorted(pool, key=lambda w: -rarities[w])[:HINT_WORDS])
    return [word for word in pool if word in rarest]


def related_hint(
    text: str, whole: str, wordnet: WordNet, common: frozenset[str], rarities: Mapping[str, float]
) -> list[str]:
    """One related common word for each of the rarest words that have one, none in the story."""
    stems = {stem(word) for word in words(whole)}
    related: list[str] = []
    for word in sorted(content_words(text), key=lambda w: -rarities.get(w, 0.0)):
        near = [n for n in wordnet.related_words(word) if n in common and n not in related]
        near = [n for n in near if stem(n) not in stems and len(n) > 3]
        related += near[:1]
    return related[:HINT_WORDS]


def candidates(wordnet: WordNet) -> list[Candidate]:
    """The held-out stories that have both hints in full."""
    train = [story.text for story in stories("train")]
    rarities, common = rarity(train), common_words(train, least=4)
    pool = []
    for story in stories("held_out"):
        text = beginning(story.text)
        own = own_hint(text, rarities)
        related = related_hint(text, story.text, wordnet, common, rarities)
        if len(own) == len(related) == HINT_WORDS:
            pool.append(Candidate(text, " ".join(own), " ".join(related)))
    return pool


def apart(one: Candidate, other: Candidate) -> bool:
    """Do the hints of `other` share no word with `one`?"""
    stems = {stem(word) for word in words(f"{one.story} {one.own} {one.related}")}
    return not stems & {stem(word) for word in words(f"{other.own} {other.related}")}


def draw(pool: Sequence[Candidate], rng: Random, count: int) -> list[Triple]:
    """`count` triples of distinct stories, each with the hints of a random other story."""
    triples = []
    for one in rng.sample(list(pool), count):
        other = rng.choice([c for c in pool if apart(one, c)])
        triples.append(Triple(one.story, one.own, other.own, one.related, other.related))
    return triples


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description="Draw the triples of topicality.jsonl.")
    parser.add_argument("--wordnet", type=Path, required=True, help="folder of data.noun …")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("topicality.jsonl"))
    args = parser.parse_args()
    triples = draw(candidates(read_wordnet(args.wordnet)), Random(SEED), TRIPLES)
    args.output.write_text("".join(json.dumps(asdict(t)) + "\n" for t in triples))


if __name__ == "__main__":
    main()
