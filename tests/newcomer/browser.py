"""A page in Chromium without a window, by its devtools protocol over a pipe: evaluate a script, take a picture."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, BinaryIO

_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run")


class Page:
    """The page of a browser."""

    def __init__(self, to_browser: BinaryIO, from_browser: BinaryIO) -> None:
        self._to, self._from = to_browser, from_browser
        self._numbers = count(1)
        self._session: dict[str, str] = {}
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}

    def open(self, url: str, *, width: int, height: int, dark: bool) -> None:
        """Open an address in a window of this size, for a reader who prefers light or dark pages."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])
        self._send("Page.navigate", url=url)
        while not self.evaluate(f"location.href == {json.dumps(url)} && document.readyState == 'complete'"):
            time.sleep(0.05)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in JavaScript."""
        answer = self._send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture(self, **clip: float) -> bytes:
        """The page as a PNG: all of it, or the rectangle of these x, y, width and height."""
        region = {"clip": {"scale": 1, **clip}} if clip else {}
        answer = self._send("Page.captureScreenshot", captureBeyondViewport=True, **region)
        return base64.b64decode(answer["data"])

    def pixel(self, x: float, y: float) -> tuple[int, int, int]:
        """The colour of a pixel of the picture."""
        image = self.picture(x=x, y=y, width=1, height=1)
        parts, place = b"", 8
        while place < len(image):
            length, kind = int.from_bytes(image[place : place + 4], "big"), image[place + 4 : place + 8]
            parts += image[place + 8 : place + 8 + length] if kind == b"IDAT" else b""
            place += length + 12
        _, red, green, blue, *_ = zlib.decompress(parts)  # after the filter, which changes no first pixel
        return red, green, blue

    def _send(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters, **self._session}
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        answer = self._read()
        while answer.get("id") != number:  # an event
            answer = self._read()
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        text = bytearray()
        while (byte := self._from.read(1)) != b"\0":
            assert byte, "the browser has ended"
            text += byte
        message: dict[str, Any] = json.loads(text)
        return message


@contextmanager
def browser(program: str, profile: str) -> Iterator[Page]:
    """A page of a new browser, which reads messages from its file 3 and writes to its file 4."""
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    command = ["bash", "-c", script, "bash", program, *_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    with open(ours_out, "wb") as to_browser, open(ours_in, "rb") as from_browser:
        running = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL, start_new_session=True
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Page(to_browser, from_browser)
        finally:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
