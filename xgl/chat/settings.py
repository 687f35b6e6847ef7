"""Settings of a chat player, checked when they are made."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from xgl.chat.accounting import Budget, Prices
from xgl.errors import PlayerError

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
FREE = Prices()
UNBOUNDED = Budget()
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Raises :class:`~xgl.errors.PlayerError` for a value that cannot be.

    The defaults ask the endpoint of OpenAI; any other that speaks its chat-completions API is
    named by ``base_url``.
    """

    model: str
    base_url: str = OPENAI
    """http(s), up to and with ``/v1``; it may hold no user name, password or query."""
    key_variable: str | None = None
    """Environment variable that holds the API key. None: ``OPENAI_API_KEY`` at OpenAI's own
    endpoint and no key anywhere else, so that no key goes where it does not belong."""
    concurrency: int = 8
    """Requests under way at once, at most."""
    timeout: float = 120.0
    """Seconds from sending a request to having its whole answer."""
    retries: int = 6
    """How often one request is sent again after faults that may pass."""
    first_backoff: float = 1.0
    """Seconds before the first retry, doubled each time, times a jitter from 0.5 to 1."""
    max_backoff: float = 60.0
    """Seconds, at most; a server that asks for a longer wait ends the batch."""
    temperature: float = 1.0
    top_p: float | None = None
    answer_tokens: int = 2048
    """Most tokens of an answer, thoughts included; some servers want room for them in the
    model's window."""
    limit_parameter: str | None = None
    """How the endpoint calls that limit. None: ``max_completion_tokens`` at OpenAI's own
    endpoint, ``max_tokens`` elsewhere."""
    send_seed: bool = True
    """False for an endpoint that refuses the parameter ``seed``."""
    ask_again: int = 2
    """How often an answer without what was asked for is asked again."""
    prices: Prices = FREE
    budget: Budget = UNBOUNDED

    def __post_init__(self) -> None:
        self._check_numbers()
        self._expect("model", bool(self.model.strip()), "the name of a model")
        if self.budget.dollars is not None and not self.prices:
            raise PlayerError("budget: found dollars and no prices, expected both")
        if self.key_variable is not None and not _VARIABLE.fullmatch(self.key_variable):
            # Not shown: it may be the key itself.
            raise PlayerError(
                "key_variable: expected the name of an environment variable in capitals, as "
                f"{OPENAI_KEY}, not the key itself"
            )
        _check_url(self.base_url)

    def _check_numbers(self) -> None:
        for name in ("concurrency", "answer_tokens"):
            self._expect(name, getattr(self, name) >= 1, "at least 1")
        for name in ("retries", "ask_again", "first_backoff", "max_backoff", "temperature"):
            value = getattr(self, name)
            self._expect(name, math.isfinite(value) and value >= 0, "a number from 0 on")
        self._expect("timeout", 0 < self.timeout < math.inf, "seconds, more than 0")
        self._expect("top_p", self.top_p is None or 0 < self.top_p <= 1, "more than 0, at most 1")

    def _expect(self, name: str, holds: bool, expected: str) -> None:
        if not holds:
            raise PlayerError(f"{name}: found {getattr(self, name)!r}, expected {expected}")

    @property
    def is_openai(self) -> bool:
        return self.base_url.rstrip("/") == OPENAI

    @property
    def key_name(self) -> str | None:
        """The variable to take the key from; None: the endpoint needs none."""
        return self.key_variable or (OPENAI_KEY if self.is_openai else None)

    @property
    def limit_name(self) -> str:
        usual = "max_completion_tokens" if self.is_openai else "max_tokens"
        return self.limit_parameter or usual

    @property
    def place(self) -> str:
        """Endpoint and model, as errors name them."""
        return f"{self.base_url}, model {self.model!r}"


def _check_url(url: str) -> None:
    expected = "expected http(s)://host[:port]/v1"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise PlayerError(f"base_url: {expected}") from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise PlayerError(f"base_url: {expected}; a key goes into an environment variable")
    if not usable:
        raise PlayerError(f"base_url: found {url!r}, {expected}")
