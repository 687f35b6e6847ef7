"""The training documents of the embedded model.

A document is a sequence of segments, tokenised apart and their tokens joined, as the judge joins a
prefix and a scored text. Kinds: plain text; hint words, then text (what the judge reads); a game as
a player sees it, then a move of hint words (what the player writes).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from xgl.models.corpus import Story, content_words, sentence_starts, stem, words
from xgl.models.programs import header
from xgl.models.wordnet import WordNet

Encode = Callable[[str], list[int]]
Decode = Callable[[list[int]], str]

JOINS = ("", "", "", "", "", "\n", " ", ". ", ": ")
STORY_TOKENS = (24, 32)
ECHO_JOINS = ("\n", ". ", "\nx: ", "\nt: ", "; ")
CODE_WEIGHT, MOVE_WEIGHT = 0.3, 4.0
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
class Document:
    """Segments, after BOS if `opened` and before EOS if `closed`.

    A judge of the `xent` dialect sees no BOS, one of the paper's dialect does: both must be known.
    """

    segments: tuple[Segment, ...]
    opened: bool
    closed: bool = False


@dataclass(frozen=True)
class Window:
    """A part of a story: `text` begins at character `start` of story number `story` (-1: of none).
    `prompt` is what the story was asked for with."""

    text: str
    story: int = -1
    start: int = 0
    prompt: str = ""

    def taught(self, before: str) -> Segment:
        """The window after `before` as a segment that a teacher's distributions are known for."""
        return Segment(before + self.text, 1.0, self.story, self.start - len(before))


@dataclass(frozen=True)
class Sources:
    """All that documents are drawn from. `rarity` is in bits, of words over the train stories."""

    stories: Sequence[Story]
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
    starts = [s for s in sentence_starts(text) if s == 0 or len(text) - s > 80]
    start = 0 if rng.random() < 0.5 else rng.choice(starts)
    tokens = sources.encode(text[start:])[: rng.randint(*STORY_TOKENS)]
    cut = sources.decode(tokens).rstrip("\ufffd ")
    return Window(cut, story, start, sources.stories[story].prompt)


def passage(rng: Random, sources: Sources, whole: float = 0.0) -> Window:
    """A window of a story (all of it with probability `whole`), or of verses or glosses."""
    if rng.random() < STORY_SHARE:
        story = rng.randrange(len(sources.stories))
        if rng.random() < whole:
            return Window(sources.stories[story].text, story, 0, sources.stories[story].prompt)
        return window(rng, story, sources)
    if rng.random() < 0.5:
        text = rng.choice(sources.verses)
    else:
        text = "; ".join(rng.choice(sources.entries)[1] for _ in range(2))
    tokens = sources.encode(text)[: rng.randint(*STORY_TOKENS)]
    return Window(sources.decode(tokens).rstrip("\ufffd "))


def own_words(rng: Random, text: str, sources: Sources, count: int) -> list[str]:
    """Up to `count` content words of `text`, rare ones preferred, in the order of the text."""
    whole, _, cut = text.rpartition(" ")  # a window's last word may be cut off
    pool = content_words(text if cut.endswith((".", "!", "?")) else whole)
    keyed = [(rng.random() ** (1.0 / (0.3 + sources.rarity.get(w, 8.0))), w) for w in pool]
    chosen = {word for _, word in sorted(keyed, reverse=True)[:count]}
    return [word for word in pool if word in chosen]


def related_words(rng: Random, text: str, sources: Sources, count: int) -> list[str]:
    """Up to `count` common words related to words of `text`, none of them a form of one in it."""
    stems = {stem(word) for word in words(text)}
    found: list[str] = []
    for word in own_words(rng, text, sources, 3 * count):
        near = [
            name
            for name in sources.wordnet.related(word)
            if name in sources.common and stem(name) not in stems and len(name) > 2
        ]
        if near:
            found.append(near[min(int(rng.expovariate(0.7)), len(near) - 1)])
    return list(dict.fromkeys(found))[:count]


def hint(rng: Random, shown: Window, sources: Sources, count: int) -> list[str]:
    """Hint words for a text: mostly its own; else related ones, both, or its prompt's words."""
    draw, text = rng.random(), shown.text
    if draw < 0.6:
        return own_words(rng, text, sources, count)
    if draw < 0.75:
        return related_words(rng, text, sources, count)
    if draw < 0.9 or not shown.prompt:
        half = own_words(rng, text, sources, max(1, count // 2))
        mixed = half + related_words(rng, text, sources, max(1, count - len(half)))
        rng.shuffle(mixed)
        return mixed
    skipped = {"write", "short", "describe", "explain", "simple", "sentences", "paragraph"}
    return [word for word in content_words(shown.prompt) if word not in skipped][:count]


def plain(rng: Random, sources: Sources) -> Document:
    """A whole story. It is not closed: the stories are cut off at a limit of tokens."""
    story = rng.randrange(len(sources.stories))
    segment = Segment(sources.stories[story].text, 1.0, story, 0)
    return Document((segment,), opened=rng.random() < 0.5)


def verse(rng: Random, sources: Sources) -> Document:
    """A run of one to three verses."""
    start = rng.randrange(len(sources.verses) - 3)
    text = " ".join(sources.verses[start : start + rng.randint(1, 3)])
    return Document((Segment(text),), opened=rng.random() < 0.5)


def gloss(rng: Random, sources: Sources) -> Document:
    """A dictionary entry: up to four of the words, joined as a hint to what they mean."""
    lemmas, meaning = rng.choice(sources.entries)
    names = rng.sample(list(lemmas), min(4, len(lemmas)))
    before = Segment(" ".join(names) + rng.choice(JOINS))
    return Document((before, Segment(meaning)), opened=rng.random() < 0.5)


def hint_then_story(rng: Random, sources: Sources) -> Document:
    """One to six hint words directly before a text of theirs.

    No teacher here: its distributions do not know of the hint, which tells what really follows.
    """
    part = passage(rng, sources, whole=0.2)
    chosen = hint(rng, part, sources, rng.randint(1, 6))
    if rng.random() < 0.15:
        rng.shuffle(chosen)
    before = Segment(" ".join(chosen) + rng.choice(JOINS), 0.3)
    return Document((before, Segment(part.text)), opened=rng.random() < 0.5)


def presentation(rng: Random, sources: Sources) -> Document:
    """A program, its registers, and moves made of words about one (or all) of the texts."""
    count = rng.choice((1, 2, 2, 2, 3, 3))
    program = header(rng, count)
    windows = [passage(rng, sources) for _ in range(count)]
    pieces = [Segment(program.text, CODE_WEIGHT)]
    for name, shown in zip(program.stories, windows, strict=True):
        pieces += [Segment(f"{name}:", CODE_WEIGHT), shown.taught(" "), Segment("\n", 0.3)]
    for name in program.moves:
        move = " ".join(move_words(rng, windows, sources))
        pieces += [
            Segment(f"{name}:", CODE_WEIGHT),
            Segment(f" {move}", MOVE_WEIGHT),
            Segment("\n", 2.0),
        ]
    return Document(tuple(pieces), opened=True, closed=True)


def move_words(rng: Random, windows: Sequence[Window], sources: Sources) -> list[str]:
    """Two to five words about one text chosen at random, or (one time in six) about all."""
    if len(windows) > 1 and rng.random() < 1 / 6:
        return [word for shown in windows for word in own_words(rng, shown.text, sources, 2)]
    shown = rng.choice(windows)
    count = rng.randint(2, 5)
    if rng.random() < 0.85:
        return own_words(rng, shown.text, sources, count)
    return hint(rng, shown, sources, count)


def echo(rng: Random, sources: Sources) -> Document:
    """Rare words of several texts in random order, and the same again.

    Nothing but reading them off can tell what comes, so copying, which a judge needs to see that a
    move is about a text and a player needs to make one, is learned early and well.
    """
    pool = [w for _ in range(3) for w in own_words(rng, passage(rng, sources).text, sources, 6)]
    rng.shuffle(pool)
    said = " ".join(pool)
    start = rng.randrange(max(1, len(pool) // 2))
    again = " ".join(pool[start:])
    parts = (Segment(said, 0.1), Segment(rng.choice(ECHO_JOINS), 0.1), Segment(again))
    return Document(parts, opened=rng.random() < 0.5)


KINDS = (plain, verse, gloss, hint_then_story, presentation, echo)


def draw(rng: Random, sources: Sources, weights: Sequence[float]) -> Document:
    """A document of a random kind, with `weights` in the order of `KINDS`."""
    return rng.choices(KINDS, weights)[0](rng, sources)
