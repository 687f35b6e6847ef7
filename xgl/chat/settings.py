"""Settings of a model behind an endpoint, and what its requests cost."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from xgl.errors import BudgetError
from xgl.models.references import OPENAI, model_name_fault
from xgl.settings import Count, Flag, Natural, NonNegative, Positive, PositiveShare, Role, settings


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of requests and tokens, as the server reports them, and dollars; usages add up."""

    requests: int = 0
    prompt_tokens: int = 0
    new_tokens: int = 0
    dollars: float = 0.0

    @property
    def tokens(self) -> int:
        """Tokens of prompts and answers."""
        return self.prompt_tokens + self.new_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


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


_URL = re.compile(r"https?://[^/:\s][^/\s]*(/\S*)?", re.IGNORECASE)


def _check_url(url: str) -> str:
    expected = "expected http(s)://host[:port]/v1"
    if set("@?#") & set(url):
        raise ValueError(f"{expected}; a key goes into an environment variable")
    try:  # as HTTP's library will: a port up to 65535, and no half of a surrogate pair
        is_address = bool(_URL.fullmatch(url)) and urlsplit(url).port != 0 and bool(url.encode())
    except ValueError:
        is_address = False
    if not is_address:
        raise ValueError(f"found {url!r}, {expected}")
    return url


OWN_PARAMETERS = ("model", "messages", "stream", "n", "seed")
"""What requests say themselves."""


def _check_body(body: dict[str, Any] | None, others: Sequence[str] = ()) -> dict[str, Any] | None:
    if own := next((name for name in body or () if name in (*OWN_PARAMETERS, *others)), None):
        raise ValueError(f"found {own!r}, expected parameters that requests do not set themselves")
    try:
        json.dumps(body, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"expected what JSON can hold ({error})") from None
    return body


BaseUrl = Annotated[str, AfterValidator(_check_url)]
VariableName = Annotated[str, AfterValidator(_check_variable)]
Word = Annotated[str, Field(min_length=1)]
_SAMPLING = ("temperature", "top_p", "reasoning_effort")
ParameterName = Annotated[Word, AfterValidator(lambda n: _check_body({n: 0}, _SAMPLING) and n)]


@settings
class Requests:
    """How a model behind an endpoint is asked; its answers depend on ``temperature`` and what
    follows."""

    key_variable: Annotated[VariableName | None, Role.RESUMABLE] = None
    """Environment variable that holds the API key; null: OPENAI_API_KEY at OpenAI's own endpoint,
    and no key at any other, so that no key is sent to the wrong server."""
    concurrency: Annotated[Count, Role.RESUMABLE] = 8
    """Most requests in progress at once."""
    timeout: Annotated[Positive, Role.RESUMABLE] = 120.0
    """Seconds from sending a request to the end of its answer."""
    retries: Annotated[Natural, Role.RESUMABLE] = 6
    """How often one request is sent again after temporary faults."""
    temperature: NonNegative | None = 1.0
    """Sampling temperature; null: none is sent, for models that take no other than their own."""
    top_p: PositiveShare | None = None
    """Share of the probability to sample from; null: the endpoint's own default."""
    answer_tokens: Count = 2048
    """Most tokens of an answer, reasoning included; some servers reserve room for them in the
    model's window."""
    limit_parameter: ParameterName | None = None
    """The endpoint's name for that limit; null: max_completion_tokens at OpenAI's own endpoint,
    max_tokens elsewhere."""
    send_seed: Flag = True
    """Whether requests have the parameter seed; false for an endpoint that refuses it."""
    reasoning_effort: Word | None = None
    """How long the model thinks, in the endpoint's words, as low; null: its own default."""
    extra_body: Annotated[dict[str, Any] | None, AfterValidator(_check_body)] = None
    """Further parameters of each request, as {chat_template_kwargs: {enable_thinking: false}}."""


@settings
class Endpoint(Requests):
    """An endpoint that speaks OpenAI's chat-completions API, by default OpenAI's, and what it may
    cost."""

    base_url: Annotated[BaseUrl, Role.RESUMABLE] = OPENAI
    """http(s) URL that ends with /v1, without user name, password or query."""
    price_prompt: NonNegative = 0.0
    """Dollars per million tokens read."""
    price_new: NonNegative = 0.0
    """Dollars per million tokens written."""
    budget_tokens: Annotated[Natural | None, Role.RESUMABLE] = None
    """Tokens, read and written, after which further requests are refused; null: no limit."""
    budget_dollars: Annotated[NonNegative | None, Role.RESUMABLE] = None
    """Dollars after which further requests are refused, which needs prices; null: no limit."""


@settings
class ChatSettings(Endpoint):
    """A model behind an endpoint."""

    model: str
    """The model's name at the endpoint."""

    def __post_init__(self) -> None:
        if self.budget_dollars is not None and not self.has_prices:
            raise ValueError(
                f"budget_dollars: found {self.budget_dollars} and no prices, expected both"
            )
        if fault := model_name_fault(self.model, self.base_url):
            raise ValueError(f"model: found {self.model!r}, {fault}")

    @property
    def has_prices(self) -> bool:
        return self.price_prompt > 0 or self.price_new > 0

    def dollars(self, prompt_tokens: int, new_tokens: int) -> float:
        """Cost of tokens read and written."""
        return (self.price_prompt * prompt_tokens + self.price_new * new_tokens) / 1e6

    def check_budget(self, usage: Usage) -> None:
        """Raises :class:`BudgetError` when ``usage`` reaches the budget."""
        tokens, dollars = self.budget_tokens, self.budget_dollars
        if tokens is not None and usage.tokens >= tokens:
            raise BudgetError(f"the budget of {tokens} tokens is spent ({usage.tokens} used)")
        if dollars is not None and usage.dollars >= dollars:
            used = f"{usage.dollars:.4f} used"
            raise BudgetError(f"the budget of {dollars:g} dollars is spent ({used})")

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
