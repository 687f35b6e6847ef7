"""A judge behind a server scores what the same model scores here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pytest
from support.completions_server import CompletionsServer

from xgl.errors import JudgeError, ModelNotFoundError, OversizeError
from xgl.judge.loading import check_judge, load_judge
from xgl.language.dialects import DIALECTS
from xgl.runtime.requests import ScoreRequest, TokenScores, TruthRequest

if TYPE_CHECKING:
    from xgl.judge.transformer_judge import TransformerJudge
    from xgl.lm.language_model import LanguageModel

TEXTS = ("A red hen ran.", "The king slept.", "A red hen ran.", "", "rain")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server(lm: LanguageModel) -> Iterator[CompletionsServer]:
    """Serves the embedded model."""
    import torch

    def logprobs(ids: Sequence[int]) -> list[float | None]:
        with torch.inference_mode():
            logits = lm.model(input_ids=torch.tensor([list(ids)])).logits[0].log_softmax(-1)
        return [None, *(float(logits[at, token]) for at, token in enumerate(ids[1:]))]

    with CompletionsServer(logprobs) as api:
        yield api


def requests() -> list[ScoreRequest]:
    return [
        ScoreRequest(text, context, dialect.scoring)
        for dialect in DIALECTS.values()
        for text in TEXTS
        for context in ((), ("Once upon a time.",))
    ]


def test_bits_and_truths_are_those_of_the_model_itself(
    server: CompletionsServer, judge: TransformerJudge
) -> None:
    remote = load_judge(f"vllm:embedded@{server.url}")
    for there, here in zip(remote.score(requests()), judge.score(requests()), strict=True):
        assert isinstance(there, TokenScores)
        assert isinstance(here, TokenScores)
        assert there.bits == pytest.approx(here.bits, abs=1e-3)
    statements = [TruthRequest("The sun is cold."), TruthRequest("A hen is a bird.")]
    assert remote.truths(statements) == judge.truths(statements)
    assert remote.truncate("one two three four", 2) == judge.truncate("one two three four", 2)
    assert remote.uniform_bits == pytest.approx(judge.uniform_bits)


def test_sequences_go_in_batches_each_once(server: CompletionsServer) -> None:
    remote = load_judge(f"vllm:embedded@{server.url}")
    many = [ScoreRequest(f"text number {n}", (), DIALECTS["paper"].scoring) for n in range(40)]
    first = remote.score(many + many)
    assert sorted(map(len, server.batches)) == [8, 16, 16]
    assert (
        [each.bits for each in remote.score(many)]
        == [  # type: ignore[union-attr]
            pytest.approx(each.bits, rel=1e-6)
            for each in first[:40]  # type: ignore[union-attr]
        ]
    )
    assert len(server.batches) == 3  # all cached
    remote.forget()
    remote.score(many[:1])
    assert len(server.batches) == 4


def test_what_exceeds_the_served_window_is_oversize(server: CompletionsServer) -> None:
    server.window = 8
    remote = load_judge(f"vllm:embedded@{server.url}")
    long = ScoreRequest("a b c d e f g h i j k l", (), DIALECTS["paper"].scoring)
    [answer] = remote.score([long])
    assert isinstance(answer, OversizeError)
    assert server.batches == []


def test_a_server_that_is_away_or_serves_another_model_is_one_sentence(
    server: CompletionsServer,
) -> None:
    with pytest.raises(
        ModelNotFoundError, match=r"no answer .* expected an OpenAI-compatible server"
    ):
        check_judge("vllm:embedded@http://127.0.0.1:9/v1")
    with pytest.raises(ModelNotFoundError, match="has no such model; it serves embedded"):
        check_judge(f"vllm:other@{server.url}")
    with pytest.raises(ModelNotFoundError, match=r"expected vllm:MODEL@http"):
        check_judge("vllm:embedded")
    check_judge(f"vllm:embedded@{server.url}")


def test_a_server_that_cuts_prompts_or_refuses_is_an_error_and_no_score(
    server: CompletionsServer,
) -> None:
    remote = load_judge(f"vllm:embedded@{server.url}")
    score_requests = [ScoreRequest("A red hen ran away.", (), DIALECTS["paper"].scoring)]
    whole, server.logprobs = server.logprobs, lambda ids: [None, -1.0]
    with pytest.raises(JudgeError, match="log-probabilities of 3 tokens of a prompt of"):
        remote.score(score_requests)
    server.logprobs, server.refuses = whole, "echo is not supported"
    with pytest.raises(JudgeError, match="echo is not supported"):
        remote.score(score_requests)
    server.refuses = ""
    assert isinstance(remote.score(score_requests)[0], TokenScores)
