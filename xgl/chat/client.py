"""One request to an OpenAI-compatible endpoint: an answer, or why there is none.

This module never retries, and raises no exception of the network: a fault is a value. If the server
repeats the key, it is replaced in the fault's text.

An HTTP answer is bounded in bytes, also once decompressed, and in seconds as a whole. Redirects are
not followed: they would take the prompt, and the key, to another host.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import math
import os
import re
import time
import zlib
from collections.abc import Mapping
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from xgl.chat.answers import content_text
from xgl.chat.settings import ChatSettings
from xgl.errors import PlayerError

if TYPE_CHECKING:
    import httpx2  # loads slowly: only where a request is sent

MOST_BYTES = 4 << 20
"""Usual limit of an answer."""
CONNECT_SECONDS = 10.0
"""Limit of a connection's beginning: who is away is noticed before an answer could be due."""
_ENCODINGS = ("gzip", "x-gzip", "deflate")


class NoAnswerError(Exception):
    """There is no connection, or no whole answer in time: it may be there the next time."""


class WrongAnswerError(Exception):
    """An answer that is not read; the next one would be no better."""


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def open_client(headers: Mapping[str, str]) -> httpx2.AsyncClient:
    """A client that sends these headers and keeps its connections; to be closed.

    Raises ValueError for proxies in the environment that cannot be.
    """
    import httpx2

    try:
        return httpx2.AsyncClient(
            headers={**headers, "Accept-Encoding": "gzip"},
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
            follow_redirects=False,
        )
    except (ImportError, httpx2.InvalidURL) as error:
        raise ValueError(str(error)) from None


async def exchange(
    client: httpx2.AsyncClient, url: str, body: Any, seconds: float, most_bytes: int = MOST_BYTES
) -> Answer:
    """The answer to ``body`` as JSON, or to a GET if it is None.

    Raises :class:`NoAnswerError` and :class:`WrongAnswerError`.
    """
    import httpx2

    method = "GET" if body is None else "POST"
    try:
        async with asyncio.timeout(seconds), client.stream(method, url, json=body) as response:
            if response.is_redirect:
                place = response.headers.get("location", "nowhere")
                raise WrongAnswerError(
                    f"a redirect ({response.status_code}) to {place}, which is not followed; "
                    "expected the address itself"
                )
            content = await _bounded(response, most_bytes)
            return Answer(response.status_code, response.headers, content)
    except TimeoutError:
        raise NoAnswerError(f"no whole answer within {seconds:g} seconds") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise NoAnswerError(f"no connection ({reason})") from None


async def _bounded(response: httpx2.Response, most_bytes: int) -> bytes:
    """The body, decompressed; no more than ``most_bytes`` are ever held."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in (*_ENCODINGS, "identity", ""):
        raise WrongAnswerError(f"an answer in the encoding {encoding}, expected gzip or none")
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32) if encoding in _ENCODINGS else None
    body, received = bytearray(), 0
    async for chunk in response.aiter_raw():
        received += len(chunk)
        try:
            body += inflater.decompress(chunk, most_bytes + 1 - len(body)) if inflater else chunk
        except zlib.error as error:
            raise WrongAnswerError(f"an answer that is no {encoding} ({error})") from None
        if max(len(body), received) > most_bytes:
            raise WrongAnswerError(f"an answer of more than {most_bytes:,} bytes")
        if inflater and inflater.eof:
            break
    return bytes(body)


TRANSIENT_STATUS = (408, 409, 425, 429)
OVERSIZE_STATUS = (400, 413, 422)
_WINDOW = re.compile(
    r"context.?(length|size|window)|maximum context|prompt is too long|token count.*exceed"
    r"|too many (input |prompt )?tokens",
    re.IGNORECASE,
)
_ACCOUNT = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}
"""Variables of OpenAI's own clients that name who pays, by their headers."""
MAX_REASON = 300
"""Most characters quoted from a server's message."""

Message = dict[str, str]
"""``role`` (system, user, assistant) and ``content``."""


class Kind(Enum):
    """How to handle a fault: a retry may help, the view is too long, or nothing helps."""

    TRANSIENT = "transient"
    OVERSIZE = "oversize"
    FINAL = "final"


class Fault(NamedTuple):
    """``message``: what went wrong, and for a final fault what to do, as a clause without a stop.

    ``wait``: seconds that the server asks to wait, 0 if it does not say. ``status``: with which it
    refused, at no cost; None if it did not.
    """

    kind: Kind
    message: str
    wait: float = 0.0
    status: int | None = None


class Reply(NamedTuple):
    """An answer's text, empty if it has none; ``cut``: it ended at its token limit."""

    text: str
    cut: bool = False


Response = tuple[Reply | Fault, tuple[int, int] | None]
"""And tokens of the prompt and of the answer, as the server counts; None: not reported."""


def follow_up(messages: list[Message], answer: str, text: str) -> list[Message]:
    """The conversation so far, the answer, and ``text`` as the response to it."""
    return [
        *messages,
        # some servers refuse an assistant message without text
        {"role": "assistant", "content": answer.strip() or "(no text)"},
        {"role": "user", "content": text},
    ]


def read_key(settings: ChatSettings) -> str | None:
    """The API key from the environment; None for an endpoint that needs none.

    Raises :class:`PlayerError` if the variable is not set or holds characters that a header cannot
    have.
    """
    if settings.key_name is None:
        return None
    key = os.environ.get(settings.key_name, "").strip()
    if not key:
        raise PlayerError(
            f"{settings.place}: the environment variable {settings.key_name} is not set; expected "
            "the API key in it"
        )
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise PlayerError(f"the environment variable {settings.key_name} holds no API key")
    return key


class Endpoint:
    """An endpoint while it is open (``async with``); connections are kept between requests."""

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self._key = read_key(settings)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        if settings.is_openai:  # the account that the environment names is no one else's matter
            named = {name: os.environ.get(variable) for name, variable in _ACCOUNT.items()}
            headers |= {name: value for name, value in named.items() if value}
        try:
            self._client = open_client(headers)
        except ValueError as error:
            raise PlayerError(f"{settings.place}: {error}") from None

    async def __aenter__(self) -> Endpoint:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._client.aclose()

    async def send(self, messages: list[Message], seed: int) -> Response:
        """Send one request and wait for its whole answer, ``settings.timeout`` seconds at most."""
        answer = await self.request("chat/completions", self._parameters(messages, seed))
        if isinstance(answer, Fault):
            return answer, (0, 0) if answer.status else None
        return _parse_response(answer, self._key)

    async def request(
        self,
        path: str,
        body: Any = None,
        most_bytes: int = MOST_BYTES,
        seconds: float | None = None,
    ) -> bytes | Fault:
        """The answer to ``body`` at a path below the base URL, or to a GET without one."""
        url = f"{self.settings.base_url.rstrip('/')}/{path}"
        seconds = self.settings.timeout if seconds is None else seconds
        try:
            answer = await exchange(self._client, url, body, seconds, most_bytes)
        except NoAnswerError as error:
            return Fault(Kind.TRANSIENT, one_line(str(error), self._key))
        except WrongAnswerError as error:
            return Fault(Kind.FINAL, one_line(str(error), self._key))
        is_good = 200 <= answer.status < 300
        return answer.body if is_good else _status_fault(answer, self.settings, self._key)

    def _parameters(self, messages: list[Message], seed: int) -> dict[str, Any]:
        settings = self.settings
        parameters: dict[str, Any] = {
            "model": settings.model,
            "messages": messages,
            settings.limit_name: settings.answer_tokens,
        }
        for name in ("temperature", "top_p", "reasoning_effort"):
            if (value := getattr(settings, name)) is not None:
                parameters[name] = value
        if settings.send_seed:
            parameters["seed"] = seed
        return parameters | (settings.extra_body or {})


def _parse_response(body: bytes, key: str | None) -> Response:
    """The first choice of a chat completion, and the tokens it counts."""
    completion = read_json(body)
    if completion is None:
        return Fault(Kind.TRANSIENT, "an answer that is incomplete JSON"), None
    counts = (
        lookup(completion, "usage", "prompt_tokens"),
        lookup(completion, "usage", "completion_tokens"),
    )
    tokens = counts if all(type(count) is int and count >= 0 for count in counts) else None
    message = lookup(completion, "choices", 0, "message")
    if not isinstance(message, dict):
        error = lookup(completion, "error", "message")
        reason = f" ({one_line(str(error), key)})" if error else ""
        return Fault(Kind.TRANSIENT, f"an answer without a choice{reason}"), tokens
    cut = lookup(completion, "choices", 0, "finish_reason") == "length"
    text = _redact(key, content_text(message.get("content")))  # answers are kept
    return Reply(text, cut), tokens


def served_models(content: bytes) -> list[str]:
    """The names in a list of models; none if it is none."""
    served = lookup(read_json(content), "data")
    return [str(lookup(each, "id")) for each in served] if isinstance(served, list) else []


def read_json(body: bytes) -> Any:
    """The value of a JSON text; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def lookup(value: Any, *path: str | int) -> Any:
    """The value at a path of keys and positions; None if there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _status_fault(answer: Answer, settings: ChatSettings, key: str | None) -> Fault:
    status, body = answer.status, read_json(answer.body)
    is_text = body is None
    body = answer.body.decode(errors="replace") if is_text else lookup(body, "error") or body
    # OpenAI's name, FastAPI's, and that of some other servers
    reason = lookup(body, "message") or lookup(body, "detail") or lookup(body, "error") or body
    message = f"refused with {status} ({one_line(str(reason or 'no reason given'), key)})"
    codes = f"{lookup(body, 'code')} {lookup(body, 'type')}"
    if "insufficient_quota" in codes:
        return Fault(Kind.FINAL, f"{message}; the account has no quota left", status=status)
    if status in TRANSIENT_STATUS or status >= 500:
        return Fault(Kind.TRANSIENT, message, _wait(answer.headers), status)
    if status in OVERSIZE_STATUS and _WINDOW.search(f"{codes} {reason}"):
        return Fault(Kind.OVERSIZE, message, status=status)
    return Fault(Kind.FINAL, f"{message}; {_advice(status, settings)}", status=status)


def _advice(status: int, settings: ChatSettings) -> str:
    if status in (401, 403):
        if settings.key_name is None:
            return "name the environment variable that holds the key (key_variable)"
        return f"check the key in the environment variable {settings.key_name}"
    if status == 404:
        return "check the name of the model and the base URL"
    return "check the name of the model and what the endpoint takes"


def _wait(headers: Mapping[str, str]) -> float:
    """Seconds to wait by a Retry-After header (a number or a date); 0 if there is none."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    return 0.0 if math.isnan(seconds) else max(0.0, seconds)


def _seconds_until(date: str) -> float:
    fields = email.utils.parsedate_tz(date)
    try:
        return email.utils.mktime_tz(fields) - time.time() if fields else 0.0
    except (ValueError, OverflowError):  # a year that no clock knows
        return 0.0


def one_line(text: str, key: str | None = None) -> str:
    """A server's message, shortened to one printable line, without the key."""
    text = _redact(key, text)
    printable = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split())[:MAX_REASON]


def _redact(key: str | None, text: str) -> str:
    return text.replace(key, "[key]") if key else text
