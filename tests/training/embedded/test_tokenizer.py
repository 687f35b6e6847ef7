"""Pruning a byte-level BPE, and reading a teacher's tokens with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from training.embedded import tokenizer
from training.embedded.sample_stories import (
    fold_spaces,
)
from xgl.models.resolve import EMBEDDED

OWN_SPEC = tokenizer.read_spec(EMBEDDED / "tokenizer.json")
OWN = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))


def smaller(tmp_path: Path, size: int) -> tuple[dict[str, Any], Tokenizer]:
    """Our own tokenizer, pruned once more."""
    counts = tokenizer.usage(OWN, [("the queen and the balloon and the sea", 1.0)])
    pairs = tokenizer.parents(tokenizer.merges_of(OWN_SPEC))
    spec = tokenizer.pruned_spec(OWN_SPEC, tokenizer.keep(counts, pairs, size))
    tokenizer.save(spec, tmp_path)
    return spec, Tokenizer.from_file(str(tmp_path / "tokenizer.json"))


def test_kept_tokens_are_closed_under_what_they_are_merged_from() -> None:
    pairs = {"abc": ("ab", "c"), "ab": ("a", "b"), "zz": ("z", "z")}
    base = len(tokenizer.byte_symbols()) + len(tokenizer.SPECIALS)
    vocabulary = tokenizer.keep(Counter({"abc": 9, "zz": 1}), pairs, base + 2)
    assert {"abc", "ab"} <= vocabulary
    assert "zz" not in vocabulary


def test_pruned_tokenizer_reads_every_text(tmp_path: Path) -> None:
    _, small = smaller(tmp_path, 300)
    for text in ("the queen", "naïve ☃ text\n", "0123", "\t \x00"):
        ids = small.encode(text, add_special_tokens=False).ids
        assert small.decode(ids, skip_special_tokens=False) == text


@given(st.text(alphabet="ab \n", max_size=40))
def test_folding_says_where_every_character_went(text: str) -> None:
    clean, where = fold_spaces(text)
    assert clean == " ".join(text.split())
    assert len(where) == len(text) + 1
    for position, character in enumerate(text):
        if not character.isspace():
            assert clean[where[position]] == character
