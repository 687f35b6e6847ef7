"""A completions server on loopback that tells the log-probabilities of prompts, as vLLM does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Logprobs = Callable[[Sequence[int]], list[float | None]]
"""Natural log-probability of each token of a prompt; None for the first."""


class CompletionsServer:
    """Serves ``model`` while it is entered; keeps the prompts that it was sent."""

    def __init__(self, logprobs: Logprobs, model: str = "embedded", window: int = 512) -> None:
        self.logprobs, self.model, self.window = logprobs, model, window
        self.batches: list[list[list[int]]] = []
        self.headers: list[dict[str, str]] = []
        """Of each request."""
        self.refuses = ""
        """Why every request is refused; empty: none is."""
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> CompletionsServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def models(self) -> dict[str, Any]:
        card = {"id": self.model, "object": "model", "created": 1, "owned_by": "test"}
        return {"object": "list", "data": [card | {"max_model_len": self.window}]}

    def completions(self, body: dict[str, Any]) -> dict[str, Any]:
        assert body["echo"]
        self.batches.append(body["prompt"])
        choices = [
            {
                "index": index,
                "text": "",
                "finish_reason": "length",
                "logprobs": {"token_logprobs": [*self.logprobs(ids), -1.0]},
            }
            for index, ids in enumerate(body["prompt"])
        ]
        return {
            "id": "1",
            "object": "text_completion",
            "created": 1,
            "model": self.model,
            "choices": choices[::-1],  # a server may answer in any order
        }


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: CompletionsServer


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_GET(self) -> None:
        self.server.owner.headers.append(dict(self.headers.items()))
        self._send(self.server.owner.models())

    def do_POST(self) -> None:
        self.server.owner.headers.append(dict(self.headers.items()))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.owner.refuses:
            self._send({"error": {"message": self.server.owner.refuses}}, 400)
        else:
            self._send(self.server.owner.completions(body))

    def _send(self, body: dict[str, Any], status: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keeps standard error clean."""
