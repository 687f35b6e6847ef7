"""Settings of a chat player, checked when they are made."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from xgl.chat.accounting import Budget, Prices
from xgl.settings import Count, Flag, Natural, NonNegative, Positive, PositiveShare, settings

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


def _check_variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        # Not shown: it may be the key itself.
        raise ValueError(
            f"expected the name of an environment variable in capitals, as {OPENAI_KEY}, not the "
            "key itself"
        )
    return name


def _check_url(url: str) -> str:
    expected = "expected http(s)://host[:port]/v1"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError(expected) from None
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(f"{expected}; a key goes into an environment variable")
    if not usable:
        raise ValueError(f"found {url!r}, {expected}")
    return url


def _check_model(name: str) -> str:
    if not name.strip():
        raise ValueError(f"found {name!r}, expected the name of a model")
    return name


ModelName = Annotated[str, AfterValidator(_check_model)]
BaseUrl = Annotated[str, AfterValidator(_check_url)]
VariableName = Annotated[str, AfterValidator(_check_variable)]


@settings
class Requests:
    """Settings of the requests to an endpoint."""

    key_variable: VariableName | None = None
    """Environment variable that holds the API key; null: OPENAI_API_KEY at OpenAI's own endpoint
    and no key anywhere else, so that no key goes where it does not belong."""
    concurrency: Count = 8
    """Requests under way at once, at most."""
    timeout: Positive = 120.0
    """Seconds from sending a request to having its whole answer."""
    retries: Natural = 6
    """How often one request is sent again after faults that may pass."""
    first_backoff: NonNegative = 1.0
    """Seconds before the first retry, doubled each time, times a jitter from 0.5 to 1."""
    max_backoff: NonNegative = 60.0
    """Seconds between retries, at most; where a server asks for a longer wait, the batch ends."""


@settings
class Answers:
    """Settings of the answers of a model behind an endpoint."""

    temperature: NonNegative = 1.0
    """Sampling temperature."""
    top_p: PositiveShare | None = None
    """Share of the probability to sample from; null: as the endpoint has it."""
    answer_tokens: Count = 2048
    """Most tokens of an answer, thoughts included; some servers want room for them in the model's
    window."""
    limit_parameter: str | None = None
    """How the endpoint calls that limit; null: max_completion_tokens at OpenAI's own endpoint,
    max_tokens elsewhere."""
    send_seed: Flag = True
    """False for an endpoint that refuses the parameter seed."""


@settings(kw_only=False)
class ChatSettings(Answers, Requests):
    """A model behind an endpoint that speaks OpenAI's chat-completions API; by default OpenAI's."""

    model: ModelName
    """As the endpoint calls it."""
    base_url: BaseUrl = OPENAI
    """http(s), up to and with /v1; it may hold no user name, password or query."""
    ask_again: Natural = 2
    """How often an answer without what was asked for is asked again."""
    prices: Prices = Prices()
    """Dollars per million tokens, of prompt and answer."""
    budget: Budget = Budget()
    """What may be spent before the next request is refused."""

    def __post_init__(self) -> None:
        if self.budget.dollars is not None and not self.prices:
            raise ValueError("budget: found dollars and no prices, expected both")

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
