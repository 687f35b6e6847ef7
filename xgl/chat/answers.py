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

EXAMPLES = frozenset(("a few words", "a few words.", "...", "…"))
"""The moves in the instructions of ``xgl.runtime.presentation``; an answer that repeats one has not
moved."""

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
_PAIR = r"<[ \t]*move[ \t]*>(?P<move>(?:(?!<[ \t]*/?[ \t]*move[ \t]*>).)*)<[ \t]*/[ \t]*move[ \t]*>"
_MOVE = re.compile(_PAIR, re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(_CLOSE, re.IGNORECASE)
_THOUGHT = re.compile(rf"(?P<open>{_OPEN})|{_CLOSE}", re.IGNORECASE)
_MARK = re.compile(rf"{_PAIR}|{_THOUGHT.pattern}", re.DOTALL | re.IGNORECASE)
_MESSAGE = re.compile(
    r"<\|channel\|>\s*(\w++)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"(.*?)(?=<\|(?:channel|end|return|call|start)\|>|\Z)",
    re.DOTALL,
)
"""A message as gpt-oss writes it ("harmony"); what it says is on the channel ``final``."""
_BARE_CHANNELS = re.compile(r"\s*analysis(?:.*assistant\s*final|[A-Z].*)", re.DOTALL)
"""The same where a server has removed the special tokens."""
_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|return|endoftext|end_of_text)\|>|<end_of_turn>|</s>\s*\Z"
)
_FINAL = re.compile(
    r"^[#*_> \t]*(?:(?:my|the|here is)[ \t]+)*final[ \t]+"
    r"(?:answers?|list|games|programs|versions?|rule[ \t]?books?)[*_: \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER = re.compile(r"<answer>((?:(?!<answer>).)*)</answer>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(```+|~~~+)[ \t]*([\w+.-]*).*")


def remove_thoughts(answer: str) -> str:
    """An answer without its thoughts, in any of the marks that models put around them.

    A thought without an end mark reaches to the end of the answer; one without an opening mark (the
    prompt opened it) begins at its start. A mark in a move is a part of the move.

    >>> remove_thoughts("hm</think>a<think>b</think>c<think>d")
    'ac'
    """
    if messages := _MESSAGE.findall(answer):
        answer = "".join(text for channel, text in messages if channel == "final")
    elif bare := _BARE_CHANNELS.match(answer):
        answer = answer[bare.end() :]
    parts: list[str] = []
    place, thinking = 0, False
    while mark := (_END_OF_THOUGHT if thinking else _MARK).search(answer, place):
        if not thinking:
            parts.append(answer[place : mark.start()])
            if mark["move"] is not None:
                parts.append(mark[0])
            elif not mark["open"]:
                parts.clear()
        thinking = not thinking and mark["move"] is None and mark["open"] is not None
        place = mark.end()
    return "".join(parts) if thinking else "".join([*parts, answer[place:]])


def final_text(answer: str) -> str:
    """What an answer says in the end: without thoughts, marks of a turn's end, and drafts before a
    line such as "Final answer:"."""
    text = _TURN_END.sub("", remove_thoughts(answer))
    finals = list(_FINAL.finditer(text))
    after = text[finals[0].end() :] if len(finals) == 1 else ""
    return after.strip() or text.strip()


def document(text: str) -> str:
    """A text that is all of an answer, without tags, a fence or sentences around it.

    >>> document("Here it is:\\n```markdown\\n# Tug\\nPull.\\n```")
    '# Tug\\nPull.'
    """
    tagged = _ANSWER.findall(text)
    lines = (tagged[-1] if tagged else text).strip().split("\n")
    fences = [(n, fence) for n, line in enumerate(lines) if (fence := _FENCE.fullmatch(line))]
    first, opening = fences[0] if fences else (0, None)
    ends = [n for n, _ in fences[1:] if opening and lines[n].strip() == opening[1]]
    if opening and ends:
        within, around = lines[first + 1 : ends[-1]], [*lines[:first], *lines[ends[-1] + 1 :]]
        is_document = opening[2].lower() in ("markdown", "md")
        if is_document or len("".join(within)) >= 4 * len("".join(around)):
            return "\n".join(within)
    return "\n".join(lines)


# -- moves -----------------------------------------------------------------------------------------

_QUOTES = "\"'`*_“”‘’«»"
_BETWEEN_TAGS = re.compile(r"\W*(?:(?:and|then|und|et)\b\W*)?", re.IGNORECASE)
"""What stands between the tags where an answer speaks of them: "between <move> and </move>"."""


def parse_move(answer: str) -> str | None:
    """The move of an answer: the last of :func:`parse_moves`; None if there is none.

    >>> parse_move("hm, <move>cats</move> or rather <MOVE>\\n two dogs\\n</MOVE>.")
    'two dogs'
    """
    moves = parse_moves(answer, 1)
    return moves[0] if moves else None


def parse_moves(answer: str, count: int) -> list[str]:
    """The last ``count`` moves of an answer in the order written, fewer if it holds fewer.

    A move is the text in a pair of tags (upper or lower case) that contains no other tag. It is one
    line: a local policy's ends at the first line break, a chat model's line breaks become spaces,
    since it may well write the tags on lines of their own. Thoughts hold no moves, and neither does
    a repetition of the instruction. Empty pairs count only if too few others are there.
    """
    found = _MOVE.finditer(remove_thoughts(answer))
    pairs = [pair["move"].strip() for pair in found if not _repeats_instruction(pair)]
    moves = [" ".join(line.strip() for line in pair.splitlines()) for pair in pairs]
    written = [move for move in moves if move]
    return (written if len(written) >= count else moves)[-count:]


def _repeats_instruction(pair: re.Match[str]) -> bool:
    """Whether it is an example of the instruction, or a sentence about the tags."""
    inner: str = pair["move"]
    if inner.strip(f" \t\n{_QUOTES}").lower() in EXAMPLES:
        return True
    before = pair.string[max(0, pair.start() - 40) : pair.start()]
    is_quoted = inner[:1] in (*_QUOTES,) and before.endswith(inner[:1])
    in_sentence = not inner[:1].isalnum() and before.rstrip(f" \t([{_QUOTES}")[-1:].isalnum()
    return (is_quoted or in_sentence) and _BETWEEN_TAGS.fullmatch(inner) is not None


def missing_text(answer: str, cut: bool = False) -> str:
    """The reply to an answer that held no move; ``cut``: it ended at its token limit."""
    text = remove_thoughts(answer)
    if cut:
        wrong = "reached its limit before it held a move; be brief"
    elif answer.strip() and not text.strip():
        wrong = "held thoughts and nothing after them"
    elif _MOVE.search(text):
        wrong = "repeated the instruction and held no move of your own"
    elif re.search("<move>", text, re.IGNORECASE):
        wrong = "opened <move> and did not close it with </move>"
    else:
        wrong = "held no <move>...</move>"
    return f"Your answer {wrong}. Write your move between <move> and </move>."


# -- numbers ---------------------------------------------------------------------------------------

_BOX = re.compile(
    r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
    r"|<(answer|final_answer|final|move|action|choice|number|output|response|result)>([^<]*)</\2>"
    r"|<\|begin_of_box\|>([^<]*)<\|end_of_box\|>",
    re.IGNORECASE,
)
_KEYS = r"\b(?:[a-z]+_)?(?:answer|move|action|choice|option|number|index)(?:_[a-z]+)?"
_NUMBER = r"(?<![\w.,+-])([0-9]{1,9})(?!\w|[.,]\d|\s*(?:,|/|or|and)\s*\d)"
_NAMED = re.compile(rf"{_KEYS}\W{{0,9}}?(?:is|be|[:=：])\W{{0,9}}{_NUMBER}", re.IGNORECASE)
_CHOSEN = re.compile(
    rf"(?:{_KEYS}|\b(?:choose|pick|select|play|go with))\W{{1,9}}{_NUMBER}", re.IGNORECASE
)
_ALONE = re.compile(r"[\W_]*(?<![+-])([0-9]{1,9})(?:[\W_]*|\s*(?:[(:,]|[-–—] )(?!.*\d).*)")
"""A line that is a number, or begins with one and says why."""


def parse_number(answer: str) -> int | None:
    """The whole number from 0 that an answer names as its move; None if that is not clear.

    In this order: what is boxed or tagged, what is called the answer or the like, in JSON too, and
    what stands alone in a line or is chosen, if all of these are equal.

    >>> [parse_number(text) for text in ("**3**", "Not 2. Answer: 3.", "2 or 3", "I take 3 sticks")]
    [3, 3, None, None]
    """
    text = unicodedata.normalize("NFKC", final_text(answer)).replace("\ufe0f", "").replace("⃣", "")
    if boxes := _BOX.findall(text):
        text = re.sub(r"\\[a-z]+", " ", boxes[-1][0] + boxes[-1][2] + boxes[-1][3])
    if named := _NAMED.findall(text):
        return int(named[-1])
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
