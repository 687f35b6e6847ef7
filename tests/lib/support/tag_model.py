"""The embedded model with a chat template, taught to answer any message with a move."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

from xgl.models import resolve

TEMPLATE = "{{ bos_token }}{{ messages[-1]['content'] }}\n"
"""The last message alone: the rules leave no room in the embedded model's window."""


def make_tag_model(folder: Path, messages: Sequence[str], answers: Sequence[str]) -> None:
    """Write to ``folder`` a model that answers such messages with one of ``answers``, sampled."""
    shutil.copytree(resolve.EMBEDDED, folder)
    model, tokenizer = resolve.load("embedded")
    tokenizer.chat_template = TEMPLATE
    rows = [
        (_prompt(tokenizer, message), _ids(tokenizer, answer))
        for message in messages
        for answer in answers
    ]
    _fit(model, rows)
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


def _prompt(tokenizer: object, message: str) -> list[int]:
    conversation = [{"role": "user", "content": message}]
    return list(tokenizer.apply_chat_template(conversation, return_dict=False))  # type: ignore[attr-defined]


def _ids(tokenizer: object, answer: str) -> list[int]:
    ids = tokenizer.encode(answer, add_special_tokens=False)  # type: ignore[attr-defined]
    return [*ids, tokenizer.eos_token_id]  # type: ignore[attr-defined]


def _fit(model: torch.nn.Module, rows: Sequence[tuple[list[int], list[int]]]) -> None:
    """Full fine-tuning on the answers, until each is as likely as its share."""
    torch.manual_seed(0)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(40):
        for prompt, answer in rows:
            ids = torch.tensor([prompt + answer])
            targets = torch.tensor([[-100] * len(prompt) + answer])
            (model(input_ids=ids, labels=targets).loss / len(rows)).backward()
        optimiser.step()
        optimiser.zero_grad()
    model.eval()
