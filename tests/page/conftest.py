"""A memory with its daemon, and browsers that are signed in to its page."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from playwright.sync_api import sync_playwright

BIN = pathlib.Path(os.environ["POC_MEMORY_BIN"])
PLACE = pathlib.Path(os.environ["PAGE_PLACE"])
DEMO = pathlib.Path(__file__).resolve().parents[2] / "defaults" / "demo"
FILES = pathlib.Path(__file__).resolve().parents[2] / "poc-daemon" / "page"

# Longer than anything takes; nothing waits for this to pass.
LIMIT = 20_000


class World:
    """A memory in a folder of its own."""

    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="poc-memory-page-"))
        self.environment = {**os.environ, "POC_MEMORY_HOME": str(self.home)}
        self.daemon = None

    def run(self, *words, check=True):
        done = subprocess.run([BIN / "poc-memory", *words], env=self.environment, capture_output=True, text=True)
        assert not check or done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def json(self, *words):
        return json.loads(self.run("--json", *words))

    def start(self):
        # The address stays the same when the daemon comes back under an open page.
        log = open(self.home / "stderr", "w")
        self.daemon = subprocess.Popen([BIN / "poc-daemon"], env=self.environment, stdout=log, stderr=log)
        deadline = time.monotonic() + LIMIT / 1000
        while subprocess.run([BIN / "poc-memory", "daemon", "status"], env=self.environment, capture_output=True).returncode:
            assert self.daemon.poll() is None, (self.home / "stderr").read_text()
            assert time.monotonic() < deadline, "the daemon does not answer"
            time.sleep(0.05)

    def kill(self):
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait(LIMIT / 1000)

    def link(self, *words):
        return self.run("page", "--print", *words).strip()

    def close(self):
        if self.daemon and self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(LIMIT / 1000)
        shutil.rmtree(self.home, ignore_errors=True)


def filled():
    """A world with the demo, runs of agents, and proposals."""
    world = World()
    world.run("import", str(DEMO))
    for key, title, body in [
        ("outage", "Outage of the payment gateway", "The gateway refused all cards for an hour: INC-7771. The certificate had expired."),
        ("timer", "Certificates are renewed by a timer", "Since INC-7771 a timer renews the certificates every month."),
        ("runbook", "Runbook for refused cards", "When cards are refused, look at the certificate first, as in INC-7771."),
    ]:
        world.run("insert", "--title", title, "--body", body, "--key", key, "--type", "episodic")
    world.run("agent", "run", "linker", "--propose")
    # Without a language model it writes nothing, which the page shows as well.
    world.run("agent", "run", "facts", check=False)
    world.start()
    return world


class Watched:
    """A page, with everything that must not happen on it."""

    def __init__(self, context, origin):
        self.page = context.new_page()
        self.problems = []
        self.expected = ()
        self.page.on("console", lambda message: message.type in ("error", "warning") and self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.problems.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: request.url.startswith(origin) or self.problems.append(f"request to {request.url}"))

    def check(self):
        problems = [text for text in self.problems if not any(known in text for known in self.expected)]
        assert not problems, problems


class Browser:
    def __init__(self, chromium, world):
        self.chromium, self.world, self.watched, self.contexts = chromium, world, [], []

    def open(self, *words, width=1280, height=900, scheme="light", **options):
        """A new browser window that is signed in and shows the first screen."""
        context = self.chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        context.set_default_timeout(LIMIT)
        if os.environ.get("PAGE_FILES"):
            # While editing: the files of the working tree instead of those in the binary.
            context.route("**/page/**", lambda route: route.fulfill(path=FILES / route.request.url.split("/page/")[1]))
        self.contexts.append(context)
        link = self.world.link(*words)
        self.origin = "/".join(link.split("/")[:3])
        watched = Watched(context, self.origin)
        self.watched.append(watched)
        watched.page.goto(link)
        watched.page.wait_for_url(self.origin + "/")
        return watched

    def path(self, path):
        return self.origin + path

    def close(self):
        for context in self.contexts:
            context.close()


@pytest.fixture(scope="session")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def shared():
    """A world for stories that change nothing."""
    world = filled()
    yield world
    world.close()


@pytest.fixture
def reading(chromium, shared):
    browser = Browser(chromium, shared)
    yield browser
    browser.close()
    for watched in browser.watched:
        watched.check()


@pytest.fixture
def browser(chromium):
    """A browser with a world of its own."""
    world = filled()
    browser = Browser(chromium, world)
    yield browser
    browser.close()
    world.close()
    for watched in browser.watched:
        watched.check()


def ready(page):
    """Waits until a screen has loaded."""
    page.wait_for_function("() => !document.querySelector('[aria-busy], .loading') && document.querySelector('page-tools > *')")
