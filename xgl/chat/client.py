"""One request to an OpenAI-compatible endpoint: an answer, or why there is none.

This module never retries, and raises no exception of the network: a fault is a value. If the server
repeats the key, it is replaced in the fault's text.

An HTTP answer is bounded in bytes, asked for as it is, not compressed, and bounded in seconds as a
whole. Redirects are not followed: they would take the prompt, and the key, to another host.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
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
TRANSIENT_STATUS = (408, 409, 425, 429)
OVERSIZE_STATUS = (400, 413, 422)
_WINDOW = re.compile(
    r"context.?(length|size|window)|maximum context|prompt is too long|token count.*exceed"
    r"|too many (input |prompt )?tokens",
    re.IGNORECASE,
)
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
        import httpx2

        try:
            self._client = httpx2.AsyncClient(
                headers={**headers, "Accept-Encoding": "identity"},
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx2.InvalidURL) as error:  # proxies that cannot be
            raise PlayerError(f"{settings.place}: {error}") from None

    async def __aenter__(self) -> Endpoint:
        return self

    async def __aexit__(self, *_: object) -> None:
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
        import httpx2

        url = f"{self.settings.base_url.rstrip('/')}/{path}"
        seconds = self.settings.timeout if seconds is None else seconds
        method = "GET" if body is None else "POST"
        try:
            async with (
                asyncio.timeout(seconds),
                self._client.stream(method, url, json=body) as response,
            ):
                return await self._read(response, most_bytes)
        except TimeoutError:
            reason = f"no whole answer within {seconds:g} seconds"
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = f"no connection ({type(error).__name__}: {error})"
        return Fault(Kind.TRANSIENT, one_line(reason, self._key))

    async def _read(self, response: httpx2.Response, most_bytes: int) -> bytes | Fault:
        """The body of an answer, of which no more than ``most_bytes`` are held."""
        status = response.status_code
        reason, body = "", bytearray()
        if response.is_redirect:
            place = response.headers.get("location", "nowhere")
            reason = f"a redirect ({status}) to {place}, which is not followed; expected the "
            reason += "address itself"
        else:
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > most_bytes:
                    reason = f"an answer of more than {most_bytes:,} bytes"
                    break
        if reason:  # the next answer would be no better
            return Fault(Kind.FINAL, one_line(reason, self._key))
        if response.is_success:
            return bytes(body)
        return _status_fault(status, response.headers, bytes(body), self.settings, self._key)

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


def _status_fault(
    status: int, headers: Mapping[str, str], text: bytes, settings: ChatSettings, key: str | None
) -> Fault:
    body = read_json(text)
    body = text.decode(errors="replace") if body is None else lookup(body, "error") or body
    # OpenAI's name, FastAPI's, and that of some other servers
    reason = lookup(body, "message") or lookup(body, "detail") or lookup(body, "error") or body
    message = f"refused with {status} ({one_line(str(reason or 'no reason given'), key)})"
    codes = f"{lookup(body, 'code')} {lookup(body, 'type')}"
    if "insufficient_quota" in codes:
        return Fault(Kind.FINAL, f"{message}; the account has no quota left", status=status)
    if status in TRANSIENT_STATUS or status >= 500:
        return Fault(Kind.TRANSIENT, message, _wait(headers), status)
    if status in OVERSIZE_STATUS and _WINDOW.search(f"{codes} {reason}"):
        return Fault(Kind.OVERSIZE, message, status=status)
    advice = "check the name of the model and what the endpoint takes"
    if status in (401, 403) and settings.key_name:
        advice = f"check the key in the environment variable {settings.key_name}"
    elif status in (401, 403):
        advice = "name the environment variable that holds the key (key_variable)"
    elif status == 404:
        advice = "check the name of the model and the base URL"
    return Fault(Kind.FINAL, f"{message}; {advice}", status=status)


def _wait(headers: Mapping[str, str]) -> float:
    """Seconds to wait by a Retry-After header with a number; 0 if there is none."""
    with suppress(ValueError):
        seconds = float(headers.get("retry-after", ""))
        return seconds if seconds > 0 else 0.0
    return 0.0


def one_line(text: str, key: str | None = None) -> str:
    """A server's message, shortened to one printable line, without the key."""
    text = _redact(key, text)
    printable = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split())[:MAX_REASON]


def _redact(key: str | None, text: str) -> str:
    return text.replace(key, "[key]") if key else text
