"""Requests to an OpenAI-compatible endpoint: one, and a batch of them, a limited number at once,
retried after temporary faults, within a budget.

No exception of the network is raised: a fault is a value. If the server
repeats the key, it is replaced in the fault's text.

An HTTP answer is bounded in bytes, asked for as it is, not compressed, and bounded in seconds as a
whole. Redirects are not followed: they would take the prompt, and the key, to another host.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from xgl.chat.answers import content_text
from xgl.chat.settings import ChatSettings, Usage
from xgl.errors import PlayerError
from xgl.escaping import printable
from xgl.random_streams import seed as named_seed, stream

if TYPE_CHECKING:
    import httpx2  # loads slowly: only where a request is sent

log = logging.getLogger("xgl.chat")
Result = TypeVar("Result")
MOST_BYTES, MOST_TOKENS = 4 << 20, 1 << 30
"""Usual limit of an answer, and of what a server says that it counted."""
CONNECT_SECONDS = 10.0
"""Limit of a connection's beginning: who is away is noticed before an answer could be due."""
FIRST_BACKOFF, MAX_BACKOFF = 1.0, 60.0
"""Seconds before the first retry, doubled for each further one, and the most, also where a server
asks for a longer wait."""
TRANSIENT_STATUS = (408, 409, 425, 429)
OVERSIZE_STATUS = (400, 413, 422)
FILTERED = ("content_filter", "content_policy_violation")
"""Codes of a request that an endpoint's filter of contents keeps from the model."""
_WINDOW = re.compile(
    r"context.?(length|size|window)|maximum context|prompt is too long|token count.*exceed"
    r"|too many (input |prompt )?tokens|context limit|inputs.? (tokens|must have less)",
    re.IGNORECASE,
)
_SECONDS = re.compile(r"\d{1,9}(\.\d*)?")
MAX_REASON = 300
"""Most characters quoted from a server's message."""

Message = dict[str, str]
"""``role`` (system, user, assistant) and ``content``."""

Kind = Literal["transient", "oversize", "filtered", "final"]
"""How to handle a fault: a retry may help, the view is too long, it is an answer without a text, or
nothing helps."""


class Fault(NamedTuple):
    """``message``: what went wrong, and for a final fault what to do, as a clause without a stop.
    ``wait``: seconds that the server asks to wait, 0 if it does not say."""

    kind: Kind
    message: str
    wait: float = 0.0


class Reply(NamedTuple):
    """An answer's text, empty if it has none; ``cut``: it ended at its token limit."""

    text: str
    cut: bool = False


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
    variable = f"{settings.place}: the environment variable {settings.key_name}"
    if not key:
        raise PlayerError(f"{variable} is not set; expected the API key in it")
    if not (key.isascii() and key.isprintable()) or " " in key:
        told = f"{variable} holds no API key, but spaces or characters that a header cannot have"
        raise PlayerError(f"{told}; expected one word of ASCII")
    return key


class ChatClient:
    """A model behind an endpoint; ``usage`` adds up its requests. The key is read from the
    environment for each batch and kept nowhere."""

    def __init__(self, settings: ChatSettings) -> None:
        self.settings, self.usage = settings, Usage()

    def gather(self, work: Sequence[Callable[[RequestBatch], Awaitable[Result]]]) -> list[Result]:
        """The results of one batch of requests, in order.

        Raises the first error: :class:`PlayerError` if the endpoint refuses or does not answer
        after all retries, and :class:`~xgl.errors.BudgetError` if the budget is spent.
        """
        return run(RequestBatch(self).gather(work)) if work else []


class RequestBatch:
    """The requests of one batch to an endpoint, ``settings.concurrency`` at a time; connections are
    kept between requests.

    The first error ends the batch: no further request is sent, and running ones are awaited, so
    that their cost is counted.
    """

    def __init__(self, client: ChatClient) -> None:
        self.client, self.settings = client, (settings := client.settings)
        self.slots = asyncio.Semaphore(settings.concurrency)
        self.failure: BaseException | None = None
        self.over = asyncio.Event()
        self.asked = defaultdict[str, asyncio.Lock](asyncio.Lock)
        """Whoever asks what others ask too, by key, waits for their answer."""
        self._key = read_key(settings)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        most = settings.concurrency
        import httpx2

        try:
            self._client = httpx2.AsyncClient(
                headers={**headers, "Accept-Encoding": "identity"},
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                limits=httpx2.Limits(max_connections=most, max_keepalive_connections=most),
                follow_redirects=False,
            )
        except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
            raise PlayerError(
                f"{settings.place}: {error}; expected proxies and certificates that can be used in "
                "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
            ) from None

    async def gather(
        self, work: Sequence[Callable[[RequestBatch], Awaitable[Result]]]
    ) -> list[Result]:
        """The results in order; raises the first error."""
        async with self._client:
            results: list[Any] = await asyncio.gather(*map(self._one, work), return_exceptions=True)
        if self.failure is not None:
            raise self.failure
        return results  # a result may be an exception itself, as a value

    async def _one(self, work: Callable[[RequestBatch], Awaitable[Result]]) -> Result:
        async with self.slots:
            try:
                return await work(self)
            except BaseException as error:
                self.failure = self.failure or error
                self.over.set()
                raise

    async def reply(self, messages: list[Message], *key: str | int) -> tuple[Reply | Fault, Usage]:
        """The reply, or the fault of a request beyond the model's window; and what all requests for
        it cost. ``key`` names the seed that is sent. Raises as :meth:`ChatClient.gather`."""
        usage = Usage()
        # servers hold a seed in 32 bits, some of them signed
        body = self._parameters(messages, named_seed("chat", *key, bits=31))

        async def send() -> Reply | Fault:
            nonlocal usage
            answer = await self.request("chat/completions", body)
            outcome, tokens = _read_completion(answer, self._key)
            cost = Usage(1, *tokens, self.settings.dollars(*tokens))
            self.client.usage += cost
            usage += cost
            return outcome

        return await self.persist(send, *key), usage

    def _parameters(self, messages: list[Message], seed: int) -> dict[str, Any]:
        settings = self.settings
        parameters = {
            settings.limit_name: settings.answer_tokens,
            "model": settings.model,
            "messages": messages,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "reasoning_effort": settings.reasoning_effort,
            "seed": seed if settings.send_seed else None,
        }
        own = {name: value for name, value in parameters.items() if value is not None}
        return own | (settings.extra_body or {})

    async def persist(
        self, send: Callable[[], Awaitable[Result | Fault]], *key: str | int
    ) -> Result | Fault:
        """The outcome of ``send``, which is called again after faults that may pass; only the fault
        of a request beyond the model's window is one. Raises as :meth:`reply`."""
        number = 0
        while True:
            if self.failure is not None:  # the batch is over
                raise self.failure
            self.settings.check_budget(self.client.usage)
            outcome, number = await send(), number + 1
            if not isinstance(outcome, Fault) or outcome.kind == "oversize":
                return outcome
            if outcome.kind in ("final", "filtered"):
                raise PlayerError(f"{self.settings.place}: {outcome.message}")
            if number > self.settings.retries:
                tries = f"no answer to {number} request{'s' * (number > 1)}"
                raise PlayerError(f"{self.settings.place}: {tries}; the last: {outcome.message}")
            await self._back_off(outcome, number, key)

    async def _back_off(self, fault: Fault, number: int, key: tuple[str | int, ...]) -> None:
        """Wait after request ``number``: doubled with each, jittered by the key, at least as
        requested up to ``MAX_BACKOFF``; woken early when the batch is over."""
        longest = min(FIRST_BACKOFF * 2.0 ** min(number - 1, 64), MAX_BACKOFF)
        jitter = stream("back-off", *key, number).random()
        seconds = max(min(fault.wait, MAX_BACKOFF), longest * (1 + jitter) / 2)
        last = self.settings.retries + 1
        tries = f"request {number + 1} of {last} follows in {seconds:.1f} seconds"
        log.warning("%s: %s; %s", self.settings.place, fault.message, tries)
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), seconds)

    async def request(
        self,
        path: str,
        body: Any = None,
        most_bytes: int = MOST_BYTES,
        seconds: float | None = None,
    ) -> bytes | Fault:
        """The whole answer to ``body`` at a path below the base URL, or to a GET without one, sent
        once; ``seconds`` None: ``settings.timeout``."""
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
        return Fault("transient", one_line(reason, self._key))

    async def _read(self, response: httpx2.Response, most_bytes: int) -> bytes | Fault:
        """The body of an answer, of which no more than ``most_bytes`` are held."""
        status, body = response.status_code, bytearray()
        if response.is_redirect:
            place = one_line(response.headers.get("location", "nowhere"), self._key)
            told = f"a redirect ({status}) to {place}, which is not followed"
            return Fault("final", f"{told}; expected the address itself")
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > most_bytes:  # the next answer would be no better
                return Fault("final", f"an answer of more than {most_bytes:,} bytes")
        if response.is_success:
            return bytes(body)
        return self._refusal(status, response.headers.get("retry-after", ""), bytes(body))

    def _refusal(self, status: int, wait: str, text: bytes) -> Fault:
        """The fault of an answer without success; ``wait``: its header Retry-After."""
        body = read_json(text)
        body = text.decode(errors="replace") if body is None else lookup(body, "error") or body
        # OpenAI's name, FastAPI's, and that of some other servers
        reason = lookup(body, "message") or lookup(body, "detail") or lookup(body, "error") or body
        quote = one_line(str(reason or "no reason given"), self._key)
        message = f"refused with {status} ({quote})"
        codes = f"{lookup(body, 'code')} {lookup(body, 'type')}"
        has_quota = "insufficient_quota" not in codes
        if (status in TRANSIENT_STATUS and has_quota) or status >= 500:
            return Fault("transient", message, seconds_of(wait))
        if status in OVERSIZE_STATUS and _WINDOW.search(f"{codes} {reason}"):
            return Fault("oversize", message)
        if status == 400 and lookup(body, "code") in FILTERED:
            log.warning("%s: %s; it counts as an empty answer", self.settings.place, message)
            return Fault("filtered", message)
        place = self.settings.key_name or "that key_variable names"
        advice = f"check the key in the environment variable {place}, the model's name and the base"
        return Fault("final", f"{message}; {advice} URL")


def seconds_of(wait: str) -> float:
    """The seconds that a header Retry-After asks for, in digits or until a date, without a zone in
    UTC; 0 for neither."""
    if _SECONDS.fullmatch(wait):
        return float(wait)
    with suppress(ValueError, OverflowError):
        date = parsedate_to_datetime(wait)
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - time.time()
    return 0.0


def _read_completion(body: bytes | Fault, key: str | None) -> tuple[Reply | Fault, tuple[int, int]]:
    """The first choice of a chat completion; and the tokens of prompt and answer as the server
    counts them, 0 if it does not."""
    if isinstance(body, Fault):
        return Reply("") if body.kind == "filtered" else body, (0, 0)
    completion = read_json(body)
    if completion is None:
        return Fault("transient", "an answer that is incomplete JSON"), (0, 0)
    usage = lookup(completion, "usage")
    counts = [lookup(usage, name) for name in ("prompt_tokens", "completion_tokens")]
    is_known = all(type(n) in (int, float) and 0 <= n < MOST_TOKENS for n in counts)
    tokens = (int(counts[0]), int(counts[1])) if is_known else (0, 0)
    message = lookup(completion, "choices", 0, "message")
    if not isinstance(message, dict):
        error = lookup(completion, "error", "message")
        reason = f" ({one_line(str(error), key)})" if error else ""
        return Fault("transient", f"an answer without a choice{reason}"), tokens
    cut = lookup(completion, "choices", 0, "finish_reason") == "length"
    # Answers are kept; a short key is a local server's placeholder, and may be a word of them.
    text = _redact(key if len(key or "") >= 16 else None, content_text(message.get("content")))
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


def one_line(text: str, key: str | None) -> str:
    """A server's message, shortened to one printable line, without the key."""
    return " ".join(printable(_redact(key, text)).split())[:MAX_REASON]


def _redact(key: str | None, text: str) -> str:
    return text.replace(key, "[key]") if key else text


# -- before a run ---------------------------------------------------------------------------------

QUESTION = [{"role": "user", "content": "Answer with the word yes."}]
RETRIES = 2
"""Most of the question: a run that has not begun loses nothing if it ends."""


def ask_once(endpoints: Iterable[ChatSettings]) -> None:
    """Send one short request to each endpoint, so that no run begins with a wrong key, model or
    address; it counts towards no budget. Raises :class:`PlayerError`."""
    for settings in {repr(each): each for each in endpoints}.values():  # a body has no hash
        # The budget is for the run's own requests: a resumed run with nothing left must not fail.
        retries = min(RETRIES, settings.retries)
        once = replace(settings, retries=retries, budget_tokens=None, budget_dollars=None)
        [(reply, usage)] = ChatClient(once).gather([lambda batch: batch.reply(QUESTION, "check")])
        if isinstance(reply, Fault):  # the question is short: its answer would be too long
            raise PlayerError(f"{settings.place}: {reply.message}; lower its answer_tokens")
        if not usage.tokens:
            log.warning("%s: it counts no tokens: no budget of them ends its use", settings.place)


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of ``work``, also for a caller inside an event loop (a notebook, say)."""
    inside = False
    with suppress(RuntimeError):
        inside = asyncio.get_running_loop() is not None
    if not inside:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()
