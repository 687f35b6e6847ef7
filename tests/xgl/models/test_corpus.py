"""The corpus and its words."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from training.embedded.sources import SAMPLED
from xgl.models.corpus import (
    content_words,
    fold,
    rarity,
    read,
    sentence_starts,
    split_of,
    stem,
    stories,
    words,
)


def test_splits_are_disjoint_and_about_four_to_one() -> None:
    train = {story.text for story in stories("train")}
    held_out = {story.text for story in stories("held_out")}
    assert not train & held_out
    assert 0.17 < len(held_out) / (len(train) + len(held_out)) < 0.23
    assert all(split_of(text) == "held_out" for text in held_out)


def test_sampled_stories_are_not_the_held_out_ones() -> None:
    samples = read(SAMPLED.read_bytes())
    assert len(samples) > 6000
    held_out = {story.text[:80] for story in stories("held_out")}
    assert not held_out & {story.text[:80] for story in samples}


def test_split_is_a_fixed_function_of_the_text() -> None:
    assert [split_of(text) for text in ("a", "b", "c")] == ["held_out", "train", "held_out"]
    assert (len(stories("train")), len(stories("held_out"))) == (3232, 853)


def test_corpus_needs_no_torch() -> None:
    code = (
        "import sys; from xgl.models import corpus; corpus.stories('train'); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_content_words_keep_the_order_and_drop_function_words() -> None:
    assert content_words("The old Tailor, the TAILOR and his needle.") == ["tailor", "needle"]


def test_stem_joins_forms_of_a_word() -> None:
    assert stem("walking") == stem("walked") == stem("walks") == "walk"
    assert stem("story") == stem("stories")
    assert stem("king") == "king"


def test_rarity_is_in_bits() -> None:
    bits = rarity(["a fox", "a hen", "a fox", "a cow"])
    assert (bits["a"], bits["fox"], bits["hen"]) == (0.0, 1.0, 2.0)


@given(st.text())
def test_sentences_start_inside_the_text(text: str) -> None:
    starts = sentence_starts(text)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert all(start <= len(text) for start in starts)


@given(st.text())
def test_fold_is_idempotent_and_keeps_the_words(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert words(fold(text)) == words(text)
