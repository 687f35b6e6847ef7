"""The local policy: a batch in, a batch out; moves, their counts and their limits."""

from __future__ import annotations

import pytest
import torch
from support.chat_turns import moves_of, texts
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from xgl.errors import OversizeError
from xgl.lm.language_model import LanguageModel
from xgl.players.local import MAX_TOKEN_RATIO, LocalPolicy
from xgl.runtime.presentation import render
from xgl.runtime.requests import Item, Move, MoveRequest, Seeds, Turn, View


def turn(map_seed: int, play_seed: int = 0, text: str = "A cat.", max_len: int = 6) -> Turn:
    view = View("black", "assign(s=story())\nelicit(t, 6)", (Item("s", text),), "t")
    return Turn(MoveRequest(view, max_len, 0), Seeds(map_seed, play_seed))


TURNS = [turn(1), turn(1, 1), turn(3, text="The king was old.", max_len=2), turn(5)]


def test_the_same_seeds_make_the_same_move_whatever_else_is_in_the_batch(lm: LanguageModel) -> None:
    player = LocalPolicy(lm, batch_rows=3)
    together = texts(player.moves(TURNS))
    assert len(together) == len(TURNS)
    assert [texts(player.moves([each])) for each in TURNS] == [[text] for text in together]
    assert texts(player.moves(TURNS[::-1])) == together[::-1]
    assert player.moves([]) == []


def test_a_move_is_one_line_of_at_most_its_limit_with_its_counts(lm: LanguageModel) -> None:
    turns = [turn(seed, max_len=limit) for seed in range(3) for limit in (1, 9)]
    for each, move in zip(turns, moves_of(LocalPolicy(lm).moves(turns)), strict=True):
        assert "\n" not in move.text
        assert move.text == move.text.strip()
        assert 1 <= len(move.token_ids) <= each.request.max_len
        assert lm.decode(move.token_ids).split("\n")[0].strip() == move.text
        assert move.prompt_ids == (lm.bos, *lm.encode(render(each.request.view)))
        assert move.prompt_tokens == len(move.prompt_ids)
        assert move.new_tokens == len(move.token_ids) == len(move.logprobs)
        assert all(value <= 0 for value in move.logprobs)


def test_a_move_for_a_text_has_the_tokens_that_follow_a_view(lm: LanguageModel) -> None:
    """Also of a tokenizer that begins every text with a space of its own, as Llama 2's."""
    spaced = Tokenizer(models.BPE({c: i for i, c in enumerate("▁: act\nxs")}, []))
    steps = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    spaced.normalizer = normalizers.Sequence(steps)
    fast = PreTrainedTokenizerFast(tokenizer_object=spaced, bos_token="x", eos_token="s")
    for each in (lm, LanguageModel(lm.model, fast, lm.device)):
        move = LocalPolicy(each).move_for_text(turn(1, max_len=9), "a cat")
        assert isinstance(move, Move)
        assert move.token_ids == each.encode("t: a cat\n")[-len(move.token_ids) :]
        assert len(move.token_ids) == len(each.encode("t: a cat\n")) - len(each.encode("t:"))


def test_a_view_too_long_for_the_window_is_a_value_beside_the_others(lm: LanguageModel) -> None:
    long = turn(1, text="so " * lm.window)
    policy = LocalPolicy(lm)
    first, big, last = policy.moves([turn(1), long, turn(3)])
    assert isinstance(big, OversizeError)
    assert texts([first, last]) == texts(policy.moves([turn(1), turn(3)]))
    prompt = 1 + len(lm.encode(render(turn(1).request.view)))
    room = lm.window - prompt  # the move's own counts too
    turns = [turn(1, max_len=limit) for limit in (room, room + 1)]
    moves = [policy.move_for_text(each, "so") for each in turns]
    assert [isinstance(move, Move) for move in moves] == [True, False]


def letters(text: str) -> int:
    """A judge whose tokens are characters, two of them."""
    return -(-len(text) // 2)


@pytest.mark.parametrize("limit", [1, 9])
def test_a_move_ends_with_the_judges_limit_where_tokenizers_differ(
    lm: LanguageModel, limit: int
) -> None:
    """Sampling ends with the word after those that are too many, and not before."""
    moves = moves_of(
        LocalPolicy(lm, count=letters).moves([turn(1, p, max_len=limit) for p in range(8)])
    )
    overruns = 0
    for move in moves:
        ids = move.token_ids
        starts = [i for i, token in enumerate(ids) if lm.decode([token])[:1].isspace()]
        counts = [letters(lm.decode(ids[:start]).lstrip()) for start in starts]
        assert all(count <= limit for count in counts[:-1])
        overruns += counts[-1] > limit
    assert overruns >= 4


class Fewer(LanguageModel):
    """Says only what its tokenizer knows."""

    def logits(self, hidden: Tensor) -> Tensor:
        values = super().logits(hidden)
        values[..., len(self.tokenizer) :] = -torch.inf
        return values


def spaces_before_words() -> PreTrainedTokenizerFast:
    """A tokenizer that writes a space as a part of a word, and drops the first: ``▁the``."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    names = ["<unk>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(vocab_size=80, special_tokens=names, show_progress=False)
    tokenizer.train_from_iterator([render(each.request.view) for each in TURNS] * 9, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def test_words_are_separated_though_a_token_alone_loses_its_space(lm: LanguageModel) -> None:
    other = spaces_before_words()
    assert other.decode(other.encode("a cat", add_special_tokens=False)[1:])[0] != " "
    fewer = Fewer(lm.model, other, lm.device)
    turns = [turn(1, p, max_len=6) for p in range(40)]
    moves = moves_of(LocalPolicy(fewer, count=letters).moves(turns))
    full = [m for m in moves if not _has_ended(other, m) and len(m.token_ids) < 6 * MAX_TOKEN_RATIO]
    assert full
    assert all(letters(move.text) > 6 for move in full)


def _has_ended(tokenizer: PreTrainedTokenizerFast, move: Move) -> bool:
    last = move.token_ids[-1]
    return last == tokenizer.eos_token_id or "\n" in tokenizer.decode([last])
