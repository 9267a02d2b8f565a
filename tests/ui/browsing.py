"""A server with the stage's app as a process of its own, and Debian's Chromium looking at it.

A plug-in: `pytest_plugins = ("browsing",)`. `staged` is for a whole module, server, worker, browser and page: while
Playwright's own loop stands in this thread no async test could run in it. Where there is no Chromium, no bundle or no axe
the tests are skipped, loudly.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import playwright.sync_api as playwright
import psycopg
import pytest
from bench import chromium
from stage import Stage

import fresh_database
import nursery
from weft.access import keyring, keys
from weft.access.keys import KeyRole
from weft.base import config, ids
from weft.db.database import Database

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DIST = ROOT / "src" / "weft" / "web" / "dist"
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
SWITCHES = [
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
    # a page is looked at for a second or two: what is compiled for a long life, or collected early, costs more than it saves
    "--js-flags=--no-opt --no-maglev --min-semi-space-size=16",
    # a test's window is new; its process need not be
    "--renderer-process-limit=1",
]  # fmt: skip
PATIENCE = 60_000
"""Milliseconds after which a test gives up; on a busy machine anything may take ten seconds."""

LINK = "(to) => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')) }"
FOUND = """([within, how]) => axe.run(document.querySelector(within), how).then((all) => all.violations
    .filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`))"""

playwright.expect.set_options(timeout=PATIENCE)


def lacking() -> str | None:
    """Why the browser cannot be used here."""
    if chromium.found() is None:
        return chromium.LACKING
    if not (DIST / "index.html").exists():
        return "the UI was not built: make ui"
    if not AXE.exists():
        return f"there is no {AXE.relative_to(ROOT)}, so nobody would see what is not accessible: make check"
    return None


@contextlib.contextmanager
def serving(env: dict[str, str], *, worker: bool = True) -> Iterator[str]:
    """The stage's server, with its worker or without; answers its address. Stopped and waited for at the end."""
    # into a file: nobody reads a pipe for as long as it may write
    with tempfile.TemporaryFile("w+b") as said:
        environ = {**os.environ, "PYTHONUNBUFFERED": "1", "WEFT_SECRET_KEY": keyring.generate(), **env}
        process = nursery.begin(HERE / "stage_process.py", *(["worker"] if worker else []), env=environ, out=said.fileno())

        def ready() -> re.Match[str] | None:
            text = os.pread(said.fileno(), 1_000_000, 0).decode(errors="replace")
            assert process.poll() is None, text
            return re.search(r"is ready at (\S+)", text) if not worker or "weft worker is ready" in text else None

        try:
            yield until(ready, 120)[1]
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def key_of(database_url: str, role: KeyRole = "operator") -> str:
    """A key of the default org; an operator may do everything."""

    async def make() -> str:
        database = Database(config.Settings(database_url=database_url))
        await database.open()
        async with database.tx() as tx:
            _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="me", role=role, actor="test")
        await database.close()
        return key

    return asyncio.run(make())


class Seen:
    """A logged-in page, and whatever went wrong in it."""

    def __init__(self, page: playwright.Page, url: str) -> None:
        self.page = page
        self.url = url
        self.wrong: list[str] = []
        self.allowed: tuple[str, ...] = ()
        """Parts of what a test provokes itself, such as a 401."""
        page.set_default_timeout(PATIENCE)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"broke: {error}"))
        page.on("dialog", self._interrupted)
        page.on("request", lambda asked: self._asked(asked.url))
        page.on("websocket", lambda opened: self._asked(opened.url))

    def go(self, path: str) -> playwright.Page:
        """To a page: as a link of ours leads there, or from nothing in a window that is new."""
        if self.page.url.startswith(self.url):
            self.page.evaluate(LINK, path)
        else:
            self.page.goto(path)
        playwright.expect(self.page.locator("h1")).to_be_visible()
        return self.page

    def watch(self, path: str) -> playwright.Page:
        """The same; all of it is there, and what changes from now on is heard."""
        self.go(path)
        self.settled()
        self.live()
        return self.page

    def asked(self, verb: str, *, typed: str | None = None) -> None:
        """Answers the question that is on the page with this button."""
        box = self.page.get_by_role("dialog")
        if typed is not None:
            box.get_by_role("textbox").fill(typed)
        box.get_by_role("button", name=verb, exact=True).click()
        playwright.expect(self.page.get_by_role("dialog")).to_have_count(0)

    def press(self, button: str, *, exact: bool = False) -> None:
        self.page.get_by_role("button", name=button, exact=exact).first.click()

    def settled(self) -> None:
        """Nothing is being read any more."""
        playwright.expect(self.page.locator(".loading")).to_have_count(0)

    def live(self) -> None:
        """What changes from now on is heard."""
        playwright.expect(self.page.locator(".signal-open").first).to_be_attached()

    def refused(self) -> None:
        """Nothing is answered any more to whoever is logged in here. What was taken from them a server may not know for a
        second, and a page that was answered in it has no reason to ask again."""
        assert until(lambda: not self.page.request.get("/v1/me").ok)

    def row(self, text: str) -> playwright.Locator:
        """The rows of the list that say this."""
        return self.page.locator("tbody tr[data-row]", has_text=text)

    @property
    def badge(self) -> playwright.Locator:
        return self.page.locator(".page-title .badge")

    def sideways(self) -> int:
        """Pixels by which the page is wider than the window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wide

    def axe(self, *rules: str, within: str = "html") -> list[str]:
        """What axe finds that is serious, by all of its rules or by some, on the page or in a part of it."""
        # the page's policy runs no foreign script; the debugger's own door does
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text() + "; undefined")
        # only what is found leaves the page: the rest would be put into words, sent twice and thrown away
        how = {"reporter": "no-passes", **({"runOnly": list(rules)} if rules else {})}
        found: list[str] = self.page.evaluate(FOUND, [within, how])
        return found

    def _said(self, said: playwright.ConsoleMessage) -> None:
        text = f"{said.text} ({said.location['url']})"
        if said.type == "error" and not any(part in text for part in self.allowed):
            self.wrong.append(f"console: {text}")

    def _interrupted(self, dialog: playwright.Dialog) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asked(self, url: str) -> None:
        if not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != urlsplit(self.url).netloc:
            self.wrong.append(f"asked another host: {url}")


@contextlib.contextmanager
def browser(url: str, key: str | None) -> Iterator[Seen]:
    """Chromium, logged in unless there is no key."""
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=chromium.found(), args=SWITCHES)
        opened = launched.new_context(base_url=url, viewport={"width": 1280, "height": 800})
        if key is not None:
            log_in(opened, key)
        try:
            yield Seen(opened.new_page(), url)
        finally:
            launched.close()


@contextlib.contextmanager
def another(seen: Seen, key: str | None, **context: Any) -> Iterator[Seen]:
    """A window of somebody else, with this key or at the door; what went wrong in it fails."""
    launched = seen.page.context.browser
    assert launched is not None
    opened = launched.new_context(base_url=seen.url, viewport={"width": 1280, "height": 800}, **context)
    if key is not None:
        log_in(opened, key)
    made = Seen(opened.new_page(), seen.url)
    yield made
    opened.close()
    assert made.wrong == [], made.wrong


def log_in(context: playwright.BrowserContext, key: str) -> None:
    answer = context.request.post("/v1/login", data={"credential": key}, timeout=PATIENCE)
    assert answer.ok, answer.text()


def until(holds: Any, patience: float = 60) -> Any:
    """What `holds` answers, once that is something."""
    end = time.monotonic() + patience
    while not (found := holds()):
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.1)
    return found


class Staged:
    """The server, what is on it, and the page that looks at it."""

    def __init__(self, stage: Stage, ids: dict[str, str], seen: Seen, *, database_url: str) -> None:
        self.stage, self.ids, self.seen = stage, ids, seen
        self._database_url = database_url

    def execute(self, statement: str, *values: object) -> None:
        """Behind everybody's back."""
        with psycopg.connect(self._database_url, autocommit=True) as connection:
            connection.execute(statement, values)


@pytest.fixture(scope="module")
def staged(server_url: str, template: str) -> Iterator[Staged]:
    if why := lacking():
        pytest.skip(f"NOT TESTED: the web UI in a browser; {why}")
    with fresh_database.made(server_url, template=template) as database_url:
        key = key_of(database_url)
        with serving({"DATABASE_URL": database_url}) as url:
            stage = Stage(url, key)
            found = stage.fill()
            with browser(url, key) as seen:
                yield Staged(stage, found, seen, database_url=database_url)
            stage.client.close()


@pytest.fixture
def seen(staged: Staged) -> Iterator[Seen]:
    """The page, at its usual size and theme; a test that left an error in its console fails."""
    page = staged.seen
    # a new window, so that no test finds what another one left
    page.page.goto("about:blank")
    page.wrong.clear()
    page.allowed = ()
    page.page.set_viewport_size({"width": 1280, "height": 800})
    page.page.emulate_media(color_scheme="light")
    yield page
    assert page.wrong == [], page.wrong
