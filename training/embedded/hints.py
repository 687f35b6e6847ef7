"""What is said about a text: its own words, words related to it, words of what follows, quotes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from training.embedded.programs import Move
from training.embedded.windows import Sources, Window
from xgl.models.corpus import content_words, stem, words

QUOTED_SHARE = 0.25
"""Share of moves that say a part of a text as it stands, where any words will do."""


def own_words(rng: Random, text: str, sources: Sources, count: int) -> list[str]:
    """Up to `count` content words of `text`, rare ones preferred, in the order of the text."""
    whole, _, last_word = text.rpartition(" ")  # a window's last word may be cut off
    pool = content_words(text if last_word.endswith((".", "!", "?")) else whole)
    keyed = [(rng.random() ** (1.0 / (0.3 + sources.rarity.get(w, 8.0))), w) for w in pool]
    selection = {word for _, word in sorted(keyed, reverse=True)[:count]}
    return [word for word in pool if word in selection]


def related_words(rng: Random, text: str, sources: Sources, count: int) -> list[str]:
    """Up to `count` common words related to words of `text`, none of them a form of one in it."""
    stems = {stem(word) for word in words(text)}
    related: list[str] = []
    for word in own_words(rng, text, sources, 3 * count):
        near = [
            name
            for name in sources.wordnet.related_words(word)
            if name in sources.common and stem(name) not in stems and len(name) > 2
        ]
        if near:
            related.append(near[min(int(rng.expovariate(0.7)), len(near) - 1)])
    return list(dict.fromkeys(related))[:count]


def words_around(rng: Random, window: Window, sources: Sources, count: int) -> list[str]:
    """Up to `count` words of what stands around a text, none of them a form of one in it."""
    stems = {stem(word) for word in words(window.text)}
    pool = own_words(rng, window.around, sources, 4 * count)
    new = [word for word in pool if stem(word) not in stems and len(word) > 2]
    return sorted(rng.sample(new, min(count, len(new))), key=new.index)


def topical_words(rng: Random, window: Window, sources: Sources, count: int) -> list[str]:
    """Words that go with a text and do not stand in it: of its surroundings, or related ones."""
    nearby = words_around(rng, window, sources, count) if rng.random() < 0.6 else []
    return nearby or related_words(rng, window.text, sources, count)


def hint(rng: Random, window: Window, sources: Sources, count: int) -> list[str]:
    """Hint words for a text: mostly its own; else ones that go with it, both, or its prompt's."""
    draw, text = rng.random(), window.text
    if draw < 0.5:
        return own_words(rng, text, sources, count)
    if draw < 0.8:
        return topical_words(rng, window, sources, count)
    if draw < 0.93 or not window.prompt:
        half = own_words(rng, text, sources, max(1, count // 2))
        mixed = half + topical_words(rng, window, sources, max(1, count - len(half)))
        rng.shuffle(mixed)
        return mixed
    skipped = {"write", "short", "describe", "explain", "simple", "sentences", "paragraph"}
    return [word for word in content_words(window.prompt) if word not in skipped][:count]


def move(rng: Random, kind: Move, windows: Sequence[Window], sources: Sources) -> str:
    """What a player answers to a program of `kind`, about one or more of the texts it sees."""
    if kind == "new":
        return " ".join(new_words(rng, windows, sources))
    if kind == "quote":
        return quote(rng, rng.choice(windows).text, (1, 1, 2, 2, 3, 4))
    if rng.random() < QUOTED_SHARE:
        return quote(rng, rng.choice(windows).text, range(2, 9))
    return " ".join(move_words(rng, windows, sources))


def move_words(rng: Random, windows: Sequence[Window], sources: Sources) -> list[str]:
    """Two to five words about one text chosen at random, or (one time in six) about all."""
    if len(windows) > 1 and rng.random() < 1 / 6:
        return [word for window in windows for word in own_words(rng, window.text, sources, 2)]
    window = rng.choice(windows)
    count = rng.randint(2, 5)
    if rng.random() < 0.85:
        return own_words(rng, window.text, sources, count)
    return hint(rng, window, sources, count)


def new_words(rng: Random, windows: Sequence[Window], sources: Sources) -> list[str]:
    """One to four words about one text, or about all, of which no text has any in any form."""
    present_stems = {stem(word) for window in windows for word in words(window.text)}
    subjects = windows if rng.random() < 1 / 4 else [rng.choice(windows)]
    count = rng.randint(1, 4) if len(subjects) == 1 else 2
    topical = [w for window in subjects for w in topical_words(rng, window, sources, count)]
    new = [word for word in dict.fromkeys(topical) if stem(word) not in present_stems]
    if new:
        return new
    return [w for w in rng.sample(sorted(sources.common), 3) if stem(w) not in present_stems][:1]


def quote(rng: Random, text: str, lengths: Sequence[int]) -> str:
    """Words as they stand in a text, next to each other, one of `lengths` of them or up to its end.

    The last one of the text may be cut off, as the text is."""
    spoken = text.split()
    start = rng.randrange(len(spoken))
    return " ".join(spoken[start : start + rng.choice(lengths)])
