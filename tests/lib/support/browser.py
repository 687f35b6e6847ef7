"""A headless Chromium on the PATH, driven through its DevTools protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0
"""Seconds until a browser that does not answer is an error."""


class Page:
    """One tab. ``problems`` collects exceptions, console errors, refused content and requests
    that leave the file."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.asked, self.loaded = socket, 0, False
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> Any:
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": params}))
        while (message := self._next()).get("id") != self.asked:
            pass
        assert "error" not in message, (method, message["error"])
        return message["result"]

    def _next(self) -> dict[str, Any]:
        """The next message; of an event what is wrong with it is kept."""
        message: dict[str, Any] = json.loads(self.socket.recv(timeout=PATIENCE))
        params = message.get("params", {})
        match message.get("method", ""):
            case "Page.loadEventFired":
                self.loaded = True
            case "Runtime.exceptionThrown" | "Page.javascriptDialogOpening":
                self.problems.append(json.dumps(params)[:400])
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.problems.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(params["args"])[:400])
            case "Network.requestWillBeSent":
                if not params["request"]["url"].startswith(("file:", "data:", "blob:")):
                    self.problems.append(f"a request to {params['request']['url']}")
        return message

    def open(self, file: Path, size: tuple[int, int], scheme: str = "light") -> None:
        """Loads the file, in a window of this size and a colour scheme, until it is complete."""
        self.problems.clear()
        of = {"width": size[0], "height": size[1], "mobile": size[0] < 500}
        self.call("Emulation.setDeviceMetricsOverride", deviceScaleFactor=1, **of)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", features=features)
        self.loaded = False
        self.call("Page.navigate", url=f"{file.resolve().as_uri()}?{self.asked}")  # a new address
        while not self.loaded:
            self._next()

    def value(self, script: str) -> Any:
        """What a script's expression comes to; promises are awaited."""
        how = {"awaitPromise": True, "returnByValue": True}
        answer = self.call("Runtime.evaluate", expression=script, **how)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A tab of a new browser whose profile is the folder ``profile``; it ends with the block."""
    program = next(path for name in NAMES if (path := shutil.which(name)))
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
    own = ("--remote-debugging-port=0", f"--user-data-dir={profile}")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([program, *flags, *own, "about:blank"], **quiet)
    try:
        port_file, deadline = profile / "DevToolsActivePort", time.monotonic() + PATIENCE
        while not (port_file.is_file() and port_file.read_text()):
            assert time.monotonic() < deadline, "the browser did not start"
            time.sleep(0.05)
        [port, *_] = port_file.read_text().splitlines()
        with urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as reply:
            tabs = json.load(reply)
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(address, max_size=None, open_timeout=PATIENCE, proxy=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(PATIENCE)
