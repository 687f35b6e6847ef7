"""A judge behind a server: bits from the prompt log-probabilities of an OpenAI-compatible
completions endpoint such as vLLM's. The tokenizer is local, the weights are on the server."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import torch

from xgl.chat.calls import run
from xgl.errors import JudgeError, ModelNotFoundError
from xgl.judge.caches import ScoreCache
from xgl.judge.engine import EngineSettings
from xgl.judge.forward import Bits
from xgl.judge.statistics import Statistics
from xgl.judge.transformer_judge import TransformerJudge
from xgl.lm.language_model import UNBOUNDED, LanguageModel
from xgl.lm.prefix_sharing import ScoredSequence
from xgl.models import resolve

_REFERENCE = re.compile(r"vllm:(?P<model>[^@]+)@(?P<url>https?://[^@\s]+)")
EXPECTED = "expected vllm:MODEL@http(s)://host[:port]/v1"


@dataclass(frozen=True)
class ServerSettings:
    """Settings of the requests to a server: ``rows`` sequences a request, ``concurrency`` requests
    at once, each sent again ``retries`` times after faults that may pass and given ``timeout``
    seconds."""

    model: str
    url: str
    rows: int = 16
    concurrency: int = 8
    retries: int = 4
    timeout: float = 120.0

    @property
    def place(self) -> str:
        """Model and server, as errors name them."""
        return f"judge.model: {self.model!r} at {self.url}"


def is_server(reference: str) -> bool:
    """Whether a model reference names a server."""
    return reference.startswith("vllm:")


def server_settings(reference: str) -> ServerSettings:
    """The settings of a reference ``vllm:MODEL@URL``. Raises ModelNotFoundError."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ModelNotFoundError(f"judge.model: found {reference!r}, {EXPECTED}")
    return ServerSettings(match["model"], match["url"].rstrip("/"))


def connect(
    reference: str, cache_bytes: int = EngineSettings.score_cache_bytes
) -> TransformerJudge:
    """The judge at ``vllm:MODEL@URL``; the tokenizer is that of MODEL's reference.

    Raises ModelNotFoundError if the server cannot be reached or does not serve the model, or its
    tokenizer is not available.
    """
    settings = server_settings(reference)
    window = run(_window(settings))
    tokenizer = resolve.load_tokenizer(settings.model)
    return server_judge(settings, tokenizer, window, cache_bytes)


def server_judge(
    settings: ServerSettings,
    tokenizer: Any,
    window: int = UNBOUNDED,
    cache_bytes: int = EngineSettings.score_cache_bytes,
) -> TransformerJudge:
    """A judge with a local tokenizer and the weights of a server: it makes the token sequences of a
    local model, and the server scores them."""
    config = SimpleNamespace(vocab_size=len(tokenizer), max_position_embeddings=window)
    lm = LanguageModel(SimpleNamespace(config=config), tokenizer, torch.device("cpu"))
    return TransformerJudge(lm, engine=ServerEngine(settings, cache_bytes))


class ServerEngine:
    """Bits of token sequences from a server; keeps scores as the local engine does."""

    def __init__(self, settings: ServerSettings, cache_bytes: int) -> None:
        self.settings = settings
        self.statistics = Statistics()
        self._scores = ScoreCache(cache_bytes)

    def bits(self, sequences: Sequence[ScoredSequence]) -> list[Bits]:
        """Bits of each sequence's scored tokens, in order. Raises :class:`JudgeError`."""
        distinct = list(dict.fromkeys(sequences))
        known_bits = {
            sequence: bits
            for sequence in distinct
            if (bits := self._scores.get(sequence)) is not None
        }
        new = [sequence for sequence in distinct if sequence not in known_bits]
        new.sort(key=lambda sequence: len(sequence.ids))
        self.statistics += Statistics(
            requested=len(sequences),
            duplicates=len(sequences) - len(distinct),
            cached=len(known_bits),
            requested_tokens=sum(len(sequence.ids) - 1 for sequence in sequences),
            new_tokens=sum(len(sequence.ids) - 1 for sequence in new),
        )
        for sequence, bits in zip(new, run(self._request_bits(new)) if new else [], strict=True):
            known_bits[sequence] = bits
            self._scores.put(sequence, bits)
        return [known_bits[sequence] for sequence in sequences]

    def forget(self) -> None:
        """Drop the stored scores."""
        self._scores.clear()

    async def _request_bits(self, sequences: Sequence[ScoredSequence]) -> list[Bits]:
        slots = asyncio.Semaphore(self.settings.concurrency)
        async with _client(self.settings) as client:
            rows = self.settings.rows
            groups = [
                self._request_group(client, slots, sequences[first : first + rows])
                for first in range(0, len(sequences), rows)
            ]
            return [bits for some in await asyncio.gather(*groups) for bits in some]

    async def _request_group(
        self, client: Any, slots: asyncio.Semaphore, group: Sequence[ScoredSequence]
    ) -> list[Bits]:
        import openai

        async with slots:
            try:
                answer = await client.completions.create(
                    model=self.settings.model,
                    prompt=[list(sequence.ids) for sequence in group],
                    echo=True,
                    logprobs=1,
                    max_tokens=1,
                    temperature=0,
                )
            except openai.OpenAIError as error:
                raise JudgeError(f"{self.settings.place}: {_reason(error)}") from error
        choices = sorted(answer.choices or [], key=lambda choice: choice.index)
        if len(choices) != len(group):
            counts = f"{len(choices)} answers to {len(group)} prompts"
            raise JudgeError(f"{self.settings.place}: found {counts}, expected one each")
        return [self._choice_bits(*pair) for pair in zip(group, choices, strict=True)]

    def _choice_bits(self, sequence: ScoredSequence, choice: Any) -> Bits:
        """−log₂ P of the last ``target_count`` tokens of the prompt, which the answer repeats."""
        token_logprobs = getattr(choice.logprobs, "token_logprobs", None) or []
        logprobs = token_logprobs[: len(sequence.ids)][-sequence.target_count :]
        count = len(token_logprobs)
        if count < len(sequence.ids) or any(logprob is None for logprob in logprobs):
            raise JudgeError(
                f"{self.settings.place}: found log-probabilities of {count} tokens of a prompt "
                f"of {len(sequence.ids)}, expected all: a server that echoes prompts with their "
                "log-probabilities and cuts none"
            )
        return tuple(-logprob / math.log(2) for logprob in logprobs)


def _client(settings: ServerSettings) -> Any:
    import openai

    return openai.AsyncOpenAI(
        base_url=settings.url,
        api_key="none",
        max_retries=settings.retries,
        timeout=settings.timeout,
    )


async def _window(settings: ServerSettings) -> int:
    """Tokens that the served model can read; unbounded if the server does not say."""
    import openai

    try:
        async with _client(replace(settings, retries=0, timeout=10.0)) as client:
            models = [model async for model in client.models.list()]
    except openai.OpenAIError as error:
        raise ModelNotFoundError(f"{settings.place}: {_reason(error)}") from error
    models_by_id = {model.id: model for model in models}
    if settings.model not in models_by_id:
        names = ", ".join(models_by_id) or "none"
        raise ModelNotFoundError(
            f"{settings.place}: the server has no such model; it serves {names}"
        )
    return int(getattr(models_by_id[settings.model], "max_model_len", None) or UNBOUNDED)


def _reason(error: Exception) -> str:
    """The cause of an error, as a clause."""
    cause = error.__cause__ or error
    text = " ".join(f"{type(cause).__name__}: {cause}".split())[:200]
    return f"no answer ({text}), expected an OpenAI-compatible server there"
