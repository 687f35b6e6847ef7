"""An OpenAI-compatible server on loopback that answers as a test scripts it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKENS = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}


@dataclass(frozen=True)
class Received:
    """A request as it came in; names of headers in lower case."""

    body: dict[str, Any]
    headers: Mapping[str, str]

    @property
    def last(self) -> str:
        """The last message's text."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True)
class Sent:
    """An answer: its status, body and headers."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Stall:
    """No answer for as long as the server lives."""


class HangUp:
    """The connection is closed without an answer."""


@dataclass(frozen=True)
class Flood:
    """``chunk`` again and again, for as long as the server lives and the client listens."""

    chunk: bytes = b" " * (1 << 16)
    pause: float = 0.0
    """Seconds between two."""


Answer = Sent | Stall | HangUp | Flood
Script = Callable[[Received], Answer]


def completion(message: Any, usage: Any = TOKENS, finish: str = "stop") -> Sent:
    """A well-formed answer around ``message``."""
    choice = {"index": 0, "message": message, "finish_reason": finish}
    record = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    body: dict[str, Any] = {**record, "choices": [choice]}
    if usage is not None:
        body["usage"] = usage
    return Sent(body=json.dumps(body).encode())


def reply(text: str | None, usage: Any = TOKENS, finish: str = "stop") -> Sent:
    """An answer that says ``text``."""
    return completion({"role": "assistant", "content": text}, usage, finish)


def move(text: str) -> Sent:
    return reply(f"<move>{text}</move>")


def refusal(status: int, message: str = "no", **fields: Any) -> Sent:
    """An error as OpenAI's API tells it."""
    body = {"error": {"message": message, "type": "error", **fields}}
    return Sent(status, json.dumps(body).encode())


def in_order(*answers: Answer) -> Script:
    """Each answer once, the last one from then on."""
    rest = list(answers)
    lock = threading.Lock()

    def script(request: Received) -> Answer:
        with lock:
            return rest.pop(0) if len(rest) > 1 else rest[0]

    return script


class ChatServer:
    """Serves while it is entered; keeps what it received and how many it served at once."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.models: Answer = refusal(404)
        """What a GET is answered."""
        self.received: list[Received] = []
        self.serving = self.most_at_once = 0
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def prompts(self) -> Sequence[str]:
        """The last message of each request."""
        return [request.last for request in self.received]

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """May be called again."""
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, request: Received) -> Answer:
        with self.lock:
            self.received.append(request)
            self.serving += 1
            self.most_at_once = max(self.most_at_once, self.serving)
        try:
            return self.script(request)
        finally:
            with self.lock:  # before the answer leaves, so that no next request can overlap
                self.serving -= 1


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    owner: ChatServer

    def handle_error(self, request: Any, address: Any) -> None:
        """A client that has given up is no error here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._reply(self.server.owner.answer(Received(body, headers)))

    def do_GET(self) -> None:
        self._reply(self.server.owner.models)

    def _reply(self, answer: Answer) -> None:
        owner = self.server.owner
        match answer:
            case Sent():
                self._send(answer)
            case HangUp():
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            case Stall():
                owner.closing.wait()
                self.close_connection = True
            case Flood():
                self._flood(answer, owner.closing)

    def _send(self, answer: Sent) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def _flood(self, answer: Flood, closing: threading.Event) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.close_connection = True
        while not closing.wait(answer.pause):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(answer.chunk), answer.chunk))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keeps standard error clean."""
