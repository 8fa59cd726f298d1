"""Headless Chromium, controlled over its DevTools protocol."""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

PROGRAM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_SECONDS = 20.0
# The switches disable the GPU and access to other machines.
_SWITCHES = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--no-proxy-server",
)


class Page:
    """A page of the browser.

    Attributes:
        complaints: warnings, errors and exceptions of the page, in order.
    """

    def __init__(self, runner: asyncio.Runner, socket: aiohttp.ClientWebSocketResponse):
        self._runner = runner
        self.complaints: list[str] = []
        self._socket = socket
        self._numbers = itertools.count(1)
        self._script = ""
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Runs a DevTools method and returns the result."""
        return self._runner.run(self._call(method, parameters))

    async def _call(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        async with asyncio.timeout(_SECONDS):
            await self._socket.send_json({"id": number, "method": method, "params": parameters})
            while (message := await self._socket.receive_json()).get("id") != number:
                self._record(message.get("method"), message.get("params", {}))
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def _record(self, event: str | None, parameters: dict[str, Any]) -> None:
        if event == "Log.entryAdded":
            entry = parameters["entry"]
            if entry["level"] in ("warning", "error"):
                self.complaints.append(f"{entry['source']}: {entry['text']}")
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(_reason(parameters["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled":
            if parameters["type"] in ("warning", "error", "assert"):
                self.complaints.append(f"console: {parameters['args']}")

    def open(self, address: str, script: str = "") -> None:
        """Opens an address; `script` runs before the scripts of the page."""
        if self._script:
            identifier = self._script
            self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=identifier)
        added = self.call("Page.addScriptToEvaluateOnNewDocument", source=script)
        self._script = added["identifier"]
        self.complaints.clear()
        self.call("Page.navigate", url=address)
        self.wait_for(f"location.href === {address!r} && document.readyState", "complete")

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression; promises are awaited."""
        result = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(_reason(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait_for(self, expression: str, expected: Any = True) -> None:
        """Waits until an expression equals `expected`; raises TimeoutError."""
        end = time.monotonic() + _SECONDS
        while (value := self.evaluate(expression)) != expected:
            if time.monotonic() > end:
                raise TimeoutError(f"{expression} must be {expected!r}, got {value!r}.")
            time.sleep(0.02)

    def choose(self, selector: str, path: Path) -> None:
        """Chooses a file in a file input."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node["nodeId"])

    def drop(self, *files: tuple[str, bytes]) -> None:
        """Drops files, tuples (name, content), on the page."""
        encoded = [(name, base64.b64encode(c).decode()) for name, c in files]
        self.evaluate(f"""{{
            const dataTransfer = new DataTransfer();
            for (const [name, content] of {json.dumps(encoded)}) {{
                const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
                dataTransfer.items.add(new File([bytes], name));
            }}
            const options = {{dataTransfer, bubbles: true, cancelable: true}};
            for (const type of ["dragover", "drop"])
                document.body.dispatchEvent(new DragEvent(type, options));
        }}""")

    def resize(self, width: int, height: int) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )


def _reason(details: dict[str, Any]) -> str:
    return details.get("exception", {}).get("description") or details["text"]


@contextlib.contextmanager
def start_browser(runner: asyncio.Runner, profile: Path) -> Iterator[Page]:
    """Starts a browser and yields an empty page; `profile` must be an empty folder."""
    switches = [*_SWITCHES, f"--user-data-dir={profile}"]
    if os.geteuid() == 0:
        switches.append("--no-sandbox")
    with (
        open(profile / "stderr.txt", "wb") as errors,
        # A new session makes it possible to kill all processes of the browser.
        subprocess.Popen(
            [PROGRAM, *switches, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        ) as process,
    ):
        try:
            session, socket = runner.run(_connect(_port(process, profile)))
            try:
                yield Page(runner, socket)
            finally:
                runner.run(_close(session, socket))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)


def _port(process: subprocess.Popen, profile: Path) -> int:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(FileNotFoundError, IndexError):
            return int((profile / "DevToolsActivePort").read_text().splitlines()[0])
        time.sleep(0.05)
    log = (profile / "stderr.txt").read_text(errors="replace")
    raise RuntimeError(f"{PROGRAM} did not start: {log[-2000:]}")


async def _connect(port: int) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse]:
    session = aiohttp.ClientSession()
    async with session.get(f"http://127.0.0.1:{port}/json/list") as response:
        targets = await response.json(content_type=None)
    (target,) = [target for target in targets if target["type"] == "page"]
    address = target["webSocketDebuggerUrl"]
    return session, await session.ws_connect(address, max_msg_size=0)


async def _close(session: aiohttp.ClientSession, socket: aiohttp.ClientWebSocketResponse) -> None:
    await socket.close()
    await session.close()
