"""A server with its worker in a process of its own, a browser, and what a page may never do: the stand of the UI's tests.

A plug-in: `pytest_plugins = ("stand",)`. Its tests are skipped, loudly, where there is no Chromium or no bundle.
"""

import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import fresh_database

sync_api = pytest.importorskip("playwright.sync_api", reason="NOT TESTED: the web UI; playwright is not installed")
expect = sync_api.expect
PATIENCE = float(os.environ.get("WEFT_UI_PATIENCE", "90"))
"""Seconds. Machines are slow now and then; what is waited for comes."""
CHROMIUM = os.environ.get("WEFT_CHROMIUM", "/usr/bin/chromium")
FOLDER = Path(__file__).parent
expect.set_options(timeout=PATIENCE * 1000)
AXE = FOLDER.parent.parent / "ui" / "node_modules" / "axe-core" / "axe.min.js"


class Here:
    """The server, and a key of an admin."""

    def __init__(self, url: str, key: str) -> None:
        self.url, self.key = url, key
        self.client = httpx2.Client(base_url=url, headers={"authorization": f"Bearer {key}"}, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.request(method, path, **({} if body is None else {"json": body}))
        assert answer.status_code < 300, (method, path, answer.status_code, answer.text)
        return answer.json() if answer.content else None

    def enqueue(self, kind: str, **more: Any) -> str:
        id: str = self.ask("POST", "/v1/tasks", {"kind": kind, **more})["id"]
        return id

    def until(self, id: str, *states: str) -> dict[str, Any]:
        """The task, once it is in one of these states."""
        end = time.monotonic() + PATIENCE
        while (found := self.ask("GET", f"/v1/tasks/{id}"))["state"] not in states:
            assert time.monotonic() < end, found
            time.sleep(0.1)
        return dict(found)


@pytest.fixture(scope="module")
def here(server_url: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """`weft up` on a database of its own, with the bundle."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"NOT TESTED: the web UI; there is no {CHROMIUM} (apt-get install chromium)")
    with fresh_database.made(server_url, template=template) as url:
        environment = {
            **os.environ, "DATABASE_URL": url, "WEFT_FOLDER": str(tmp_path_factory.mktemp("stand")),
            "PYTHONPATH": os.pathsep.join([str(FOLDER), os.environ.get("PYTHONPATH", "")]),
        }  # fmt: skip
        weft = [sys.executable, "-c", "from weft.cli.main import main; main()"]
        made = subprocess.run(
            [*weft, "key", "create", "stand", "--role", "admin", "--json"],
            env=environment, capture_output=True, text=True, check=True, cwd=FOLDER,
        )  # fmt: skip
        log = tmp_path_factory.mktemp("log") / "up.log"
        with log.open("w") as out:
            process = subprocess.Popen(
                [*weft, "up", "stand_app:app", "--port", "0"], env=environment, cwd=FOLDER, stdout=out, stderr=out
            )
        try:
            address = _address(process, log)
            stand = Here(address, json.loads(made.stdout)["key"])
            if "<div id=" not in stand.client.get("/", headers={"accept": "text/html"}).text:
                pytest.skip("NOT TESTED: the web UI; its bundle is not served (make ui)")
            yield stand
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def chromium(here: Here) -> Iterator[Any]:
    """A browser. Of a module, because Playwright keeps an event loop running, beside which no async test can run."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


def _address(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = time.monotonic() + PATIENCE
    while True:
        if found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text()):
            return found[0]
        assert process.poll() is None and time.monotonic() < end, log.read_text()
        time.sleep(0.1)


class Watch:
    """Whatever a page did that it must not."""

    def __init__(self, page: Any, url: str) -> None:
        self.wrong: list[str] = []
        self.allowed: tuple[str, ...] = ()
        """Parts of what a test provokes itself, such as a 404."""
        host = urllib.parse.urlsplit(url).netloc
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.wrong.append(f"uncaught: {error}"))
        page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda asked: self._asked(asked.url, host))

    def _heard(self, said: Any) -> None:
        text = f"{said.text} ({said.location.get('url', '')})"
        if said.type == "error" and not any(part in text for part in self.allowed):
            self.wrong.append(text)

    def _asked(self, url: str, host: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != host:
            self.wrong.append(f"a request left the host: {url}")


@pytest.fixture
def page(chromium: Any, here: Here) -> Iterator[Any]:
    """A page of somebody who is logged in. What it did wrong fails the test at its end."""
    context = chromium.new_context(base_url=here.url, viewport={"width": 1280, "height": 800}, color_scheme="light")
    context.set_default_timeout(PATIENCE * 1000)
    logged = context.request.post("/v1/login", data={"credential": here.key})
    assert logged.ok, logged.text()
    opened = context.new_page()
    opened.watch = Watch(opened, here.url)
    yield opened
    wrong = opened.watch.wrong
    context.close()
    assert not wrong, wrong


def problems(page: Any) -> list[str]:
    """What axe finds serious or worse."""
    if not AXE.exists():
        return []
    # the page's policy runs no foreign script; the debugger's own door does
    page.evaluate(AXE.read_text())
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
    ]


def sideways(page: Any) -> int:
    """Pixels by which the page is wider than the window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    return wide
