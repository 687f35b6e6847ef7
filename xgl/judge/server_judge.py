"""A judge behind a server: bits from the prompt log-probabilities of an OpenAI-compatible
completions endpoint such as vLLM's. The tokenizer is local, the weights are on the server."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any

import torch

from xgl.chat import client
from xgl.chat.client import MOST_BYTES, ChatClient, Fault, RequestBatch, lookup, read_json
from xgl.chat.settings import ChatSettings
from xgl.errors import ConfigError, JudgeError, ModelNotFoundError, PlayerError
from xgl.judge.engine import Engine
from xgl.judge.forward import Bits
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import UNBOUNDED, LanguageModel
from xgl.lm.prefix_sharing import ScoredSequence
from xgl.models import resolve
from xgl.models.references import ServerName, parse

ROWS = 16
"""Sequences of one request."""
SECONDS = 10.0
"""For the list of models, which a server has at hand."""
BYTES_A_TOKEN = 512
"""Most bytes of an answer for each token of its prompts, beside the usual limit."""


def connect(
    reference: str, tokenizer: str | None = None, key_variable: str | None = None
) -> TransformerJudge:
    """The judge at ``vllm:MODEL@URL``; the tokenizer is that of the reference ``tokenizer``, by
    default MODEL; ``key_variable``: environment variable with the server's key.

    Raises ModelNotFoundError if the server cannot be reached, or its tokenizer is not available.
    """
    try:
        name = parse(reference, "judge")
        assert isinstance(name, ServerName)
        settings = ChatSettings(
            model=name.model, base_url=name.url, retries=4, key_variable=key_variable
        )
        window = _window(settings)
    except (ConfigError, PlayerError) as error:
        reason = str(error).removeprefix("judge: ")
        raise ModelNotFoundError(f"judge {reference}: {reason}") from None
    # It makes the token sequences of a local model, and the server scores them.
    loaded = resolve.load_tokenizer(tokenizer or settings.model)
    config = SimpleNamespace(vocab_size=len(loaded), max_position_embeddings=window)
    lm = LanguageModel(SimpleNamespace(config=config), loaded, torch.device("cpu"))
    return TransformerJudge(lm, engine=ServerEngine(settings))


class ServerEngine(Engine):
    """Bits of token sequences from a server."""

    def __init__(self, settings: ChatSettings) -> None:
        super().__init__()
        self.settings = settings

    def compute(self, sequences: Sequence[ScoredSequence]) -> Iterable[tuple[ScoredSequence, Bits]]:
        """Raises :class:`JudgeError`."""
        alike = sorted(sequences, key=lambda sequence: len(sequence.ids))  # in each request
        groups = [alike[first : first + ROWS] for first in range(0, len(alike), ROWS)]
        work = [partial(self._request_group, group) for group in groups]
        answers = ChatClient(self.settings).gather(work)
        return zip(alike, chain.from_iterable(answers), strict=True)

    async def _request_group(
        self, group: Sequence[ScoredSequence], batch: RequestBatch
    ) -> list[Bits]:
        prompts = [list(sequence.ids) for sequence in group]
        body = {"model": self.settings.model, "prompt": prompts, "echo": True, "logprobs": 1}
        body |= {"max_tokens": 1, "temperature": 0}
        tokens = sum(len(sequence.ids) for sequence in group)
        send = partial(batch.request, "completions", body, MOST_BYTES + BYTES_A_TOKEN * tokens)
        try:
            content = await batch.persist(send, "judge", tokens)
        except PlayerError as error:
            raise JudgeError(f"judge at {error}") from None
        if isinstance(content, Fault):
            raise self._error(content.message)
        found = given if isinstance(given := lookup(read_json(content), "choices"), list) else []
        by_index = {str(lookup(choice, "index")): choice for choice in found}
        if len(found) != len(group) or set(by_index) != set(map(str, range(len(group)))):
            key, text = client.read_key(self.settings), content.decode(errors="replace")
            quote = "" if found else f" ({client.one_line(text, key)})"
            raise self._error(
                f"found {len(found)} answers to {len(group)} prompts{quote}, expected one each"
            )
        return [self._choice_bits(one, by_index[str(index)]) for index, one in enumerate(group)]

    def _choice_bits(self, sequence: ScoredSequence, choice: Any) -> Bits:
        """−log₂ P of the last ``target_count`` tokens of the prompt, which the answer repeats."""
        token_logprobs = lookup(choice, "logprobs", "token_logprobs")
        count = len(token_logprobs) if isinstance(token_logprobs, list) else 0
        logprobs = token_logprobs[: len(sequence.ids)][-sequence.target_count :] if count else []
        numbers = all(isinstance(each, int | float) and math.isfinite(each) for each in logprobs)
        if count < len(sequence.ids) or not numbers:
            told = f"found log-probabilities of {count} tokens of a prompt of {len(sequence.ids)}"
            server = "a server that echoes prompts with their log-probabilities and cuts none"
            raise self._error(f"{told}, expected all, as numbers: {server}")
        return tuple(-logprob / math.log(2) for logprob in logprobs)

    def _error(self, reason: str) -> JudgeError:
        return JudgeError(f"judge at {self.settings.place}: {reason}")


def _window(settings: ChatSettings) -> int:
    """Tokens that the served model can read; unbounded if the server does not say."""
    api = ChatClient(replace(settings, retries=client.RETRIES))
    try:
        [body] = api.gather([lambda it: it.persist(partial(it.request, "models", seconds=SECONDS))])
    except PlayerError as error:
        raise PlayerError(f"{error}; expected an OpenAI-compatible server there") from None
    told = None if isinstance(body, Fault) else lookup(read_json(body), "data")
    listed = told if isinstance(told, list) else []
    own = [each for each in listed if lookup(each, "id") == settings.model]
    window = lookup(own, 0, "max_model_len")
    # less the token that is asked for, which servers count too
    return window - 1 if isinstance(window, int) and window > 0 else UNBOUNDED
