"""Chromium, driven by its DevTools protocol: as much of it as the page's tests need."""

import atexit
import base64
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import websocket

# Nothing here takes a tenth of this, unless it hangs.
PATIENCE = 120


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ada-chromium-")
        program = shutil.which("chromium") or shutil.which("chromium-browser")
        assert program, "chromium is missing; scripts/setup installs it"
        self.log = open(f"{self.folder}/log", "wb")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
             "--force-device-scale-factor=1", "--remote-debugging-port=0", "--remote-allow-origins=*",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdout=self.log, stderr=self.log,
        )
        # Also where a test fails.
        atexit.register(self.close)
        port_file = pathlib.Path(self.folder, "DevToolsActivePort")

        # It is there before it is written: the port, and behind it a path.
        def listens_on():
            lines = port_file.read_text().split("\n") if port_file.exists() else []
            return int(lines[0]) if len(lines) > 1 and lines[1] else None

        self.port = wait(listens_on, "chromium to start")

    def page(self, width=1400, height=1000, dark=False):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            target = json.load(answer)
        return Page(target["webSocketDebuggerUrl"], width, height, dark)

    def close(self):
        atexit.unregister(self.close)
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page:
    def __init__(self, address, width, height, dark):
        self.socket = websocket.create_connection(address, timeout=PATIENCE)
        self.numbers = itertools.count(1)
        # What a person would see in red.
        self.errors = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=features)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def call(self, method, **parameters):
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]
            self.hear(message)

    def hear(self, message):
        parameters = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(parameters["args"]))
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                self.errors.append(json.dumps(parameters["entry"]))

    def run(self, script):
        """The value of an expression on the page; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, f"{script}: {result['exceptionDetails']}"
        return result["result"].get("value")

    def wait(self, script, what=None):
        return wait(lambda: self.run(script), what or script)

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.loaded()

    def reload(self):
        self.run("window.ada = undefined")
        self.call("Page.reload")
        self.loaded()

    def loaded(self):
        self.wait("document.readyState === 'complete' && !!window.ada && ada.about.number > 0", "the page to load")
        self.settle()

    def settle(self):
        """Everything that is seen was fetched, and drawn with its names."""
        self.wait("ada.isSettled() && ada.shown.shapes !== null", "the picture")
        frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"
        self.run(frames)
        self.wait("ada.isSettled()", "the picture")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, start, end, shift=False):
        modifiers = 8 if shift else 0
        self.mouse("mouseMoved", *start, modifiers=modifiers)
        self.mouse("mousePressed", *start, button="left", clickCount=1, modifiers=modifiers)
        for step in range(1, 9):
            at = [a + (b - a) * step / 8 for a, b in zip(start, end)]
            self.mouse("mouseMoved", *at, button="left", buttons=1, modifiers=modifiers)
        self.mouse("mouseReleased", *end, button="left", clickCount=1, modifiers=modifiers)

    def wheel(self, x, y, delta_y, delta_x=0):
        self.mouse("mouseWheel", x, y, deltaX=delta_x, deltaY=delta_y)

    def touch(self, kind, points):
        self.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": x, "y": y} for x, y in points])

    def key(self, key):
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        number = {"Escape": 27, "Enter": 13}.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, windowsVirtualKeyCode=number)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=number)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))


class Visit:
    """What a test of the page is called with: ADDRESS FOLDER, and `rest` behind them. Pictures go into the folder."""

    def __init__(self):
        self.address, folder, *self.rest = sys.argv[1:]
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.browser = Browser()
        self.page = self.browser.page()

    def shot(self, name):
        self.page.settle()
        self.page.screenshot(self.folder / f"{name}.png")

    def end(self):
        """Nothing was red on the page."""
        assert self.page.errors == [], self.page.errors
        self.browser.close()


def wait(ask, what):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")
