"""A local language model as player, which samples its moves (docs/specification.md, "Score of a
model").

An instruct model is asked through its own chat template, as an endpoint would ask it, and its move
taken from an answer that may begin with thoughts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from jinja2 import TemplateError
from torch import Tensor

from xgl.chat.answers import parse_move
from xgl.errors import OversizeError, PlayerError
from xgl.lm.language_model import LanguageModel, cached_encoder
from xgl.lm.memory import few_threads, retry_in_halves, rows_to_sample
from xgl.lm.prefix_sharing import Ids
from xgl.lm.sampling import Continuation, Decoding, PromptCaches, sample, stop_tokens
from xgl.random_streams import stream
from xgl.runtime.presentation import STOP, Message, first_messages, render
from xgl.runtime.requests import Move, MoveRequest, Turn

DATE, _TODAY = date(2024, 7, 26), re.compile(r"strftime_now\(\s*(['\"])(.*?)\1\s*\)")
"""For templates that tell a date: prompts must be the same on another day."""


class ChatTemplate:
    """The messages to a model in its own tokens. ``options`` go to the template, as
    ``enable_thinking=False``; an answer has ``answer_tokens`` at most, thoughts included, and ends
    with what ends the model's turn."""

    def __init__(self, lm: LanguageModel, answer_tokens: int, **options: Any) -> None:
        self.tokenizer, self.answer_tokens = lm.tokenizer, answer_tokens
        added = lm.tokenizer.added_tokens_decoder
        form = options.get("chat_template") or lm.tokenizer.get_chat_template()
        form = _TODAY.sub(lambda m: repr(DATE.strftime(m[2])), form)
        self.options = {"date_string": f"{DATE:%d %b %Y}"} | options | {"chat_template": form}
        # the template holds roles' marks, of which some are not special
        marks = (t for t in added.values() if t.special or (str(t).strip() and str(t) in form))
        special = [str(token) for token in marks]
        self._special = re.compile("|".join(map(re.escape, special)) or "(?!)")
        self.has_system = self._takes_system()
        ask = {"role": "user", "content": "Question."}
        self._opening = self._text([ask]).removeprefix(self._text([ask], asks=False))
        turns, after, ends = [ask, {"role": "assistant", "content": "Answer."}], "", list[int]()
        for more in ([], [ask]):  # what ends the last turn, else what stands between two
            text = self._text([*turns, *more], asks=False).rpartition("Answer.")[2]
            after = after.strip() or text.partition("Question.")[0]
            if ends := [token for token in self._ids(text) if token in added][:1]:
                break
        self.end = "" if ends else after.strip().partition("\n")[0]
        """What ends an answer, where no token of the tokenizer does."""
        # the generation config may name the marks of other turns
        ids = getattr(getattr(lm.model, "generation_config", None), "eos_token_id", None)
        ends += [ids] if isinstance(ids, int) else ids or []
        stops = torch.zeros(int(lm.model.config.vocab_size), dtype=torch.bool)
        stops[[lm.tokenizer.eos_token_id, *ends]] = True
        self.stops: Tensor = stops.to(lm.device)

    def prompt(self, request: MoveRequest) -> Ids:
        """The rules and the player's view, up to where the model's answer begins. A special token
        that a text of the game spells out stays a text."""
        messages = [
            each
            | {"content": self._special.sub(lambda m: f"{m[0][0]} {m[0][1:]}", each["content"])}
            for each in first_messages(request)
        ]
        if not self.has_system:
            both = "\n\n".join(each["content"] for each in messages)
            messages = [{"role": "user", "content": both}]
        return self._ids(self._text(messages))

    def move(self, answer: Ids) -> str | None:
        """The move of an answer; None if it holds none outside its thoughts."""
        text = self.tokenizer.decode(answer, skip_special_tokens=False)
        return parse_move(self._opening + (text.partition(self.end)[0] if self.end else text))

    def has_ended(self, row: int, answer: Sequence[int]) -> bool:
        """Whether an answer holds what ends it."""
        return self.end in self.tokenizer.decode(answer[-len(self.end.encode()) :])

    def _takes_system(self) -> bool:
        """Whether the template has a place for a system message: some refuse or drop it."""
        messages = [{"role": "system", "content": "Rules."}, {"role": "user", "content": "View."}]
        try:
            return "Rules." in self._text(messages)
        except TemplateError:
            return False

    def _text(self, messages: list[Message], asks: bool = True) -> str:
        text = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=asks, **self.options
        )
        return str(text)

    def _ids(self, text: str) -> Ids:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))


MAX_TOKEN_RATIO = 8
"""Tokens of a policy for one of the judge's, at most, where their tokenizers differ."""
MEMORY_BYTES = 1 << 30
"""Memory that a batch of moves may take, in addition to the weights."""


def rows_at_once(lm: LanguageModel) -> int:
    """Moves that one policy samples at once: more are slower on a CPU."""
    return 128 if lm.device.type == "cpu" else 512


class _Prompt(NamedTuple):
    """A view in the model's tokens, and the number of earlier rounds in it."""

    ids: Ids
    rounds: int


class LocalPolicy:
    """Samples moves from the present weights of ``lm`` (adapters included).

    ``batch_rows`` moves (None: :func:`rows_at_once`) are sampled at once, fewer if they would
    exceed ``memory_bytes``, in the order asked, so that batches are functions of the task.
    ``count`` counts judge tokens, which limit a move; None: the policy's tokens are the judge's.
    ``keep_caches``: what a view repeats of an earlier one is not read again, for as many bytes
    more; the owner calls :meth:`clear_caches` before the weights change. ``chat``: the model is
    asked through its chat template, not by the view alone, and makes its move in an answer. A
    move's tokens are those of its whole prompt, even if not all of it was read, and those sampled.
    """

    def __init__(
        self,
        lm: LanguageModel,
        decoding: Decoding | None = None,
        batch_rows: int | None = None,
        count: Callable[[str], int] | None = None,
        memory_bytes: int = MEMORY_BYTES,
        keep_caches: bool = False,
        chat: ChatTemplate | None = None,
    ) -> None:
        self.lm, self.chat = lm, chat
        self.decoding = decoding or Decoding()
        self.batch_rows = batch_rows or rows_at_once(lm)
        self.count = None if chat else count
        self.memory_bytes = memory_bytes
        self.caches = PromptCaches(memory_bytes) if keep_caches else None
        self._stops = chat.stops if chat else stop_tokens(lm, STOP)
        self._encode = cached_encoder(lm)

    def clear_caches(self) -> None:
        """Drop the caches of earlier views."""
        if self.caches is not None:
            self.caches.clear()

    def moves(self, turns: list[Turn]) -> list[Move | OversizeError]:
        """One move a turn; an error value where the view does not fit the model's window."""
        if not callable(self.lm.model):
            raise PlayerError("a judge behind a server makes no moves: name a model that plays")
        prompts = [self._prompt(turn) for turn in turns]
        pairs = zip(turns, prompts, strict=True)
        fitting = [
            (turn, prompt) for turn, prompt in pairs if not isinstance(prompt, OversizeError)
        ]
        sizes = [len(prompt.ids) + self._limit(turn, prompt) for turn, prompt in fitting]
        room = rows_to_sample(self.lm, max(sizes, default=1), self.memory_bytes)
        rows = min(self.batch_rows, room)
        moves = list[Move]()
        for first in range(0, len(fitting), rows):
            with few_threads(self.lm):
                batch = fitting[first : first + rows]
                moves += retry_in_halves(self._sample, batch, "moves to sample")
        sampled = iter(moves)
        return [each if isinstance(each, OversizeError) else next(sampled) for each in prompts]

    def move_for_text(self, turn: Turn, text: str) -> Move | OversizeError:
        """The move in which the policy writes ``text``, up to its limit; without log-probabilities.
        An error value where the view does not fit the model's window."""
        prompt = self._prompt(turn)
        if isinstance(prompt, OversizeError):
            return prompt
        # As it is written behind the end of a view: alone, some tokenizers begin it otherwise.
        before = self._encode(":")
        ids = self._encode(f": {text}{STOP}" if text else f":{STOP}")
        if ids[: len(before)] == before:
            ids = ids[len(before) :]
        else:
            ids = (*(self._encode(f" {text}") if text else ()), *self._encode(STOP))
        return self._move(prompt, Continuation(ids[: self._limit(turn, prompt)], ()))

    def _prompt(self, turn: Turn) -> _Prompt | OversizeError:
        """With as many of the latest earlier rounds as fit into the model's window with the rest;
        an error value where not even the rest fits."""
        most = self.lm.window - self._most(turn)
        rounds = len(turn.request.view.earlier)
        if len(ids := self._ids(turn, rounds)) > most and rounds:
            counts = range(1, rounds)
            rounds = bisect_right(counts, most, key=lambda count: len(self._ids(turn, count)))
            ids = self._ids(turn, rounds)
        if len(ids) > most:
            size = f"{len(ids) + self._most(turn):,} tokens, at most {self.lm.window:,}"
            return OversizeError(f"{size} fit the player")
        return _Prompt(ids, rounds)

    def _ids(self, turn: Turn, rounds: int) -> Ids:
        view = turn.request.view.latest(rounds)
        if self.chat:
            return self.chat.prompt(replace(turn.request, view=view))
        return (self.lm.bos, *self._encode(render(view)))

    def _most(self, turn: Turn) -> int:
        return self.chat.answer_tokens if self.chat else turn.request.max_len

    def _sample(self, batch: Sequence[tuple[Turn, _Prompt]]) -> list[Move]:
        limits = [self._limit(turn, prompt) for turn, prompt in batch]
        uniforms = np.stack([stream("move", *turn.key).random(max(limits)) for turn, _ in batch])
        max_lens = [turn.request.max_len for turn, _ in batch]
        over_limit = partial(self._over_limit, max_lens) if self.count else None
        stop_when = self.chat.has_ended if self.chat and self.chat.end else over_limit
        continuations = sample(
            self.lm,
            [prompt.ids for _, prompt in batch],
            limits,
            uniforms,
            self._stops,
            self.decoding,
            policies=None if "" in self.lm.names else [turn.policy for turn, _ in batch],
            stop_when=stop_when,
            caches=self.caches,
        )
        return [self._move(prompt, c) for (_, prompt), c in zip(batch, continuations, strict=True)]

    def _limit(self, turn: Turn, prompt: _Prompt) -> int:
        """Most tokens of a move: judge tokens, or enough of the policy's for as many of these."""
        ratio = MAX_TOKEN_RATIO if self.count else 1
        return min(self._most(turn) * ratio, self.lm.window - len(prompt.ids))

    def _over_limit(self, max_lens: Sequence[int], row: int, ids: Sequence[int]) -> bool:
        """Whether a row's move has more judge tokens than allowed, since the rest is cut; decided
        at the beginning of a word: more of a word may be fewer tokens."""
        assert self.count is not None
        if len(ids) * MAX_TOKEN_RATIO < max_lens[row]:
            return False
        words = self.lm.decode(ids[:-1])
        new = self.lm.decode(ids)[len(words) :]  # a token alone may lose its space
        return new[:1].isspace() and self.count(words.lstrip()) > max_lens[row]

    def _move(self, prompt: _Prompt, continuation: Continuation) -> Move:
        ids, logprobs = continuation.ids, continuation.logprobs
        text = self.chat.move(ids) if self.chat else self.lm.decode(ids).split(STOP)[0].strip()
        costs = len(prompt.ids), len(ids), prompt.rounds
        return Move(text or "", prompt.ids, ids, logprobs, *costs, format_failure=text is None)
