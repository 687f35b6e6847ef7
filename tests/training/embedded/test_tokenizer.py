"""Pruning a byte-level BPE, and reading a teacher's tokens with it."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, strategies as st
from tokenizers import Tokenizer

from training.embedded import tokenizer
from training.embedded.sample_stories import fold_spaces
from xgl.models.resolve import EMBEDDED

OWN_SPEC = tokenizer.read_spec(EMBEDDED / "tokenizer.json")
OWN = Tokenizer.from_file(str(EMBEDDED / "tokenizer.json"))


def test_pruned_tokenizer_reads_every_text(tmp_path: Path) -> None:
    """Our own, pruned once more; what is kept is closed under what it is merged from, or the file
    could not be read."""
    counts = tokenizer.usage(OWN, [("the queen and the balloon and the sea", 1.0)])
    pairs = tokenizer.parents(tokenizer.merges_of(OWN_SPEC))
    tokenizer.save(tokenizer.pruned_spec(OWN_SPEC, tokenizer.keep(counts, pairs, 300)), tmp_path)
    small = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
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
