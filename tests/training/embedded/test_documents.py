"""Training documents: what the judge and the player are taught to read."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tokenizers import Tokenizer

from training.embedded.batches import IGNORED, batches, pad, row
from training.embedded.documents import KINDS, Document, presentation
from training.embedded.programs import header
from training.embedded.windows import Segment, Sources
from training.embedded.wordnet import WordNet, read_wordnet
from xgl.language.canonical import game
from xgl.language.parser import parse
from xgl.models.corpus import rarity, stories
from xgl.models.resolve import EMBEDDED
from xgl.runtime.presentation import render
from xgl.runtime.requests import Item, View

TOKENIZER = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))

NOUNS = """\
  1 This line is of the licence, as in the real files.
00000100 05 n 02 dog 0 hound 0 001 @ 00000200 n 0000 | a domestic animal; "the dog barked"
00000200 05 n 01 animal 0 001 ~ 00000100 n 0000 | a living organism
"""
INDEX = "dog n 1 1 @ 1 1 00000100\nhound n 1 0 1 0 00000100\nanimal n 1 1 ~ 1 1 00000200\n"


@pytest.fixture(scope="module")
def wordnet(tmp_path_factory: pytest.TempPathFactory) -> WordNet:
    folder: Path = tmp_path_factory.mktemp("wordnet")
    for part in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{part}").write_text(NOUNS if part == "noun" else "")
        (folder / f"index.{part}").write_text(INDEX if part == "noun" else "")
    return read_wordnet(folder)


@pytest.fixture(scope="module")
def sources(wordnet: WordNet) -> Sources:
    texts = stories("train")[:50]
    return Sources(
        stories=texts,
        verses=["In the beginning.", "And it was so.", "Selah.", "Amen.", "And he died."],
        entries=list(wordnet.glosses()),
        wordnet=wordnet,
        rarity=rarity([story.text for story in texts]),
        common=frozenset({"hound", "animal", "dog"}),
        encode=lambda text: TOKENIZER.encode(text, add_special_tokens=False).ids,
        decode=lambda ids: TOKENIZER.decode(ids, skip_special_tokens=False),
    )


@pytest.mark.parametrize("seed", range(60))
def test_headers_are_valid_canonical_programs(seed: int) -> None:
    program = header(Random(seed), 1 + seed % 3)
    assert game(parse(program.text)).code == program.text.strip()
    assert len(program.stories) == 1 + seed % 3


@pytest.mark.parametrize("seed", range(20))
def test_presentations_are_what_a_player_is_shown(seed: int, sources: Sources) -> None:
    text = "".join(segment.text for segment in presentation(Random(seed), sources).segments)
    *lines, last = text.removesuffix("\n").split("\n")
    register, _, move = last.partition(": ")
    code = [line for line in lines if ": " not in line]
    items = tuple(Item(*line.split(": ", 1)) for line in lines[len(code) :])
    expected = render(View("black", "\n".join(code), items, register))
    assert f"{expected} {move}\n" == text
    assert move == " ".join(move.split())


def test_padding_is_ignored_and_targets_are_shifted() -> None:
    documents = [
        Document((Segment("A cat", 0.5),), opened=True, closed=True),
        Document((Segment("A"), Segment("cat", 2.0)), opened=False),
    ]
    batch = pad([row(document, TOKENIZER, None) for document in documents])
    first = row(documents[0], TOKENIZER, None).ids
    assert batch.ids[0].tolist() == first[:-1]
    assert batch.targets[0].tolist() == first[1:]
    assert batch.weights[0].tolist() == [0.5] * (len(first) - 2) + [1.0]
    short = len(row(documents[1], TOKENIZER, None).ids) - 1
    assert (batch.targets[1, short:] == IGNORED).all()
    assert (batch.weights[1, short:] == 0).all()


def test_batches_are_a_function_of_the_seed(sources: Sources) -> None:
    def first(seed: int) -> list[int]:
        mix = [1.0] * len(KINDS)
        stream = batches(Random(seed), sources, mix, TOKENIZER, None, tokens=512, longest=256)
        return next(stream).ids.flatten().tolist()

    assert first(1) == first(1) != first(2)
