"""A browser without a network, spoken to over a pipe, and a small gallery for it to open."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
from contextlib import suppress
from select import select

import pytest

from dpwitness import Verdict, check
from dpwitness.reports.gallery.figures import pictures_of
from dpwitness.reports.gallery.gallery import write_gallery
from dpwitness.reports.reproduce.run import find
from dpwitness.reports.statements.statements import Gallery, Reproduction, Section

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60.0


class Browser:
    """A headless Chromium over its debugging pipe: one page, everything it says is kept."""

    def __init__(self, program, profile):
        ours, theirs = os.pipe(), os.pipe()
        # Chromium reads from 3 and writes to 4, so the ends must not lie there already.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs[0], ours[1])]
        for end in (theirs[0], ours[1]):
            os.close(end)
        self.incoming, self.outgoing = ours[0], theirs[1]
        self.process = subprocess.Popen(
            [
                program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--hide-scrollbars", "--no-first-run", "--disable-extensions",
                "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}",
                "--remote-debugging-pipe", "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: (os.dup2(ends[0], 3), os.dup2(ends[1], 4)),
            pass_fds=(3, 4),
        )  # fmt: skip
        for end in ends:
            os.close(end)
        self.buffer, self.number, self.session, self.said = b"", 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def ask(self, method, **parameters):
        """Send one command and wait for its answer; events on the way are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.outgoing, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._hear()
            if heard.get("id") == self.number:
                assert "error" not in heard, heard
                return heard["result"]

    def _hear(self):
        while b"\0" not in self.buffer:
            assert select([self.incoming], [], [], PATIENCE)[0], "the browser is silent"
            part = os.read(self.incoming, 1 << 20)
            assert part, "the browser has gone"
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        heard = json.loads(message)
        if "method" in heard:
            self.said.append(heard)
        return heard

    def open(self, address, *, width, height=900, dark=False):
        """Load a page at a width in CSS pixels and wait until it is loaded."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.said.clear()
        self.ask("Page.navigate", url=address)
        while not any(heard["method"] == "Page.loadEventFired" for heard in self.said):
            self._hear()

    def evaluate(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        found = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def heard(self, *methods):
        """The events of these kinds since the page was opened."""
        return [heard["params"] for heard in self.said if heard["method"] in methods]

    def picture(self):
        """What is in the window, as PNG."""
        return base64.b64decode(self.ask("Page.captureScreenshot")["data"])

    def pdf(self):
        """The page as printed."""
        return base64.b64decode(self.ask("Page.printToPDF", printBackground=True)["data"])

    def close(self):
        """End the browser and take the pipe down."""
        with suppress(OSError, AssertionError):
            self.session = None
            self.ask("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for end in (self.incoming, self.outgoing):
            os.close(end)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """The browser, or a skipped test where there is none."""
    program = next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("needs Chromium, which is not installed")
    opened = Browser(program, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()


FEW = {
    "T-LAP-1": {},
    "T-LAP-2": {},
    "T-LAP-4": {},
    "T-LAP-3": {"epsilon": (0.5, 1.0, 2.0)},
    "T-COMP-BASIC": {},
    "T-COMP-HET*": {},
    "EM-3.13a": {},
    "EM-NAIVE": {},
    "ERR-EM-2": {},
    "ERR-EM-3": {},
    "EM-OSNM-3.6": {},
    "PAC-EML-UTILITY": {},
    "PMW-KL-3": {},
    "ERR-PMW-4": {},
    "one-sided-noisy-arg-max-as-if-monotone": {},
}
"""One statement of every kind, a sweep, errata with and without their right form, a control."""


def section_of(identifier, sweep):
    """A section as a run of reproduce makes it, at few draws."""
    theorem = find(identifier)
    settings = [{name: value} for name, values in sweep.items() for value in values] or [{}]
    defaults = {name: parameter.default for name, parameter in theorem.parameters.items()}
    reproductions = tuple(
        Reproduction(
            parameters={**defaults, **setting},
            expected=Verdict.NOT_REFUTED if theorem.holds else Verdict.REFUTED,
            result=check(theorem, parameters=setting, trials=20_000, seed=1),
        )
        for setting in settings
    )
    return Section(
        identifier=identifier,
        group=theorem.part,
        statement=theorem.statement,
        reference=reproductions[0].result.reference,
        holds=theorem.holds,
        corrected=theorem.corrected,
        remark=theorem.remark,
        meanings={name: parameter.meaning for name, parameter in theorem.parameters.items()},
        reproductions=reproductions,
        pictures=pictures_of(theorem, reproductions, seed=1),
    )


@pytest.fixture(scope="session")
def few():
    """A gallery of a handful of statements."""
    return Gallery(
        sections=tuple(section_of(*item) for item in FEW.items()),
        alpha=1e-3,
        seed=1,
        trials=20_000,
        seconds=3.0,
        command="dpwitness reproduce --seed 1",
    )


@pytest.fixture(scope="session")
def written(few, tmp_path_factory):
    """The folder of that gallery."""
    folder = tmp_path_factory.mktemp("gallery") / "out"
    write_gallery(few, folder)
    return folder
