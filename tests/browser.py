"""A real Chromium without a screen, driven through its DevTools protocol."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--disable-extensions", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--force-color-profile=srgb",
)  # fmt: skip
TIMEOUT = 60.0


def find_browser() -> str:
    """Return the Chromium of this machine, or skip the test."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    return found or pytest.skip("There is no Chromium: install it, or name it in CHROMIUM.")


def find_axe() -> str:
    """Return the source of axe-core, or skip the test."""
    path = os.environ.get("AXE_CORE")
    if not path or not Path(path).is_file():
        pytest.skip("AXE_CORE does not name axe.min.js of the npm package axe-core.")
    return Path(path).read_text()


@dataclass
class Page:
    """One tab.

    ``errors`` holds what its console complained of, ``requests`` every address that it asked for.
    """

    _browser: ClientConnection
    _session: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _loaded: bool = False
    _last: int = 0

    def open(self, url: str | Path) -> None:
        """Go to an address or a file, and wait until it has loaded."""
        self._loaded = False
        address = url.resolve().as_uri() if isinstance(url, Path) else url
        went = self.call("Page.navigate", url=address)
        assert not went.get("errorText"), f"{address}: {went['errorText']}"
        deadline = time.monotonic() + TIMEOUT
        while not self._loaded:
            self._receive(deadline)

    def evaluate(self, script: str) -> Any:
        """Evaluate an expression, a promise too, and give its value."""
        done = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, _told(done["exceptionDetails"])
        return done["result"].get("value")

    def wait_for(self, script: str, timeout: float = TIMEOUT) -> Any:
        """Evaluate until the value is true."""
        deadline = time.monotonic() + timeout
        while not (value := self.evaluate(script)):
            assert time.monotonic() < deadline, f"never true: {script}"
            time.sleep(0.1)
        return value

    def viewport(self, width: int, height: int = 900, scale: float = 1) -> None:
        """Set the size of the window, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=scale, mobile=False,
        )  # fmt: skip

    def scheme(self, name: str) -> None:
        """Prefer light or dark colours."""
        feature = {"name": "prefers-color-scheme", "value": name}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def scripts(self, allowed: bool) -> None:
        """Let pages run scripts, or not; it counts from the next page on."""
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def offline(self) -> None:
        """Cut the network off."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=0, uploadThroughput=0,
        )  # fmt: skip

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        """Write a PNG of the page, or of what the window shows."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path: Path) -> None:
        """Print the page on A4."""
        printed = self.call(
            "Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True,
            printBackground=True,
        )  # fmt: skip
        path.write_bytes(base64.b64decode(printed["data"]))

    def scrolls_sideways(self) -> bool:
        """Say whether the page is wider than the window."""
        width = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        return bool(self.evaluate(width))

    def faults_of_access(self, axe: str) -> list[str]:
        """Run axe-core; give each rule that is broken with the elements that break it."""
        self.evaluate(f"{axe};0")
        run = "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => "
        return list(
            self.evaluate(
                f"{run} v.id + ': ' + v.nodes.map(n => n.target + ' ' + n.failureSummary)"
                ".slice(0, 5).join(' | ')))"
            )
        )

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call the protocol, and keep what the page tells meanwhile."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        self._browser.send(json.dumps(message | {"sessionId": self._session}))
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._last and answer.get("sessionId") == self._session:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])

    def _receive(self, deadline: float) -> dict[str, Any]:
        message = json.loads(self._browser.recv(timeout=max(deadline - time.monotonic(), 0.0)))
        params = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(_told(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                values = (str(a.get("value", a.get("description"))) for a in params["args"])
                self.errors.append(" ".join(values))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.errors.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        return dict(message)


@dataclass(frozen=True)
class Browser:
    """A running Chromium."""

    address: str

    @contextmanager
    def page(self, width: int = 1280, scheme: str = "light") -> Iterator[Page]:
        """Open a tab with a profile of its own."""
        with connect(self.address, max_size=None, open_timeout=TIMEOUT) as socket:
            context = _ask(socket, "Target.createBrowserContext")["browserContextId"]
            target = _ask(
                socket, "Target.createTarget", url="about:blank", browserContextId=context
            )["targetId"]
            session = _ask(socket, "Target.attachToTarget", targetId=target, flatten=True)
            tab = Page(socket, session["sessionId"])
            for domain in ("Page", "Runtime", "Network", "Log"):
                tab.call(f"{domain}.enable")
            tab.viewport(width)
            tab.scheme(scheme)
            yield tab
            _ask(socket, "Target.disposeBrowserContext", browserContextId=context)


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Run a Chromium until the block ends; skips the test where there is none."""
    command = find_browser()
    with tempfile.TemporaryDirectory(
        prefix="microagg-browser-", ignore_cleanup_errors=True
    ) as folder:
        process = subprocess.Popen(
            [command, *QUIET, f"--user-data-dir={folder}", "--remote-debugging-port=0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield Browser(_address(process, Path(folder, "DevToolsActivePort")))
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _address(process: subprocess.Popen[bytes], file: Path) -> str:
    """Wait until the browser has said where it listens: on loopback, at a port of its choice."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and process.poll() is None:
        lines = file.read_text().split("\n") if file.exists() else []
        if len(lines) > 1 and lines[1]:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.05)
    raise AssertionError("Chromium did not start.")


def _ask(socket: ClientConnection, method: str, **params: Any) -> dict[str, Any]:
    """Ask the browser itself."""
    socket.send(json.dumps({"id": 0, "method": method, "params": params}))
    while True:
        answer = json.loads(socket.recv(timeout=TIMEOUT))
        if answer.get("id") == 0:
            assert "error" not in answer, f"{method}: {answer['error']}"
            return dict(answer["result"])


def _told(details: dict[str, Any]) -> str:
    return str(details.get("exception", {}).get("description") or details["text"])
