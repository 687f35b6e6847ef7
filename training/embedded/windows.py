"""The texts that training documents are about: parts of stories, of the Bible, of a dictionary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from training.embedded.wordnet import WordNet
from xgl.models.corpus import CorpusStory

SENTENCE_START = re.compile(r"(?:^|(?<=[.!?] ))(?=[A-Z\"'])")
Encode = Callable[[str], list[int]]
Decode = Callable[[list[int]], str]

STORY_TOKENS = (24, 32)
STORY_SHARE = 0.6
"""Share of stories among the texts that hints are about. The others, verses and glosses, are so
many that their words cannot be known by heart: they must be read."""


@dataclass(frozen=True)
class Segment:
    """A piece of text tokenised on its own; `weight` scales the loss on its tokens.

    `story` and `start` say where in which story its first character stands (-1: in none); there a
    teacher's distributions are known.
    """

    text: str
    weight: float = 1.0
    story: int = -1
    start: int = 0


@dataclass(frozen=True)
class Window:
    """A part of a story: `text` begins at character `start` of story number `story` (-1: of none).

    `prompt` is what the story was asked for with, `around` what stands before and after the part.
    """

    text: str
    story: int = -1
    start: int = 0
    prompt: str = ""
    around: str = ""

    def taught_segment(self, before: str) -> Segment:
        """The window after `before` as a segment that a teacher's distributions are known for."""
        return Segment(before + self.text, 1.0, self.story, self.start - len(before))


@dataclass(frozen=True)
class Sources:
    """All that documents are drawn from. `rarity` is in bits, of words over the train stories."""

    stories: Sequence[CorpusStory]
    verses: Sequence[str]
    entries: Sequence[tuple[Sequence[str], str]]
    wordnet: WordNet
    rarity: Mapping[str, float]
    common: frozenset[str]
    encode: Encode
    decode: Decode


def window(rng: Random, story: int, sources: Sources) -> Window:
    """24 to 32 tokens of a story, from its beginning or (half of the time) from any sentence."""
    text = sources.stories[story].text
    ends = sorted({0, *(match.start() for match in SENTENCE_START.finditer(text))})
    starts = [s for s in ends if s == 0 or len(text) - s > 80]
    start = 0 if rng.random() < 0.5 else rng.choice(starts)
    tokens = sources.encode(text[start:])[: rng.randint(*STORY_TOKENS)]
    excerpt = sources.decode(tokens).rstrip("\ufffd ")
    around = f"{text[:start]} {text[start + len(excerpt) :]}"
    return Window(excerpt, story, start, sources.stories[story].prompt, around)


def passage(rng: Random, sources: Sources, whole: float = 0.0) -> Window:
    """A window of a story (all of it with probability `whole`), or of verses or glosses."""
    if rng.random() < STORY_SHARE:
        story = rng.randrange(len(sources.stories))
        if rng.random() < whole:
            return Window(sources.stories[story].text, story, 0, sources.stories[story].prompt)
        return window(rng, story, sources)
    if rng.random() < 0.5:
        place = rng.randrange(len(sources.verses))
        before, after = (
            sources.verses[max(0, place - 2) : place],
            sources.verses[place + 1 : place + 3],
        )
        text, around = sources.verses[place], " ".join([*before, *after])
    else:
        text, around = "; ".join(rng.choice(sources.entries)[1] for _ in range(2)), ""
    tokens = sources.encode(text)[: rng.randint(*STORY_TOKENS)]
    return Window(sources.decode(tokens).rstrip("\ufffd "), around=around)
