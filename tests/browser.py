"""A headless Chromium, driven over a pipe by its DevTools protocol, for tests of pages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

#: Seconds that a page may take to answer.
PATIENCE = 30.0


def executable() -> str | None:
    """The browser's program, if there is one and it can be driven here."""
    if os.name == "nt":
        return None
    path = os.environ.get("CHROME_PATH")
    return path or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one page. What goes wrong in the page is collected in `errors`."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(
            prefix="report-browser-", ignore_cleanup_errors=True
        )
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def connect() -> None:  # the browser reads from 3 and writes to 4
            source, sink = os.dup(to_browser), os.dup(from_browser)
            os.dup2(source, 3)
            os.dup2(sink, 4)

        self._process = subprocess.Popen(
            [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking", "--disable-extensions", "--hide-scrollbars",
                "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}", "about:blank",
            ],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (to_browser, from_browser):
            os.close(end)
        os.set_blocking(self._read, False)
        self._buffer, self._number, self._session = b"", 0, ""
        #: Exceptions and messages of the console, and requests over a network.
        self.errors: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data) :]
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for answer in self._messages():
                if answer.get("id") == self._number:
                    if "error" in answer:
                        raise RuntimeError(f"{method}: {answer['error']}")
                    return answer["result"]
                self._note(answer)
        raise TimeoutError(f"the browser did not answer {method}")

    def _messages(self) -> list[dict[str, Any]]:
        try:
            chunk = os.read(self._read, 1 << 20)
            if not chunk:
                raise RuntimeError("the browser has ended")
            self._buffer += chunk
        except BlockingIOError:
            time.sleep(0.005)
        *complete, self._buffer = self._buffer.split(b"\0")
        return [json.loads(message) for message in complete]

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(params["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled" and params["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.errors.append(json.dumps(params["args"])[:2000])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"][:200])

    def open(self, path: Path) -> None:
        """Open a page, and wait until its script has run."""
        self.errors.clear()
        self.requests.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while self("document.documentElement?.dataset.ready") != "true":
            if time.monotonic() > until or self.errors:
                raise AssertionError(f"the script of the page did not run: {self.errors}")
            time.sleep(0.02)

    def __call__(self, expression: str) -> Any:
        """Evaluate an expression in the page and return its value, also that of a promise."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def size(self, width: int, height: int, dark: bool = False) -> None:
        """Set the size of the window and the reader's choice of colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def press(self, key: str, code: int) -> None:
        """Press and release a key."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **text,
            )


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of a module; skips them where there is none."""
    program = executable()
    if program is None:
        pytest.skip("no Chromium (apt-get install chromium, or set CHROME_PATH)")
    opened = Browser(program)
    yield opened
    opened.close()
