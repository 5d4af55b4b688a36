"""A headless Chromium that tests drive, by its own protocol over a pipe: no package is needed.

The protocol is https://chromedevtools.github.io/devtools-protocol/: JSON messages that end in a
zero byte, on descriptors 3 (to the browser) and 4 (from it).
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def find_chromium():
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Chromium:
    """One page of a browser; a context manager."""

    def __init__(self, width=1200, height=800):
        # A process of the browser's may still write there when the first one has ended.
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._size = f"{width},{height}"
        self._number = 0
        self.errors = []  # exceptions that no one caught, and what the console called an error

    def __enter__(self):
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()

        def as_three_and_four():
            # High ones first, since 3 and 4 may be taken by the pipes themselves.
            reads, writes = os.dup2(read_there, 100), os.dup2(write_there, 101)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        command = [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu"]
        command += ["--hide-scrollbars", "--remote-debugging-pipe", f"--window-size={self._size}"]
        command += [f"--user-data-dir={self._folder.name}", "about:blank"]
        self._process = subprocess.Popen(
            command,
            # A sanitizer's runtime is for our code: a browser with it does not end.
            env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
            preexec_fn=as_three_and_four,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_there)
        os.close(write_there)
        self._from = os.fdopen(read_here, "rb")
        self._to = os.fdopen(write_here, "wb")
        targets = self.send("Target.getTargets", session=None)["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self.send("Target.attachToTarget", session=None, targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *exception):
        self.send("Browser.close", session=None)
        self._to.close()
        self._process.wait()
        self._from.close()
        self._folder.cleanup()

    def _message(self):
        text = bytearray()
        while (byte := self._from.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("the browser has ended")
            text += byte
        return json.loads(text)

    def _hear(self, message):
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"])
        if message.get("method") == "Log.entryAdded":
            entry = message["params"]["entry"]
            if entry["level"] == "error":
                self.errors.append(entry["text"])

    def send(self, method, session="page", **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        self._to.flush()
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._hear(answer)

    def open(self, path):
        self.send("Page.navigate", url=f"file://{path}")
        while True:
            message = self._message()
            self._hear(message)
            if message.get("method") == "Page.loadEventFired":
                return

    def run(self, expression):
        """The value of a JavaScript expression, which may be a promise."""
        answer = self.send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        more = {"button": "left", "clickCount": 1, **more}
        if kind == "mouseMoved" and "buttons" not in more:
            more["button"] = "none"
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        for n in range(1, count + 1):
            self.mouse("mousePressed", x, y, clickCount=n)
            self.mouse("mouseReleased", x, y, clickCount=n)

    def drag(self, start, end, modifiers=0):
        self.mouse("mousePressed", *start, modifiers=modifiers)
        for part in (0.3, 0.7, 1.0):
            x, y = (a + (b - a) * part for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, button="left", buttons=1, modifiers=modifiers)
        self.mouse("mouseReleased", *end, modifiers=modifiers)

    def press(self, key, text=""):
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def prefer(self, scheme):
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    def picture(self):
        """PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])
