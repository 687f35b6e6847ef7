"""A local instruct model as a player: asked through its own chat template, as an endpoint would ask
it, its move taken from an answer that may begin with thoughts."""

from __future__ import annotations

import re
from typing import Any

import torch
from jinja2 import TemplateError
from torch import Tensor

from xgl.chat.answers import parse_move
from xgl.lm.language_model import LanguageModel
from xgl.lm.prefix_sharing import Ids
from xgl.runtime.prompt import Message, first_messages
from xgl.runtime.requests import MoveRequest

DAY = "26 Jul 2024"
"""For templates that tell a date: prompts must be the same on another day."""


class ChatTemplate:
    """The messages to a model in its own tokens. ``options`` go to the template, as
    ``enable_thinking=False``; an answer has ``answer_tokens`` at most, thoughts included, and ends
    with what ends the model's turn."""

    def __init__(self, lm: LanguageModel, answer_tokens: int, **options: Any) -> None:
        self.tokenizer, self.answer_tokens = lm.tokenizer, answer_tokens
        self.options = {"date_string": DAY} | options
        special = [str(t) for t in lm.tokenizer.added_tokens_decoder.values() if t.special]
        self._special = re.compile("|".join(map(re.escape, special)) or "(?!)")
        self.has_system = self._takes_system()
        ask = {"role": "user", "content": "Question."}
        self._opening = self._text([ask]).removeprefix(self._text([ask], asks=False))
        answered = self._text([ask, {"role": "assistant", "content": "Answer."}], asks=False)
        ends = self._ids(answered.rpartition("Answer.")[2])[:1]
        stops = torch.zeros(int(lm.model.config.vocab_size), dtype=torch.bool)
        stops[[lm.tokenizer.eos_token_id, *ends]] = True
        self.stops: Tensor = stops.to(lm.device)

    def prompt(self, request: MoveRequest) -> Ids:
        """The rules and the player's view, up to where the model's answer begins. A special token
        that a text of the game spells out stays a text."""
        messages = [
            each | {"content": self._special.sub(_apart, each["content"])}
            for each in first_messages(request)
        ]
        if not self.has_system:
            both = "\n\n".join(each["content"] for each in messages)
            messages = [{"role": "user", "content": both}]
        return self._ids(self._text(messages))

    def move(self, answer: Ids) -> str | None:
        """The move of an answer; None if it holds none outside its thoughts."""
        return parse_move(self._opening + self.tokenizer.decode(answer, skip_special_tokens=False))

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


def _apart(special: re.Match[str]) -> str:
    """A special token's spelling with a space in it."""
    return f"{special[0][0]} {special[0][1:]}"
