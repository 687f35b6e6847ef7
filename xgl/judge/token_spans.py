"""A text as pieces, one for each of the judge's tokens."""

from __future__ import annotations

from itertools import pairwise

from xgl.runtime.requests import Judge


def pieces(judge: Judge, text: str, scored: int) -> list[str]:
    """The judge's tokens of a text as pieces of it, of which the last ``scored`` count.

    Where its tokens cannot be laid upon the text, the text is cut in pieces of one length.
    """
    ends = [len(judge.truncate(text, count)) for count in range(judge.count(text) + 1)]
    found = [text[start:end] for start, end in pairwise(ends)]
    if len(found) >= scored and all(found) and "".join(found) == text:
        return found
    return _evenly(text, scored)


def _evenly(text: str, parts: int) -> list[str]:
    marks = [round(k * len(text) / max(parts, 1)) for k in range(parts + 1)]
    return [text[start:end] for start, end in pairwise(marks)]
