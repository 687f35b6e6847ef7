"""A headless Chromium, driven through its DevTools protocol.

Needs a Chromium on the PATH and nothing to download: the page is a local file.
"""

from __future__ import annotations

import base64
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


def executable() -> str:
    """The path of a Chromium; raises where there is none, since nothing else can stand in."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise FileNotFoundError(
        f"no Chromium found: expected one of {', '.join(NAMES)} on the PATH to open the report in"
    )


class Page:
    """One tab. ``problems`` collects exceptions, console errors, refused content and requests
    that leave the file."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket, self.asked = socket, 0
        self.problems: list[str] = []
        self.events: list[str] = []
        self.opened = 0
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def call(self, method: str, **params: Any) -> Any:
        self.asked += 1
        mine = self.asked
        self.socket.send(json.dumps({"id": mine, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=PATIENCE))
            if message.get("id") == mine:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message.get("method", ""), message.get("params", {})
        self.events.append(method)
        match method:
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(params["exceptionDetails"])[:400])
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.problems.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(params["args"])[:400])
            case "Page.javascriptDialogOpening":
                self.problems.append(f"a dialog: {params['message']}")
            case "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file:", "data:", "blob:")):
                    self.problems.append(f"a request to {url}")

    def open(self, file: Path, fragment: str = "") -> None:
        """Loads the file and waits until it is complete."""
        self.events.clear()
        self.opened += 1  # a new address, since another fragment alone loads nothing
        self.call("Page.navigate", url=f"{file.resolve().as_uri()}?{self.opened}{fragment}")
        deadline = time.monotonic() + PATIENCE
        while "Page.loadEventFired" not in self.events:
            assert time.monotonic() < deadline, "the page did not load"
            self._note(json.loads(self.socket.recv(timeout=PATIENCE)))

    def value(self, script: str) -> Any:
        """What a script's expression comes to; promises are awaited."""
        answer = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def size(self, width: int, height: int, *, mobile: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def media(self, media: str = "", scheme: str = "light") -> None:
        """As it looks on ``media`` (``print``) in a colour scheme."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def key(self, key: str, code: int) -> None:
        """A key pressed and let go."""
        press = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **press, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **press)

    def pdf(self) -> bytes:
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])


@contextmanager
def browser(profile: Path) -> Iterator[Page]:
    """A tab of a new browser whose profile is the folder ``profile``; it ends with the block."""
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync")
    own = ("--remote-debugging-port=0", f"--user-data-dir={profile}")
    process = subprocess.Popen(
        [executable(), *flags, *own, "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        port = _port(profile, process)
        with urlopen(f"http://127.0.0.1:{port}/json", timeout=PATIENCE) as reply:
            tabs = json.load(reply)
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(address, max_size=None, open_timeout=PATIENCE, proxy=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    """The port that the browser chose, as it writes it into its profile."""
    port_file = profile / "DevToolsActivePort"
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, f"the browser ended with {process.returncode}"
        if port_file.is_file() and (lines := port_file.read_text().splitlines()):
            return int(lines[0])
        time.sleep(0.05)
    raise TimeoutError("the browser did not start")
