"""One HTTP exchange whose answer is bounded: in bytes, also once decompressed, and in seconds as a
whole. Redirects are not followed: they would take the prompt, and the key, to another host."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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


@dataclass(frozen=True, slots=True)
class Answer:
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
