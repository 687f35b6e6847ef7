"""Maps: the same seed tells the same text, and the two divisions share none."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from support.chat_server import ChatServer, Received, Sent, refusal, reply
from support.chat_turns import KEY, KEY_VARIABLE, QUICK

from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError
from xgl.judge.story_sources import ChatStories, CorpusStories, JudgeStories
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import LanguageModel
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


# -- a chat model writes the texts of maps: one text a map for everybody ---------------------------


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def source(server: ChatServer, folder: Path) -> ChatStories:
    settings = ChatSettings("m", server.url, key_variable=KEY_VARIABLE, **QUICK)
    return ChatStories(settings, lambda text, limit: " ".join(text.split()[:limit]), folder)


def test_a_map_has_the_text_that_came_first_in_every_process(tmp_path: Path) -> None:
    numbers = count()

    def script(request: Received) -> Sent:
        return reply(f"\n Statement {next(numbers)}\nis true of all. ")

    asked = [(5, StoryRequest(site, 4, "a provable statement")) for site in (0, 1, 0)]
    with ChatServer(script) as server:
        first = source(server, tmp_path).story_texts(asked)
        assert source(server, tmp_path).story_texts(asked) == first  # as another worker has them
        assert len(server.received) == 2
        assert all(each.last == "a provable statement" for each in server.received)
        assert server.received[0].headers["authorization"] == f"Bearer {KEY}"
        other = source(server, tmp_path).story_texts([(7, asked[0][1]), (5, StoryRequest(0, 4))])
    assert first[0] == first[2] != first[1]
    assert all(text.startswith("Statement ") and text.endswith(" is true") for text in first)
    assert len({*first, *other}) == 4


def test_games_of_different_lengths_share_the_text_of_a_map_and_no_thoughts(tmp_path: Path) -> None:
    numbers = count()
    words = "<think>Hm, a story.</think> one two three four five"
    with ChatServer(lambda _: reply(f"{words} {next(numbers)}")) as server:
        stories = source(server, tmp_path)
        short, long = (stories.story_texts([(5, StoryRequest(0, n))])[0] for n in (2, 5))
        few = stories.story_texts([(9, StoryRequest(0, 6, count=2))])
        assert few == stories.story_texts([(1, StoryRequest(0, 6))]), "the map that it stands for"
        together = stories.story_texts([(7, StoryRequest(0, n)) for n in (2, 5)])
    assert (short, long) == ("one two", "one two three four five")
    assert together == [short, long]
    assert len(server.received) == 3, "once for a map, in one batch too"


def test_texts_that_came_are_kept_when_a_later_one_fails(tmp_path: Path) -> None:
    def script(request: Received) -> Sent:
        return reply("a text") if request.last == "good" else refusal(401)

    asked = [(5, StoryRequest(0, 4, "good")), (5, StoryRequest(1, 4, "bad"))]
    with ChatServer(script) as server:
        with pytest.raises(PlayerError, match="401"):
            source(server, tmp_path).story_texts(asked)
        received = len(server.received)
        assert source(server, tmp_path).story_texts(asked[:1]) == ["a text"]
        assert len(server.received) == received
