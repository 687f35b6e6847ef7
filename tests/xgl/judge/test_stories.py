"""Sources of stories by their names: files of texts in any language, and models. The same seed
tells the same text, and the two divisions share none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from xgl import Metadata, game, parse
from xgl.errors import ConfigError, StoryError
from xgl.judge.loading import JudgeStories, load_stories
from xgl.judge.stories import CorpusStories, check_prompts, check_source, read_texts
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
from xgl.runtime.requests import StoryRequest

TEXTS = [
    f"{start} {index}"
    for start in ("Ein alter König", "昔々ある所に", "Жил-был кот")
    for index in range(9)
]


@pytest.mark.parametrize("between", ["\n", "\n\n"])
def test_texts_of_any_language_are_read_from_a_file(tmp_path: Path, between: str) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(between.join(TEXTS), "utf-8")
    assert read_texts(str(path)) == TEXTS


BAD = {
    ("e.txt", b"one\n\xff\xfe\n"): "line 2: no UTF-8 text",
    ("g.txt", b"one\ntwo\n"): "found 2 different texts, too few texts",
}


@pytest.mark.parametrize(("file", "said"), BAD.items(), ids=lambda case: str(case)[:12])
def test_a_bad_file_is_told_by_its_line(tmp_path: Path, file: tuple[str, bytes], said: str) -> None:
    path = tmp_path / file[0]
    path.write_bytes(file[1])
    with pytest.raises(ConfigError) as caught:
        check_source(str(path), "judge.stories")
    message = str(caught.value)
    assert message.startswith(f"judge.stories: {path}: ")
    assert said in message
    assert "\n" not in message


def test_what_names_no_source_is_refused() -> None:
    for name in ("web", "", "vllm:m@http://127.0.0.1/v1", "chat:m", "adapter:runs/x:0"):
        with pytest.raises(ConfigError, match="expected corpus, a file of texts"):
            check_source(name, "judge.stories")
    with pytest.raises(ConfigError, match=r"none\.txt: cannot be read \(No such file"):
        check_source("none.txt", "judge.stories")


@given(st.integers(0, 2**40), st.integers(1, 30))
def test_maps_of_a_file_are_its_passages_and_divided_as_the_corpus(seed: int, tokens: int) -> None:
    source = CorpusStories(
        [f"{text}。また{text}。" for text in TEXTS], lambda text, limit: text[:limit]
    )
    [text] = source.story_texts([(seed, StoryRequest(0, tokens))])
    assert any(text in whole for whole in source.divisions[seed & 1])


@pytest.mark.parametrize("texts", range(4, 60, 4))
def test_the_sites_of_a_map_tell_different_texts(texts: int) -> None:
    source = CorpusStories([f"Text {number}" for number in range(texts)], lambda text, _: text)
    sites = range(len(source.divisions[1]))
    told = source.story_texts([(3, StoryRequest(site, 9)) for site in sites])
    assert len({*told}) == len(sites)
    with pytest.raises(StoryError, match="texts for a map, expected one for each story"):
        source.story_texts([(3, StoryRequest(len(sites), 9))])


PROMPTED = 'assign(s=story("a provable statement"))\nelicit(t, 5)\nreward(xed(s | t))'


def test_a_corpus_refuses_a_prompt_and_a_model_follows_it(judge: TransformerJudge) -> None:
    whole = game(parse(PROMPTED, "xent"), Metadata(prompts={"b": "a city"}))
    plain = game(parse(PROMPTED))
    for each, prompt in ((whole, "a city"), (plain, "a provable statement")):
        with pytest.raises(ConfigError, match=f"^mine: a corpus .* the prompt '{prompt}', expect"):
            check_prompts(each, "corpus", "mine", "judge.stories")
        check_prompts(each, "judge", "mine", "judge.stories")
    asked = [(3, StoryRequest(0, 12, "a provable statement"))]
    with pytest.raises(StoryError, match="a corpus cannot follow the prompt"):
        load_stories("corpus", judge).story_texts(asked)
    own, other = (load_stories(name, judge) for name in ("judge", Path("embedded")))
    assert isinstance(other, JudgeStories)
    assert other.lm is not judge.lm
    assert own.story_texts(asked) == other.story_texts(asked)  # the same model, loaded again
    assert own.story_texts(asked) != own.story_texts([(3, StoryRequest(0, 12, "a cat"))])
    ignored = game(parse(PROMPTED, "xent"))  # that engine ignores the prompt
    check_prompts(ignored, "corpus", "mine", "judge.stories")


TALES = [
    f"Tale {index} begins here. The king of land {index} was old! Did queen {index} smile? Yes."
    for index in range(40)
]


def cut_words(text: str, limit: int) -> str:
    return " ".join(text.split()[:limit])


def number_in(text: str) -> set[str]:
    return {word.strip(".!?") for word in text.split() if word.strip(".!?").isdigit()}


@pytest.fixture
def tales() -> CorpusStories:
    return CorpusStories(TALES, cut_words)


def test_the_same_question_has_the_same_answer(tales: CorpusStories) -> None:
    requests = [(seed, StoryRequest(site, 8)) for seed in range(10) for site in range(3)]
    first = tales.story_texts(requests)
    again = CorpusStories(TALES, cut_words).story_texts(requests[::-1])[::-1]
    assert first == again == tales.story_texts(requests)
    assert len(set(first)) > len(first) // 2


def test_training_and_evaluation_share_no_text(tales: CorpusStories) -> None:
    passages = tales.story_texts([(seed, StoryRequest(0, 9)) for seed in range(400)])
    numbers = [set().union(*map(number_in, passages[bit::2])) for bit in (0, 1)]
    assert numbers[0]
    assert numbers[1]
    assert not numbers[0] & numbers[1]


def test_the_judge_tells_the_same_story_for_the_same_map(
    lm: LanguageModel, judge: TransformerJudge
) -> None:
    requests = [(seed, StoryRequest(site, 12, "A cat")) for seed in (2, 3) for site in (0, 1)]
    source = JudgeStories(lm, judge.truncate)
    first = source.story_texts(requests)
    again = source.story_texts([requests[place] for place in (2, 0, 0)])
    assert again == [first[place] for place in (2, 0, 0)]
    assert JudgeStories(lm, judge.truncate).story_texts(requests) == first
    longer = JudgeStories(lm, lambda text, _: text, ratio=2).story_texts(requests)
    assert max(map(judge.count, longer)) > 18, "of as many tokens as fill a judge's limit"
    assert len(set(first)) == 4
    for text in first:
        assert judge.count(text) <= 12
        assert "\n" not in text


def test_without_a_prompt_a_model_tells_stories_and_no_programs(
    lm: LanguageModel, judge: TransformerJudge
) -> None:
    requests = [(seed, StoryRequest(0, 12)) for seed in range(48)]
    texts = JudgeStories(lm, judge.truncate).story_texts(requests)
    assert all(text and "assign(" not in text for text in texts)
    assert len(set(texts)) > 40


def test_a_story_ends_with_the_window_of_its_writer(
    lm: LanguageModel, judge: TransformerJudge
) -> None:
    """Beyond it the writer would have no positions."""
    size = len(lm.encode(" cat" * 10)) // 10
    most = (lm.window - 4) // size
    long, short = (StoryRequest(0, 40, " cat" * count) for count in (most, 1))
    alone = JudgeStories(lm, judge.truncate).story_texts([(2, long)])
    assert judge.count(alone[0]) < 4 + size
    beside = JudgeStories(lm, judge.truncate).story_texts([(2, long), (2, short)])
    assert beside[0] == alone[0]
    assert judge.count(beside[1]) > 4 + size
    with pytest.raises(StoryError, match=r"a prompt of [\d,]+ tokens, expected less than"):
        JudgeStories(lm, judge.truncate).story_texts([(2, StoryRequest(0, 1, " cat" * 2 * most))])
