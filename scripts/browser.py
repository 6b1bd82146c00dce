"""A headless Chromium, driven by its debugging protocol over a pipe: what pages show, say and weigh, as a person's browser has it."""

import base64
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

# What a page has to come to is awaited so long, in seconds.
PATIENCE = 120


class Browser:
    """One page of a browser with a profile of its own. `complaints` are errors of its console, exceptions, and what its policy refused."""

    def __init__(self, chromium: str):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        (theirs_in, to_browser), (from_browser, theirs_out) = os.pipe(), os.pipe()
        # The browser reads at descriptor 3 and writes at 4.
        script = f'exec 3<&{theirs_in} 4>&{theirs_out}; exec "$0" "$@"'
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
                 "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(["bash", "-c", script, chromium, *flags], pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.to, self.from_ = os.fdopen(to_browser, "wb", 0), os.fdopen(from_browser, "rb", 0)
        self.number, self.rest, self.session, self.complaints = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params):
        """What a method of the protocol answers."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.hear(answer)

    def read(self) -> dict:
        while b"\0" not in self.rest:
            more = self.from_.read(1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def hear(self, event: dict):
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description") or details["text"])
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(params["args"]))

    def value(self, expression: str):
        """What an expression comes to in the page."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def await_(self, expression: str, what: str):
        """Waits until an expression is true in the page."""
        until = time.monotonic() + PATIENCE
        while not (value := self.value(expression)):
            if time.monotonic() > until:
                raise AssertionError(f"{what}; the page has: {self.value('document.body.innerText')[:1500]}")
            time.sleep(0.02)
        return value

    def open(self, address: str):
        self.call("Page.navigate", url=address)
        self.await_("document.readyState === 'complete'", "the page does not load")

    def type(self, text: str):
        self.call("Input.insertText", text=text)

    def press(self, key: str):
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9}
        more = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **(more if kind == "keyDown" else {}))

    def window(self, width: int, height: int, scheme: str = "light"):
        """A window of that size, in light or dark."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path):
        """What the window shows, as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def roles(self) -> list[tuple[str, str, dict]]:
        """The tree of accessibility: role, name and properties of what is not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        text = lambda node, field: str(node.get(field, {}).get("value", ""))
        properties = lambda node: {one["name"]: one["value"].get("value") for one in node.get("properties", [])}
        return [(text(node, "role"), text(node, "name"), properties(node)) for node in nodes if not node["ignored"]]

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.profile.cleanup()
