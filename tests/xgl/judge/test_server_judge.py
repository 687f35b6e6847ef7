"""A judge behind a server scores what the same model scores here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from support.chat_server import ChatServer, Received, Sent

import xgl
from xgl.errors import JudgeError, ModelNotFoundError, PlayerError, StoryError
from xgl.judge.loading import check_judge, load_judge
from xgl.language.dialects import DIALECTS
from xgl.players.local import LocalPolicy
from xgl.runtime import requests as ask

if TYPE_CHECKING:
    from xgl.judge.transformer_judge import TransformerJudge
    from xgl.lm.language_model import LanguageModel

HTML = Sent(body=b"<html>\n<b>Welcome</b></html>", headers={"Content-Type": "text/html"})
TEXTS = ("A red hen ran.", "The king slept.", "A red hen ran.", "", "rain")


class CompletionsServer(ChatServer):
    """Tells the log-probabilities of prompts, as vLLM does; keeps the batches it was sent."""

    def __init__(self, logprobs: Callable[[Sequence[int]], list[float | None]]) -> None:
        super().__init__(self._complete)
        self.logprobs = logprobs
        self.batches: list[list[list[int]]] = []
        card = {"id": "embedded", "object": "model", "created": 1, "owned_by": "test"}
        listed = {"object": "list", "data": [card | {"max_model_len": 512}]}
        self.models = Sent(body=json.dumps(listed).encode())

    def _complete(self, request: Received) -> Sent:
        assert request.body["echo"]
        self.batches.append(request.body["prompt"])
        choices = [
            {"text": "", "finish_reason": "length"} | _choice([*self.logprobs(ids), -1.0], index)
            for index, ids in enumerate(request.body["prompt"])
        ]
        return _choices(*choices[::-1])  # a server may answer in any order


def _choices(*choices: Any) -> Sent:
    return Sent(body=json.dumps({"choices": choices}).encode())


def _choice(logprobs: Any, index: Any = 0) -> dict[str, Any]:
    return {"index": index, "logprobs": {"token_logprobs": logprobs}}


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


def requests() -> list[ask.ScoreRequest]:
    return [
        ask.ScoreRequest(text, context, dialect.scoring)
        for dialect in DIALECTS.values()
        for text in TEXTS
        for context in ((), ("Once upon a time.",))
    ]


def test_bits_and_truths_are_those_of_the_model_itself(
    server: CompletionsServer, judge: TransformerJudge
) -> None:
    remote = load_judge(f"vllm:embedded@{server.url}")
    for there, here in zip(remote.score(requests()), judge.score(requests()), strict=True):
        assert isinstance(there, ask.TokenScores)
        assert isinstance(here, ask.TokenScores)
        assert there.bits == pytest.approx(here.bits, abs=1e-3)
    statements = [ask.TruthRequest("The sun is cold."), ask.TruthRequest("A hen is a bird.")]
    assert remote.truths(statements) == judge.truths(statements)
    assert remote.truncate("one two three four", 2) == judge.truncate("one two three four", 2)
    assert remote.uniform_bits == pytest.approx(judge.uniform_bits)


def test_sequences_go_in_batches_each_once(server: CompletionsServer) -> None:
    remote = load_judge(f"vllm:embedded@{server.url}")
    many = [ask.ScoreRequest(f"text number {n}", (), DIALECTS["paper"].scoring) for n in range(40)]
    first = remote.score(many + many)
    assert sorted(map(len, server.batches)) == [8, 16, 16]
    again = [each.bits for each in remote.score(many)]
    assert again == [pytest.approx(each.bits, rel=1e-6) for each in first[:40]]
    assert len(server.batches) == 3  # all cached
    remote.forget()
    remote.score(many[:1])
    assert len(server.batches) == 4


def test_a_server_that_is_away_is_one_sentence(
    server: CompletionsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xgl.chat.client.FIRST_BACKOFF", 0.01)
    with pytest.raises(ModelNotFoundError, match=r"no answer .* expected an OpenAI-compatible"):
        check_judge("vllm:embedded@http://127.0.0.1:9/v1")
    with pytest.raises(ModelNotFoundError, match=r"expected vllm:MODEL@http"):
        check_judge("vllm:embedded")
    lists = iter([Sent(503), Sent(503), server.models])
    monkeypatch.setattr(CompletionsServer, "models", property(lambda _: next(lists)), raising=False)
    check_judge(f"vllm:embedded@{server.url}")


def test_a_model_on_a_server_makes_no_moves_and_tells_no_stories(server: CompletionsServer) -> None:
    remote = load_judge(f"vllm:embedded@{server.url}")
    with pytest.raises(StoryError, match="there is no source: pass stories="):
        xgl.play("single_text", "a move", remote)
    request = ask.MoveRequest(ask.View("black", "elicit(s)", (), "s"), 8, 0)
    with pytest.raises(PlayerError, match="a judge behind a server makes no moves"):
        LocalPolicy(remote.lm).moves([ask.Turn(request, ask.Seeds(1, 0))])


NO_SCORES = {
    "HTML": (HTML, "found 0 answers to 1 prompts (<html> <b>Welcome</b></html>)"),
    "NaN": (_choices(_choice([float("nan")] * 99)), "expected all, as numbers"),
    "a cut prompt": (_choices(_choice([None, -1.0])), "and cuts none"),
    "a key": (Sent(body=b'{"error": "hen-7"}'), '0 answers to 1 prompts ({"error": "[key]"})'),
    "a refusal": (Sent(400, b'{"detail": "no echo"}'), "refused with 400 (no echo)"),
}


@pytest.mark.parametrize(("answer", "reason"), NO_SCORES.values(), ids=NO_SCORES.keys())
def test_an_answer_without_scores_is_one_sentence(
    answer: Sent, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEN_KEY", "hen-7")
    with ChatServer(lambda request: answer) as server:
        server.models = Sent(body=b'{"data": [{"id": "embedded", "max_model_len": 512}]}')
        judge = load_judge(f"vllm:embedded@{server.url}", key_variable="HEN_KEY")
        with pytest.raises(JudgeError, match=re.escape(reason)) as e:
            judge.score([ask.ScoreRequest("A red hen ran.", (), DIALECTS["paper"].scoring)])
    assert str(e.value).startswith(f"judge at {server.url}, model 'embedded': ")
    assert "\n" not in str(e.value)
