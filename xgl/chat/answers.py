"""What a chat model's answer holds: its text, thoughts, moves, numbers, fenced blocks.

Every place that reads an answer reads it with these functions. An answer may be long, and is not
trusted: each function takes time proportional to its length.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from xgl.escaping import well_formed

EXAMPLES = ("a few words", "a few words.", "...", "…", "and")
"""What stands between the tags in the instructions of ``xgl.runtime.presentation``, also where they
speak of them ("between <move> and </move>"); an answer that repeats one has not moved."""

# -- messages --------------------------------------------------------------------------------------

_OTHERS = ("system", "developer", "user", "tool", "function")
"""Roles of messages that the model did not write."""
_TEXT_TYPES = (None, "text", "output_text")
"""Types of parts that their reader sees; thoughts, calls and images are others."""


def answer_text(completion: Any) -> str:
    """The text of a model's last message, empty if that has none.

    ``completion``: a text, or chat messages, as mappings or objects with ``role`` and ``content``.
    Raises TypeError for anything else.
    """
    if isinstance(completion, str):
        return well_formed(completion)
    if not isinstance(completion, Sequence):
        raise TypeError(f"found {type(completion).__name__}, expected a text or chat messages")
    written = [message for message in completion if _field(message, "role") not in _OTHERS]
    return content_text(_field(written[-1], "content")) if written else ""


def content_text(content: Any) -> str:
    """The text of a message's content: a text, nothing, or a list of parts with texts."""
    texts = [
        part if isinstance(part, str) else _field(part, "text")
        for part in (content if isinstance(content, list | tuple) else [content])
        if isinstance(part, str) or _field(part, "type") in _TEXT_TYPES
    ]
    return well_formed("".join(text for text in texts if isinstance(text, str)))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


# -- thoughts --------------------------------------------------------------------------------------

_NAME = (
    r"(?:\w+:)?(?:(?:ant)?think(?:ing)?|thoughts?|thought_process|chain_of_thought|reasoning|"
    r"reflection|analysis|scratch_?pad|in(?:n|tern)(?:er|al)_monologue)"
)
_OPEN = (
    rf"<\s*{_NAME}(?:\s[^<>/]*)?>|\[think(?:ing)?\]|◁think▷|<\|channel>thought"
    r"|<\|(?:begin_of_thought|(?:start|begin)_thinking)\|>"
)
_CLOSE = (
    rf"<\s*/\s*{_NAME}\s*>|\[/think(?:ing)?\]|◁/think▷|<channel\|>"
    r"|<\|end_(?:of_thought|thinking)\|>"
)
_MOVE = re.compile(
    r"<[ \t]*move[ \t]*>((?:(?!<[ \t]*(?:/[ \t]*)?move[ \t]*>).)*)<[ \t]*/[ \t]*move[ \t]*>",
    re.DOTALL | re.IGNORECASE,
)
_THOUGHT = re.compile(rf"(?:{_OPEN}).*?(?:{_CLOSE}|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(_CLOSE, re.IGNORECASE)
_MESSAGE = re.compile(
    r"<\|channel\|>\s*(\w++)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"(.*?)(?=<\|(?:channel|end|return|call|start)\|>|\Z)",
    re.DOTALL,
)
"""A message as gpt-oss writes it ("harmony"); what it says is on the channel ``final``."""
_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|return|endoftext|end_of_text)\|>|<end_of_turn>|</s>\s*\Z"
)
_ANSWER = re.compile(r"<answer>((?:(?!<answer>).)*)</answer>", re.DOTALL | re.IGNORECASE)
_DOCUMENT = re.compile(
    r"^[ \t]*(```+|~~~+)[ \t]*(?:markdown|md)[ \t]*\n", re.IGNORECASE | re.MULTILINE
)
_FENCE = re.compile(r"[ \t]*(```+|~~~+)[ \t]*([\w+.-]*).*")


def remove_thoughts(answer: str) -> str:
    """An answer without its thoughts, in any of the marks that models put around them.

    A thought without an end mark reaches to the end of the answer; one without an opening mark (the
    prompt opened it) begins at its start.

    >>> remove_thoughts("hm</think>a<think>b</think>c<think>d")
    'ac'
    """
    if messages := _MESSAGE.findall(answer):
        answer = "".join(text for channel, text in messages if channel == "final")
    return _END_OF_THOUGHT.split(_THOUGHT.sub("", answer))[-1]


def final_text(answer: str) -> str:
    """What an answer says in the end: without thoughts and marks of a turn's end."""
    return _TURN_END.sub("", remove_thoughts(answer)).strip()


def document(text: str) -> str:
    """A text that is all of an answer, without tags, or a Markdown fence and sentences around it.

    >>> document("Here it is:\\n```markdown\\n# Tug\\nPull.\\n```")
    '# Tug\\nPull.'
    """
    tagged = _ANSWER.findall(text)
    text = (tagged[-1] if tagged else text).strip()
    if (opening := _DOCUMENT.search(text)) is None:
        return text
    lines = re.compile(rf"\n[ \t]*{opening[1]}[ \t]*$", re.MULTILINE)
    closings = [each.start() for each in lines.finditer(text, opening.end())]
    return text[opening.end() : closings[-1]] if closings else text


# -- moves -----------------------------------------------------------------------------------------

_QUOTES = " \t\n\"'`*_“”‘’«»"


def parse_move(answer: str) -> str | None:
    """The move of an answer: the last of :func:`parse_moves`; None if there is none.

    >>> parse_move("hm, <move>cats</move> or rather <MOVE>\\n two dogs\\n</MOVE>.")
    'two dogs'
    """
    return next(iter(parse_moves(answer, 1)), None)


def parse_moves(answer: str, count: int) -> list[str]:
    """The last ``count`` moves of an answer in the order written, fewer if it holds fewer.

    A move is the text in a pair of tags (upper or lower case) that contains no other tag. It is one
    line: a local policy's ends at the first line break, a chat model's line breaks become spaces,
    since it may well write the tags on lines of their own. Thoughts hold no moves, and neither does
    a repetition of the instruction. Empty pairs count only if too few others are there.
    """
    pairs = [pair.strip() for pair in _MOVE.findall(remove_thoughts(answer))]
    moves = [
        " ".join(line.strip() for line in pair.splitlines())
        for pair in pairs
        if pair.strip(_QUOTES).lower() not in EXAMPLES
    ]
    written = [move for move in moves if move]
    return (written if len(written) >= count else moves)[-count:]


ASK_AGAIN = 2
"""How often a model is asked again whose answer held no move."""


def missing_text(answer: str, cut: bool = False) -> str:
    """The reply to an answer that held no move; ``cut``: it ended at its token limit."""
    wrong = "held no <move>...</move>"
    if cut:
        wrong = "reached its limit before it held a move; be brief"
    elif answer.strip() and not remove_thoughts(answer).strip():
        wrong = "held thoughts and nothing after them"
    return f"Your answer {wrong}. Write your move between <move> and </move>."


# -- numbers ---------------------------------------------------------------------------------------

_BOX = re.compile(
    r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
    r"|<(answer|final_answer|final|move|action|choice|number|output|response|result)>([^<]*)</\2>"
    r"|<\|begin_of_box\|>([^<]*)<\|end_of_box\|>",
    re.IGNORECASE,
)
_NOT_OWN = "".join(
    f"(?<!{whose} )" for whose in ("'s", "’s", "s'", "s best", "their", "last", "worst")
)
_KEYS = (
    rf"{_NOT_OWN}(?:\b(?:[a-z]+_)?(?:answer|move|action|choice|option)|[\"'](?:[a-z]+_)?(?:number|index))"
    r"(?:_[a-z]+)?"
)
_NUMBER = r"(?<![\w.,+-])([0-9]{1,9})(?!\w|[.,]\d|\s*(?:,|/|or|and)\s*\d)"
_NAMED = re.compile(rf"({_KEYS})\W{{0,9}}?(?:is|be|[:=：])\W{{0,9}}{_NUMBER}", re.IGNORECASE)
_CHOSEN = re.compile(
    rf"(?:{_KEYS}|\b(?:number|index|choose|pick|select|play|go with))\W{{1,9}}{_NUMBER}",
    re.IGNORECASE,
)
_ALONE = re.compile(r"[\W_]*(?<![+-])([0-9]{1,9})(?:[\W_]*|\s*(?:[(:,]|[-–—] )(?!.*\d).*)")
"""A line that is a number, or begins with one and says why."""


def parse_number(answer: str) -> int | None:
    """The whole number from 0 that an answer names as its move; None if that is not clear.

    In this order: what is boxed or tagged, the last that is called the answer, what is called the
    move or the like, in JSON too, if all are equal, and what stands alone in a line or is chosen,
    if all of these are.

    >>> [parse_number(text) for text in ("**3**", "Not 2. Answer: 3.", "2 or 3", "I take 3 sticks")]
    [3, 3, None, None]
    """
    text = unicodedata.normalize("NFKC", final_text(answer)).replace("\ufe0f", "").replace("⃣", "")
    if boxes := _BOX.findall(text):
        text = re.sub(r"\\[a-z]+", " ", boxes[-1][0] + boxes[-1][2] + boxes[-1][3])
    if named := _NAMED.findall(text):
        answers = [number for key, number in named if key.lower().endswith("answer")]
        numbers = {int(number) for number in answers[-1:] or [number for _, number in named]}
        return numbers.pop() if len(numbers) == 1 else None
    lines = map(str.strip, text.splitlines())
    found = [match[1] for line in lines if (match := _ALONE.fullmatch(line[:400]))]
    numbers = set(map(int, found or _CHOSEN.findall(text)))
    return numbers.pop() if len(numbers) == 1 else None


# -- blocks ----------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block: its label in lower case, and its text."""

    label: str
    text: str


def blocks(answer: str) -> Iterator[Block]:
    """The fenced blocks of an answer; a bare fence like its own ends a block."""
    lines = answer.split("\n")
    last = {line.strip(): number for number, line in enumerate(lines)}
    number = 0
    while number < len(lines):
        fence = _FENCE.fullmatch(lines[number])
        if fence and last.get(fence[1], 0) > number:
            start = number + 1
            number = next(n for n in range(start, len(lines)) if lines[n].strip() == fence[1])
            yield Block(fence[2].lower(), "\n".join(lines[start:number]))
        number += 1
