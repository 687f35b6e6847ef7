"""The story corpus and its words, without torch.

The stories were sampled from SmolLM2-135M-Instruct (Apache-2.0). The split is fixed by the hash of
their text: the embedded model is trained on `train`; games take their maps, and the measurements of
the model their texts, from `held_out`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple

Split = Literal["train", "held_out"]

HELD_OUT_MODULUS = 5
WORD = re.compile(r"[A-Za-z]+")

# Function words, and words that say nothing about what a text is about.
STOP_WORDS = frozenset(
    """
    a about above across after again against ago all almost along already also although always am
    among an and another any anyone anything are around as ask asked at away back be became because
    become been before began behind being below between both but by call called came can cannot come
    could day did do does doing done down during each either else end enough even ever every
    everyone everything few find first for found from full gave get give given go goes going got had
    has have having he her here hers herself high him himself his how however i if in instead into
    is it its itself just keep kept knew know known large last later least led left less let like
    little long look looked lot made make makes making many may me might mine more most much must my
    myself near never new next no nor not nothing now of off often old on once one only onto or
    other others our ours out over own part perhaps place put quite rather really said same saw say
    says see seem seemed seen several shall she should since small so some someone something
    sometimes soon still such take taken tell than that the their theirs them themselves then there
    these they thing things this those though through thus time to today together told too took
    toward towards two under until up upon us use used uses using very want wanted was way ways we
    well went were what when where whether which while who whom whose why will with within without
    would year years yes yet you your yours dear sincerely hi ll ve re don doesn didn isn wasn
    """.split()  # noqa: SIM905  # a list of strings would fill pages
)


class CorpusStory(NamedTuple):
    """One text of the corpus and the instruction it was sampled for."""

    prompt: str
    text: str


def split_of(text: str) -> Split:
    """The split of a text: a function only of its SHA-256."""
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return "held_out" if digest % HELD_OUT_MODULUS == 0 else "train"


def read(data: bytes) -> tuple[CorpusStory, ...]:
    """Stories from gzipped JSON lines."""
    rows = (json.loads(line) for line in gzip.decompress(data).splitlines())
    return tuple(CorpusStory(row["prompt"], row["text"]) for row in rows)


@cache
def stories(split: Split) -> tuple[CorpusStory, ...]:
    """The stories of one split, in the order of the file."""
    data = resources.files("xgl.models").joinpath("stories.jsonl.gz").read_bytes()
    return tuple(story for story in read(data) if split_of(story.text) == split)


LEAST = 2
"""Texts of each half, so that a game of two stories gets two."""


def divided(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """The texts for training and those for evaluation, by the last bit of each text's SHA-256.
    Raises ValueError for too few of either."""
    halves: tuple[list[str], list[str]] = ([], [])
    for text in texts:
        halves[hashlib.sha256(text.encode()).digest()[-1] & 1].append(text)
    if min(map(len, halves)) < LEAST:
        raise ValueError(
            f"found {len(texts)} different texts, too few texts to train on some and to evaluate "
            "on others, expected more"
        )
    return halves


def words(text: str) -> list[str]:
    """The lower-case alphabetic words of `text`, in order."""
    return [word.lower() for word in WORD.findall(text)]


def content_words(text: str) -> list[str]:
    """The distinct words of `text` that are about something, in order of appearance."""
    return list(dict.fromkeys(w for w in words(text) if len(w) > 2 and w not in STOP_WORDS))


def stem(word: str) -> str:
    """A crude stem, only good for asking whether two words are forms of one another."""
    for suffix in ("iness", "ies", "ing", "ed", "es", "ly", "s", "y", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def rarity(texts: Iterable[str]) -> Mapping[str, float]:
    """Inverse document frequency of each word over `texts`, in bits."""
    texts = list(texts)
    counts = Counter(word for text in texts for word in set(words(text)))
    return {word: math.log2(len(texts) / count) for word, count in counts.items()}


def common_words(texts: Sequence[str], least: int) -> frozenset[str]:
    """Words that occur in at least `least` of `texts`."""
    counts = Counter(word for text in texts for word in set(words(text)))
    return frozenset(word for word, count in counts.items() if count >= least)
