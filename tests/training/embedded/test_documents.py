"""Training documents: what the judge and the player are taught to read."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from tokenizers import Tokenizer

from training.embedded.batches import IGNORED, batches, pad, row
from training.embedded.distil import SoftLabels
from training.embedded.documents import ECHO_JOINS, KINDS, Document, echo, presentation
from training.embedded.hints import move, new_words, own_words, quote, related_words, words_around
from training.embedded.programs import header
from training.embedded.tokenizer import BOS_ID, EOS_ID
from training.embedded.windows import Segment, Sources, Window, passage, window
from training.embedded.wordnet import WordNet, read_wordnet
from xgl.language.canonical import game
from xgl.language.parser import parse
from xgl.models.corpus import rarity, stories, words
from xgl.models.resolve import EMBEDDED
from xgl.runtime.predicates import decide
from xgl.runtime.presentation import render
from xgl.runtime.requests import Item, Predicate, View

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


def test_wordnet_reads_senses_glosses_and_relations(wordnet: WordNet) -> None:
    assert next(wordnet.glosses()) == (
        ("dog", "hound"),
        'a domestic animal; "the dog barked"',
    )
    assert wordnet.related_words("dogs") == ["hound", "animal"]
    assert wordnet.related_words("teapot") == []


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


def test_presentation_is_between_bos_and_eos(sources: Sources) -> None:
    ids = row(presentation(Random(0), sources), TOKENIZER, None).ids
    assert (ids[0], ids[-1], ids[-2]) == (BOS_ID, EOS_ID, TOKENIZER.token_to_id("Ċ"))
    assert not {BOS_ID, EOS_ID} & set(ids[1:-1])


def test_own_words_stand_in_the_text_in_its_order(sources: Sources) -> None:
    text = "A quiet tailor sold the brave lighthouse a golden needle."
    for seed in range(10):
        hint_words = own_words(Random(seed), text, sources, 3)
        places = [words(text).index(word) for word in hint_words]
        assert places == sorted(places)
        assert len(hint_words) == 3


def test_a_word_cut_off_at_the_end_is_no_hint(sources: Sources) -> None:
    assert own_words(Random(0), "A tailor sold needl", sources, 9) == ["tailor", "sold"]


def test_related_words_do_not_occur_in_the_text(sources: Sources) -> None:
    assert related_words(Random(0), "My dogs barked.", sources, 2)[0] in {"hound", "animal"}
    assert related_words(Random(0), "My dog, a hound, an animal.", sources, 2) == []


@pytest.mark.parametrize("seed", range(60))
def test_moves_obey_the_rule_that_forbids_the_stories_words(seed: int, sources: Sources) -> None:
    rng = Random(seed)
    windows = [passage(rng, sources) for _ in range(1 + seed % 3)]
    hint = new_words(rng, windows, sources)
    texts = " ".join(part.text for part in windows)
    assert decide(Predicate("no_common_words", (texts, " ".join(hint))), len)
    assert hint or not (sources.common - set(words(texts)))


def test_words_around_a_text_stand_beside_it_and_not_in_it(sources: Sources) -> None:
    part = Window("The tailor sold a needle.", around="A tailor and his brave needles sailed.")
    for seed in range(10):
        assert words_around(Random(seed), part, sources, 3) == ["brave", "sailed"]


def test_a_quote_cuts_its_text() -> None:
    for seed in range(30):
        text = "A quiet tailor sold the lighthouse."
        assert quote(Random(seed), text, range(2, 9)) in text


def test_programs_that_cut_a_story_are_answered_by_a_quote(sources: Sources) -> None:
    kinds = {}
    for seed in range(300):
        program = header(Random(seed), 1 + seed % 3)
        for _, kind in program.moves:
            assert (
                kinds.setdefault(("//" in program.text, "no common" in program.text), kind) == kind
            )
    assert kinds == {(False, False): "words", (False, True): "new", (True, False): "quote"}
    assert move(Random(0), "quote", [Window("Amen.")], sources) == "Amen."


def test_an_echo_repeats_the_end_of_what_was_said(sources: Sources) -> None:
    for seed in range(20):
        before, join, again = (segment.text for segment in echo(Random(seed), sources).segments)
        assert join in ECHO_JOINS
        assert before.endswith(again)
        assert 2 * len(again.split()) >= len(before.split())


def test_windows_are_parts_of_their_story(sources: Sources) -> None:
    for seed in range(50):
        part = window(Random(seed), seed, sources)
        assert sources.stories[seed].text[part.start :].startswith(part.text)


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


def test_labels_are_found_where_a_window_repeats_the_storys_tokens() -> None:
    import torch

    text = "A cat sat on it."
    encoding = TOKENIZER.encode(text, add_special_tokens=False)
    token_spans = zip(encoding.offsets, encoding.ids, strict=True)
    index = {(3, end): (place, token) for place, ((_, end), token) in enumerate(token_spans)}
    soft = SoftLabels(torch.zeros(9, 1), torch.zeros(9, 1), index)
    part = Document((Segment(" cat sat", 1.0, 3, 1),), opened=False)
    assert row(part, TOKENIZER, soft).labels == [
        place for place, (start, end) in enumerate(encoding.offsets) if start > 0 and end <= 9
    ]
    elsewhere = Document((Segment(" cat sat", 1.0, 2, 1),), opened=False)
    assert set(row(elsewhere, TOKENIZER, soft).labels) == {-1}


def test_batches_are_a_function_of_the_seed(sources: Sources) -> None:
    def first(seed: int) -> list[int]:
        mix = [1.0] * len(KINDS)
        stream = batches(Random(seed), sources, mix, TOKENIZER, None, tokens=512, longest=256)
        return next(stream).ids.flatten().tolist()

    assert first(1) == first(1) != first(2)
