"""The ways in which models mark their thoughts: a draft in them, then the answer."""

from __future__ import annotations

from collections.abc import Callable

_TAGS = (
    *("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "THINK"),
    *("Thinking", "antThinking", "seed:think", "scratchpad", "inner_monologue", "thought_process"),
)
_MARKS = (
    *((f"<{tag}>", f"</{tag}>") for tag in _TAGS),
    ("<think >", "</ think>"),
    ('<thinking mode="deep">', "</thinking>"),
    ("<think>", "</thinking>"),
    ("<thinking><think>", "</think></thinking>"),
    ("[THINK]", "[/THINK]"),
    ("[thinking]", "[/thinking]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought\n", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    (
        "<|start|>assistant<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
        '{"move": 7}<|call|><|start|>assistant<|channel|>final<|message|>',
    ),
    ("", "</think>"),
    ("", "</thinking>\n\n"),
    ("", "[/THINK]"),
    ("I wonder ... ", "</reasoning>"),
)


def _around(opening: str, closing: str) -> Callable[[str, str], str]:
    return lambda draft, answer: f"{opening}{draft}{closing}{answer}"


THOUGHTS = {f"{opening}…{closing}": _around(opening, closing) for opening, closing in _MARKS} | {
    "twice": lambda draft, answer: f"<think>{draft}</think>\n<think>{draft}</think>{answer}",
    "a tag in them": lambda draft, answer: f"<think>{draft} </think> {draft}</think>{answer}",
    "after it": lambda draft, answer: f"{answer}\n<think>{draft}</think>",
    "after it, cut": lambda draft, answer: f"{answer}\n<think>\n{draft}",
    "end of turn": lambda draft, answer: f"<think>{draft}</think>{answer}<|im_end|>\n",
    "final": lambda draft, answer: (
        f"<|channel|>analysis<|message|>{draft}<|end|>"
        f"<|start|>assistant<|channel|>final<|message|>{answer}<|return|>"
    ),
}
"""By name: a draft and an answer as one text."""
UNFINISHED = (
    *("<think>", "<thinking>", "[THINK]", "<reasoning>", "<|channel|>analysis<|message|>"),
    *("◁think▷", "<|begin_of_thought|>", "<THINKING>\n"),
)
"""Marks after which an answer that was cut holds only thoughts."""
