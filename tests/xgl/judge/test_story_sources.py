"""Maps: the same seed tells the same text, and the two divisions share none."""

from __future__ import annotations

import pytest

from xgl.judge.story_sources import EVALUATION, TRAINING, CorpusStories, JudgeStories, division
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.models import corpus
from xgl.runtime.requests import StoryRequest

TEXTS = [
    f"Tale {index} begins here. The king of land {index} was old! Did queen {index} smile? Yes."
    for index in range(40)
]


def cut_words(text: str, limit: int) -> str:
    return " ".join(text.split(" ")[:limit])


def number_in(text: str) -> set[str]:
    return {word.strip(".!?") for word in text.split() if word.strip(".!?").isdigit()}


@pytest.fixture
def tales() -> CorpusStories:
    return CorpusStories(TEXTS, cut_words)


def test_the_same_question_has_the_same_answer(tales: CorpusStories) -> None:
    requests = [(seed, StoryRequest(site, 8)) for seed in range(10) for site in range(3)]
    first = tales.story_texts(requests)
    again = CorpusStories(TEXTS, cut_words).story_texts(requests[::-1])[::-1]
    assert first == again == tales.story_texts(requests)
    assert len(set(first)) > len(first) // 2


def test_training_and_evaluation_share_no_text(tales: CorpusStories) -> None:
    passages = tales.story_texts([(seed, StoryRequest(0, 9)) for seed in range(400)])
    numbers = [set().union(*map(number_in, passages[bit::2])) for bit in (TRAINING, EVALUATION)]
    assert numbers[0]
    assert numbers[1]
    assert not numbers[0] & numbers[1]
    assert (division(6), division(7)) == (TRAINING, EVALUATION)


def test_the_sites_of_a_map_tell_different_texts(tales: CorpusStories) -> None:
    for seed in range(60):
        passages = tales.story_texts([(seed, StoryRequest(site, 30)) for site in range(3)])
        numbers = [frozenset(number_in(text)) for text in passages]
        assert len(set(numbers)) == 3


def test_a_corpus_must_serve_both_divisions() -> None:
    with pytest.raises(ValueError, match="too few texts"):
        CorpusStories(["only one."], cut_words)


def test_real_stories_keep_to_their_length_and_begin_at_a_sentence(
    judge: TransformerJudge,
) -> None:
    texts = [story.text for story in corpus.stories("held_out")]
    passages = CorpusStories(texts, judge.truncate).story_texts(
        [(seed, StoryRequest(seed % 3, tokens)) for seed in range(40) for tokens in (4, 24)]
    )
    for index, text in enumerate(passages):
        assert 0 < judge.count(text) <= (4, 24)[index % 2]
        assert any(text in whole for whole in texts)
        assert text == text.strip()
    assert len(set(passages)) > 60


def test_the_judge_tells_the_same_story_for_the_same_map(
    lm: LanguageModel, judge: TransformerJudge
) -> None:
    requests = [(seed, StoryRequest(site, 12, "A cat")) for seed in (2, 3) for site in (0, 1)]
    source = JudgeStories(lm, judge.truncate)
    first = source.story_texts(requests)
    assert source.story_texts([requests[2], requests[0], requests[0]]) == [
        first[2],
        first[0],
        first[0],
    ]
    assert JudgeStories(lm, judge.truncate).story_texts(requests) == first
    assert len(set(first)) == 4
    for text in first:
        assert judge.count(text) <= 12
        assert "\n" not in text
