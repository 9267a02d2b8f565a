"""A server with the stage's app as a process of its own, and Debian's Chromium looking at it.

`staged` and `seen` are for a whole module: while Playwright's own loop stands in this thread no async test could run in it.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import playwright.sync_api as playwright
import pytest
from stage import Stage

import fresh_database
from weft.access import keys
from weft.base import config, ids
from weft.db.database import Database

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
DIST = ROOT / "src" / "weft" / "web" / "dist"
AXE = ROOT / "ui" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = "/usr/bin/chromium"
PATIENCE = 60_000
"""Milliseconds after which a test gives up; on a busy machine anything may take ten seconds."""

playwright.expect.set_options(timeout=PATIENCE)


def lacking() -> str | None:
    """Why the browser cannot be used here."""
    if not Path(CHROMIUM).exists():
        return f"there is no {CHROMIUM}: apt-get install chromium"
    if not (DIST / "index.html").exists():
        return "the UI was not built: make ui"
    return None


@contextlib.contextmanager
def serving(env: dict[str, str]) -> Iterator[str]:
    """`weft up` with the stage's app; answers its address. Stopped and waited for at the end."""
    weft = Path(sys.executable).with_name("weft")
    command = [str(weft), "up", "stage_app:app", "--port", "0", "--grace", "0", "--log-level", "warning"]
    with subprocess.Popen(
        command, cwd=HERE, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = []
            for line in process.stdout:
                said.append(line)
                if found := re.search(r"weft server is ready at (\S+)", line):
                    url = found[1]
                if "weft worker is ready" in line:
                    yield url
                    return
            raise AssertionError(f"it ended: {''.join(said)}")
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def admin(database_url: str) -> str:
    """A key that may do everything in the default org."""

    async def make() -> str:
        database = Database(config.Settings(database_url=database_url))
        await database.open()
        async with database.tx() as tx:
            _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="me", role="admin", actor="test")
        await database.close()
        return key

    return asyncio.run(make())


class Seen:
    """A logged-in page, and whatever went wrong in it."""

    def __init__(self, page: playwright.Page, url: str) -> None:
        self.page = page
        self.url = url
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(f"broke: {error}"))
        page.on("request", self._asked)

    def go(self, path: str) -> playwright.Page:
        self.page.goto(self.url + path)
        playwright.expect(self.page.locator("h1")).to_be_visible()
        return self.page

    def settled(self) -> None:
        """Nothing is being read any more."""
        playwright.expect(self.page.locator(".loading")).to_have_count(0)

    def axe(self) -> list[str]:
        """What axe finds that is serious."""
        self.page.evaluate(AXE.read_text() + "; undefined")
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
        return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in serious]

    def _said(self, said: playwright.ConsoleMessage) -> None:
        if said.type == "error":
            self.wrong.append(f"console: {said.text} ({said.location['url']})")

    def _asked(self, asked: playwright.Request) -> None:
        if not asked.url.startswith(("data:", "blob:")) and urlsplit(asked.url).netloc != urlsplit(self.url).netloc:
            self.wrong.append(f"asked another host: {asked.url}")


@contextlib.contextmanager
def browser(url: str, key: str, **context: Any) -> Iterator[Seen]:
    """Chromium, logged in. Several contexts in one browser are not needed here."""
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        opened = launched.new_context(viewport={"width": 1280, "height": 800}, **context)
        answer = opened.request.post(f"{url}/v1/login", data={"credential": key}, headers={"origin": url}, timeout=PATIENCE)
        assert answer.ok, answer.text()
        try:
            yield Seen(opened.new_page(), url)
        finally:
            launched.close()


def until(holds: Any, patience: float = 60) -> Any:
    """What `holds` answers, once that is something."""
    end = time.monotonic() + patience
    while not (found := holds()):
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.1)
    return found


class Staged:
    """The server, what is on it, and the page that looks at it."""

    def __init__(self, stage: Stage, ids: dict[str, str], seen: Seen) -> None:
        self.stage, self.ids, self.seen = stage, ids, seen


@pytest.fixture(scope="module")
def staged(server_url: str, template: str) -> Iterator[Staged]:
    if why := lacking():
        pytest.skip(f"NOT TESTED: the web UI in a browser; {why}")
    with fresh_database.made(server_url, template=template) as database_url:
        key = admin(database_url)
        with serving({"DATABASE_URL": database_url}) as url:
            stage = Stage(url, key)
            found = stage.fill()
            with browser(url, key) as seen:
                yield Staged(stage, found, seen)
            stage.client.close()


@pytest.fixture
def seen(staged: Staged) -> Iterator[Seen]:
    """The page, at its usual size and theme; a test that left an error in its console fails."""
    page = staged.seen
    page.wrong.clear()
    page.page.set_viewport_size({"width": 1280, "height": 800})
    page.page.emulate_media(color_scheme="light")
    yield page
    assert page.wrong == []
