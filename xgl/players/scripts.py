"""Players that follow a fixed rule: they show what a game pays for no skill, or for one trick
(docs/specification.md, "Scripts").

A script is a function of what its player may see, of the map's seed and of its number of failed
ensures. It obeys every rule for players: a move has at most its limit of judge tokens, and after a
failed ensure it makes another attempt, until the game is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest
from typing import NamedTuple

from xgl.errors import OversizeError
from xgl.models import corpus
from xgl.random_streams import stream
from xgl.runtime.requests import Move, Turn, View

COMMON = 40
"""Stories of the corpus in which a word must occur to count as common."""


class Scene(NamedTuple):
    """Input of a script: the texts that its player sees and did not write, in the order of their
    first appearance; the map's seed; failed ensures so far; most judge tokens of a move, and how to
    count them."""

    texts: tuple[str, ...]
    map_seed: int
    failures: int
    limit: int
    count: Callable[[str], int]

    def text(self, index: int) -> str:
        """The text at an index, or the last one if there are fewer; empty without any."""
        if not self.texts:
            return ""
        return self.texts[min(index, len(self.texts) - 1)]

    def head(self, words: Sequence[str], last: bool = False) -> str:
        """The first words, or the ``last`` ones, as many as a move may hold."""
        # A word has at least one token, so no more words than tokens are tried, the most first.
        for size in range(min(len(words), self.limit), 0, -1):
            move = " ".join(words[-size:] if last else words[:size])
            if self.count(move) <= self.limit:
                return move
        return ""


Script = Callable[[Scene], str]
"""A function from a scene to a move."""


class ScriptPlayer:
    """Plays by the script that a turn's policy names; ``count`` counts judge tokens."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn; moves of scripts cost no tokens."""
        return [Move(self.text(turn, turn.policy)) for turn in turns]

    def text(self, turn: Turn, script: str) -> str:
        """The move that a script makes at a turn."""
        view = turn.request.view
        texts, failures = visible_texts(view), sum(item.label == "ensure" for item in view.items)
        limit = turn.request.max_len
        return SCRIPTS[script](Scene(texts, turn.seeds.map_seed, failures, limit, self.count))


def visible_texts(view: View) -> tuple[str, ...]:
    """The different texts of a view that its player did not write: stories, and others' moves."""
    own = {each.text for each in view.items if each.own}
    told = (each for each in view.items if not each.label.startswith(("ensure", "reward")))
    texts = (each.text for each in told if each.text not in own)
    return tuple(dict.fromkeys(text for text in texts if text.strip()))


def _last_words(scene: Scene) -> str:
    words = scene.text(0).split()
    return scene.head(words[: len(words) - scene.failures], last=True)


def _quote(scene: Scene) -> str:
    """Consecutive words from some place of a text."""
    rng = stream("quote", scene.map_seed, scene.failures)
    words = scene.text(int(rng.integers(max(1, len(scene.texts))))).split()
    return scene.head(words[int(rng.integers(max(1, len(words) - scene.limit + 1))) :])


def _rare_words(scene: Scene) -> str:
    """Words that a text is about, the rarest in the corpus first."""
    rarity, words = _rarity(), corpus.content_words(scene.text(0))
    return _ranked(scene, sorted(words, key=lambda word: -rarity.get(word, math.inf)))


def _mixed_words(scene: Scene) -> str:
    """Words that the texts are about, taken from each text in turn."""
    word_rows = zip_longest(*map(corpus.content_words, scene.texts))
    words = dict.fromkeys(word for word in chain.from_iterable(word_rows) if word)
    return _ranked(scene, list(words))


def _missing_words(scene: Scene) -> str:
    """Common words that no text has, other ones on every map."""
    present = {corpus.stem(word) for text in scene.texts for word in corpus.words(text)}
    rng = stream("missing words", scene.map_seed, scene.failures)
    candidates = (_common_words()[index] for index in rng.permutation(len(_common_words())))
    absent = (word for word in candidates if corpus.stem(word) not in present)
    return scene.head([word for word, _ in zip(absent, range(scene.limit), strict=False)])


def _ranked(scene: Scene, words: Sequence[str], most: int | None = None) -> str:
    """The first words, at most ``most``, without those that other attempts began with."""
    start = scene.failures % max(1, len(words))
    return scene.head([*words[start:], *words[:start]][:most])


@cache
def _rarity() -> Mapping[str, float]:
    return corpus.rarity(story.text for story in corpus.stories("train"))


@cache
def _common_words() -> tuple[str, ...]:
    """Content words that occur in at least ``COMMON`` training stories, in alphabetic order; the
    held-out stories are not read."""
    common = corpus.common_words([story.text for story in corpus.stories("train")], COMMON)
    return tuple(corpus.content_words(" ".join(sorted(common))))


SCRIPTS: Mapping[str, Script] = {
    "nothing": lambda scene: "",
    "full_stop": lambda scene: ".",
    "first_words": lambda scene: scene.head(scene.text(0).split()[scene.failures :]),
    "last_words": _last_words,
    "quote": _quote,
    "content_words": lambda scene: _ranked(scene, corpus.content_words(scene.text(0))),
    "second_content_words": lambda scene: _ranked(scene, corpus.content_words(scene.text(1))),
    "last_content_words": lambda scene: _ranked(scene, corpus.content_words(scene.text(1 << 30))),
    "one_word": lambda scene: _ranked(scene, corpus.content_words(scene.text(0)), most=1),
    "rare_words": _rare_words,
    "mixed_words": _mixed_words,
    "missing_words": _missing_words,
}
