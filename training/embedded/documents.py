"""The training documents of the embedded model.

A document is a sequence of segments, tokenised apart and their tokens joined, as the judge joins a
prefix and a scored text. Kinds: plain text; hint words, then text (what the judge reads); a game as
a player sees it, then a move of hint words (what the player writes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from training.embedded.hints import hint, move, own_words
from training.embedded.programs import header
from training.embedded.windows import Segment, Sources, passage

JOINS = ("", "", "", "", "", "\n", " ", ". ", ": ")
ECHO_JOINS = ("\n", ". ", "\nx: ", "\nt: ", "; ")
CODE_WEIGHT, MOVE_WEIGHT = 0.3, 4.0


@dataclass(frozen=True)
class Document:
    """Segments, after BOS if `opened` and before EOS if `closed`.

    A judge of the `xent` dialect sees no BOS, one of the paper's dialect does: both must be known.
    """

    segments: tuple[Segment, ...]
    opened: bool
    closed: bool = False


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
    """One to six hint words before a text of theirs, one time in four with another text between.

    No teacher here: its distributions do not know of the hint, which tells what really follows.
    """
    part = passage(rng, sources, whole=0.2)
    hint_words = hint(rng, part, sources, rng.randint(1, 6))
    if rng.random() < 0.15:
        rng.shuffle(hint_words)
    before = [Segment(" ".join(hint_words) + rng.choice(JOINS), 0.3)]
    if rng.random() < 0.25:
        before.insert(rng.randrange(2), passage(rng, sources).taught_segment(""))
    return Document((*before, Segment(part.text)), opened=rng.random() < 0.5)


def presentation(rng: Random, sources: Sources) -> Document:
    """A program, its registers, and moves made of words about one (or all) of the texts."""
    count = rng.choice((1, 2, 2, 2, 3, 3))
    program = header(rng, count)
    windows = [passage(rng, sources) for _ in range(count)]
    pieces = [Segment(program.text, CODE_WEIGHT)]
    for name, part in zip(program.stories, windows, strict=True):
        pieces += [Segment(f"{name}:", CODE_WEIGHT), part.taught_segment(" "), Segment("\n", 0.3)]
    for name, kind in program.moves:
        pieces += [
            Segment(f"{name}:", CODE_WEIGHT),
            Segment(f" {move(rng, kind, windows, sources)}", MOVE_WEIGHT),
            Segment("\n", 2.0),
        ]
    return Document(tuple(pieces), opened=True, closed=True)


def echo(rng: Random, sources: Sources) -> Document:
    """Rare words of several texts in random order, and the same again.

    Nothing but reading them off can tell what comes, so copying, which a judge needs to see that a
    move is about a text and a player needs to make one, is learned early and well.
    """
    pool = [w for _ in range(3) for w in own_words(rng, passage(rng, sources).text, sources, 6)]
    rng.shuffle(pool)
    words = " ".join(pool)
    start = rng.randrange(max(1, len(pool) // 2))
    again = " ".join(pool[start:])
    parts = (Segment(words, 0.1), Segment(rng.choice(ECHO_JOINS), 0.1), Segment(again))
    return Document(parts, opened=rng.random() < 0.5)


KINDS = (plain, verse, gloss, hint_then_story, presentation, echo)


def draw(rng: Random, sources: Sources, weights: Sequence[float]) -> Document:
    """A document of a random kind, with `weights` in the order of `KINDS`."""
    return rng.choices(KINDS, weights)[0](rng, sources)
