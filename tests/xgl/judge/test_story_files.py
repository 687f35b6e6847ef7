"""Sources of stories by their names: files of texts in any language, and what a bad one is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xgl import Metadata, game, parse
from xgl.errors import ConfigError, StoryError
from xgl.judge.loading import load_stories
from xgl.judge.story_files import check_prompts, check_source, prompted_places, read_texts
from xgl.judge.story_sources import CorpusStories, JudgeStories
from xgl.runtime.requests import StoryRequest

if TYPE_CHECKING:
    from xgl.judge.transformer_judge import TransformerJudge

TEXTS = [
    f"{start} {index}"
    for start in ("Ein alter König", "昔々ある所に", "Жил-был кот")
    for index in range(9)
]


def written(path: Path, texts: list[str]) -> Path:
    """The texts in a file of the kind that its name says."""
    if path.suffix == ".jsonl":
        rows = [text if index % 2 else {"text": text} for index, text in enumerate(texts)]
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    else:
        path.write_text("\n".join(texts), "utf-8")
    return path


@pytest.mark.parametrize("name", ["mine.txt", "mine.jsonl"])
def test_texts_of_any_language_are_read_from_each_kind_of_file(tmp_path: Path, name: str) -> None:
    assert read_texts(str(written(tmp_path / name, TEXTS))) == TEXTS


def test_texts_of_several_lines_stand_between_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(
        "\ufeff".encode() + "\r\n\r\n\r\n".join(f"{t}\r\nund so" for t in TEXTS).encode()
    )
    assert read_texts(str(path)) == [f"{text} und so" for text in TEXTS]


BAD = {
    ("a.jsonl", b'"one"\n{"text": 5}\n'): "line 2: found 5, expected a text",
    ("c.jsonl", b'"one"\nnothing\n'): "line 2: no JSON",
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
    for name in ("web", "", "vllm:m@http://127.0.0.1/v1", "adapter:runs/x:0"):
        with pytest.raises(ConfigError, match="expected corpus, a file of texts"):
            check_source(name, "judge.stories")
    with pytest.raises(ConfigError, match=r"none\.txt: cannot be read \(No such file"):
        check_source("none.txt", "judge.stories")


@given(st.integers(0, 2**40), st.integers(1, 30))
def test_maps_of_a_file_are_its_passages_and_divided_like_the_corpus(
    seed: int, tokens: int
) -> None:
    source = CorpusStories(
        [f"{text}。また{text}。" for text in TEXTS], lambda text, limit: text[:limit]
    )
    [text] = source.story_texts([(seed, StoryRequest(0, tokens))])
    assert any(text in whole for whole in source.divisions[seed & 1])


PROMPTED = 'assign(s=story("a provable statement"))\nelicit(t, 5)\nreward(xed(s | t))'


def test_a_corpus_refuses_a_prompt_and_a_model_follows_it(judge: TransformerJudge) -> None:
    whole = game(parse(PROMPTED), Metadata(prompts={"b": "a city"}))
    assert prompted_places(whole) == [
        "prompts.b = 'a city'",
        "line 1: story('a provable statement')",
    ]
    plain = game(parse(PROMPTED))
    with pytest.raises(ConfigError, match=r"^mine: line 1: story\('a provable statement'\) asks"):
        check_prompts(plain, "corpus", "mine", "judge.stories")
    check_prompts(whole, "judge", "mine", "judge.stories")
    asked = [(3, StoryRequest(0, 12, "a provable statement"))]
    with pytest.raises(StoryError, match="a corpus cannot follow the prompt"):
        load_stories("corpus", judge).story_texts(asked)
    own, other = (load_stories(name, judge) for name in ("judge", "embedded"))
    assert isinstance(other, JudgeStories)
    assert other.lm is not judge.lm
    assert own.story_texts(asked) == other.story_texts(asked)  # the same model, loaded again
    assert own.story_texts(asked) != own.story_texts([(3, StoryRequest(0, 12, "a cat"))])
    assert not prompted_places(game(parse(PROMPTED, "xent")))  # that engine ignores the prompt
