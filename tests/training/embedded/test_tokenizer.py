"""Pruning a byte-level BPE, and reading a teacher's tokens with it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from training.embedded import tokenizer
from training.embedded.distil import SoftLabels, join, projected_embeddings, read_labels, save
from training.embedded.merge_samples import merge
from training.embedded.sample_stories import Sampled as SampledRows
from training.embedded.sample_stories import (
    collect,
    fold_spaces,
    new_prompts,
    pick,
    slots,
    starts,
    story_rows,
)
from xgl.models.corpus import CorpusStory
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


def test_first_pieces_begin_each_reference_token(tmp_path: Path) -> None:
    _, small = smaller(tmp_path, 300)
    pieces = tokenizer.first_pieces(OWN_SPEC, small)
    for text in (" the", " queen", " lighthouse", "7"):
        token = OWN.encode(text, add_special_tokens=False).ids[0]
        assert pieces[token] == small.encode(OWN.decode([token])).ids[0]
    assert pieces[OWN.token_to_id(tokenizer.EOS)] == tokenizer.EOS_ID


def test_reference_ids_name_the_same_tokens(tmp_path: Path) -> None:
    _, small = smaller(tmp_path, 300)
    ids = tokenizer.reference_ids(OWN_SPEC, small, bos=0, eos=1)
    for own in range(2, small.get_vocab_size()):
        assert OWN.id_to_token(ids[own]) == small.id_to_token(own)


@given(st.text(alphabet="ab \n", max_size=40))
def test_folding_says_where_every_character_went(text: str) -> None:
    clean, where = fold_spaces(text)
    assert clean == " ".join(text.split())
    assert len(where) == len(text) + 1
    for position, character in enumerate(text):
        if not character.isspace():
            assert clean[where[position]] == character


def test_rows_are_only_where_the_teacher_spoke_of_the_same_place() -> None:
    ids = OWN.encode("A queen.\n\nThe sea", add_special_tokens=False).ids
    text, begins = starts(OWN, ids)
    clean, rows = story_rows(text, begins, OWN)
    assert clean == "A queen. The sea"
    steps_by_text = {clean[:end]: step for step, end, _ in rows}
    assert steps_by_text["A"] == 0
    # "The" stood after a blank line, " The" after a space
    assert "A queen. The" not in steps_by_text
    assert steps_by_text["A queen. The sea"] == len(ids) - 1


def test_collected_labels_belong_to_the_stories_tokens() -> None:
    text = "Once upon a time a queen saw the sea, and she was glad. Then she went home to sleep."
    ids = OWN.encode(text, add_special_tokens=False).ids
    steps = torch.arange(len(ids))[None, :, None]
    samples = SampledRows(torch.tensor([ids]), steps, torch.ones_like(steps, dtype=torch.float16))
    beginnings: set[str] = set()
    usable, labels = collect(["p"], samples, OWN, OWN, 5, beginnings)
    assert [story.text for story in usable] == [text]
    for step, (_, end) in enumerate(OWN.encode(text, add_special_tokens=False).offsets):
        assert int(labels.tokens[labels.row(5, end, ids[step])]) == step
    assert collect(["p"], samples, OWN, OWN, 6, beginnings)[0] == []


def test_joined_labels_keep_their_rows(tmp_path: Path) -> None:
    one = SoftLabels(torch.tensor([[1]]), torch.tensor([[0.5]]), {(0, 3): (0, 7)})
    two = SoftLabels(torch.tensor([[2]]), torch.tensor([[0.25]]), {(1, 4): (0, 8)})
    save(join([one, two]), tmp_path / "labels")
    both = read_labels(tmp_path / "labels")
    assert int(both.tokens[both.row(1, 4, 8)]) == 2
    assert both.row(1, 4, 9) == both.row(2, 4, 8) == -1


def test_merged_runs_keep_their_labels_and_drop_repeated_texts() -> None:
    def labels(token: int) -> SoftLabels:
        index = {(10, 4): (0, token), (11, 4): (1, token)}
        return SoftLabels(torch.tensor([[token], [token + 1]]), torch.ones(2, 1), index)

    one, two, three = (CorpusStory("p", f"{word} " * 30) for word in ("one", "two", "three"))
    texts, both = merge([([one, two], labels(50)), ([one, three], labels(60))], 10)
    assert texts == [one, two, three]
    assert [int(both.tokens[both.row(n, 4, t)]) for n, t in ((10, 50), (11, 50), (12, 60))] == [
        50,
        51,
        61,
    ]
    assert both.row(13, 4, 60) == -1


def test_prompts_recombine_the_corpus() -> None:
    prompts = new_prompts(Random(3), 20)
    assert prompts == new_prompts(Random(3), 20)
    words = slots(prompts)
    assert words["noun"]
    assert all("{" not in prompt for prompt in prompts)


def test_pick_keeps_to_the_likeliest_tokens() -> None:
    logits = torch.full((64, 300), -20.0)
    logits[:, 7], logits[:, 9] = 5.0, 4.9
    picks = pick(logits, torch.Generator().manual_seed(0))
    assert set(picks.tolist()) == {7, 9}


def test_projected_embeddings_keep_the_geometry() -> None:
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(40, 3, generator=generator) @ torch.randn(3, 16, generator=generator)
    narrow = projected_embeddings(wide, 3, 0.05)
    assert narrow.shape == (40, 3)
    assert torch.isclose(narrow.std(), torch.tensor(0.05))
    far, near = torch.pdist(wide), torch.pdist(narrow)
    assert torch.allclose(far / far.max(), near / near.max(), atol=1e-4)
