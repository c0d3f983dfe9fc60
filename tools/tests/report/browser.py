"""Chromium without a window, controlled through a pipe: it loads pages and evaluates scripts."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

#: what Debian, and others, call it
NAMES = ("chromium", "chromium-browser", "google-chrome")
#: what a page is given to answer
_SECONDS = 90.0


def installed() -> str:
    """Path of the browser; empty: there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), "")


class Browser:
    """One browser with one page; ends with the block.

    Attributes:
        messages: what was written to the console, or went wrong, since the page was opened.
        requests: addresses that were requested since then.
    """

    def __enter__(self) -> Browser:
        self._folder = TemporaryDirectory(prefix="rlregress-browser-", ignore_cleanup_errors=True)
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()

        def as_3_and_4() -> None:
            # copies first: one of the two may have the other's number
            pair = os.dup(theirs_read), os.dup(theirs_write)
            os.dup2(pair[0], 3)
            os.dup2(pair[1], 4)

        self._process = subprocess.Popen(
            [
                installed(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-dev-shm-usage", "--remote-debugging-pipe",
                f"--user-data-dir={self._folder.name}",
            ],
            preexec_fn=as_3_and_4,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(theirs_read)
        os.close(theirs_write)
        self._in, self._out, self._unread = ours_read, ours_write, b""
        self._number, self._session = 0, ""
        self.messages: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command of the DevTools protocol, and return its result."""
        self._number += 1
        job: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            job["sessionId"] = self._session
        os.write(self._out, json.dumps(job).encode() + b"\0")
        while True:
            values = self._next()
            if values.get("id") == self._number:
                assert "error" not in values, f"{method}: {values['error']}"
                return values["result"]
            self._note(values)

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + _SECONDS
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            assert ready, "the browser does not answer"
            self._unread += os.read(self._in, 1 << 20)
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Log.entryAdded":
            self.messages.append(parameters["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.messages.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(str(parameters["args"]))
        elif method == "Page.loadEventFired":
            self._loaded = True

    def open(self, path: Path, width: int, dark: bool) -> None:
        """Open a file in a window of that width, and wait for it."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=900, deviceScaleFactor=1, mobile=width < 700,
        )  # fmt: skip
        self.messages, self.requests, self._loaded = [], [], False
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._note(self._next())

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        values = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in values, values["exceptionDetails"]
        return values["result"].get("value")
