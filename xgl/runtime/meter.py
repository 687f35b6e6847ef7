"""Limits on the cost of a play: work in units of about 10 ns of one core, and bytes of its record.

The prices are upper bounds of measurements by ``tests/lib/support/cost_fuzzer.py``, without judge
and players, so that any program's play ends within two seconds on a slow core.
"""

from __future__ import annotations

from json.encoder import encode_basestring_ascii

from xgl.errors import OversizeError
from xgl.language import syntax as syn
from xgl.language.canonical import Metadata

STEP = 1_500
"""One line executed."""
PART = 250
"""One node of a line evaluated (``xgl.language.visitors.parts``)."""
REQUEST = 1_000
"""One request made, merged with its equals and answered."""
MOVE = 4_000
"""One move requested, without its text."""
DRAW = 6_000
"""One random order, without its items."""
ITEM = 40
"""One item of a list looked at, or one value that a player sees."""
TOKEN = 60
"""One token's bits summed up, and shown to one player."""
COPY, FIND, SEND = 0.2, 1, 4
"""One character copied, looked at by a search, sent to a judge."""
WORD, REMOVE, RESPELLED = 10, 30, 100
"""One character split into words, looked at where words are removed, and split into words that are
compared however they are spelled."""
COMPARE = 0.1
"""One character of a mark compared at one place of a text."""

USUAL_LIMIT = Metadata().max_characters
PAIR = 64
"""Bytes of a pair in the record of a play, without its text."""
EVENT = 220
"""Bytes of an event, without its contents."""
NUMBER = 32
"""Bytes of a number."""


class Meter:
    """Remaining work and record size of one play; both raise :class:`OversizeError` below 0.
    ``limit``: the longest string of the game. Above the usual one the limits grow with it."""

    def __init__(self, limit: int = USUAL_LIMIT) -> None:
        scale = max(1.0, limit / USUAL_LIMIT)
        self.most_work, self.most_record = scale * syn.MAX_WORK, scale * syn.MAX_RECORD
        self.work, self.record = self.most_work, self.most_record

    def spend(self, units: float) -> None:
        """Charge work before it is done."""
        self.work -= units
        if self.work < 0:
            total, most = self.most_work - self.work, self.most_work
            raise OversizeError(f"the play takes {total:,.0f} units of work, at most {most:,.0f}")

    def search(self, text: str, mark: str) -> None:
        """Charge the search of a text for a mark, in addition to reading both. Python compares the
        whole mark at every place of a short text in the worst case."""
        places = len(text) - len(mark) + 1
        self.spend(COMPARE * len(mark) * max(0, places))

    def write(self, count: int) -> None:
        """Charge bytes of the record before they are kept."""
        self.record -= count
        if self.record < 0:
            total, most = self.most_record - self.record, self.most_record
            raise OversizeError(f"the play's record has {total:,.0f} bytes, at most {most:,.0f}")


def size(text: str) -> int:
    """Bytes of a text as JSON in ASCII, the longest of its spellings."""
    return len(encode_basestring_ascii(text))
