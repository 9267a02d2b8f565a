"""The UI's files beside the API: who answers which path."""

import httpx2
from calling import client, code

from weft.api import browser
from weft.contrib.aiopslab.application import APPLICATION
from weft.db.database import Database
from weft.web.bundle import Bundle, File
from weft.web.pages import Pages

_FILES = {path: File(path, b"<!doctype html>") for path in ("index.html", "assets/a-1.js", "v1/tasks/x")}
_HTML = {"accept": "text/html,application/xhtml+xml"}


def _served(database: Database) -> httpx2.AsyncClient:
    pages = Pages(Bundle(_FILES), policy=browser.PAGE)
    return client(database, pages=pages, applications=[APPLICATION])


async def test_pages_need_no_credential_and_have_the_headers_of_every_answer(database: Database) -> None:
    async with _served(database) as asking:
        for path in ("/", "/runs/1?tab=graph", "/assets/a-1.js"):
            answer = await asking.get(path, headers=_HTML)
            assert answer.status_code == 200 and "set-cookie" not in answer.headers
            assert answer.headers["content-security-policy"] == browser.PAGE and "unsafe" not in browser.PAGE
            assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["referrer-policy"] == "no-referrer" and "x-request-id" in answer.headers


async def test_the_api_is_never_a_page(database: Database) -> None:
    async with _served(database) as asking:
        for path in ("/v1/nothing", "/v1/tasks/x", "/aiopslab/nothing/at/all"):
            answer = await asking.get(path, headers=_HTML)
            assert answer.status_code == 404 and answer.headers["content-type"] == "application/json"
        assert code(await asking.get("/v2/tasks"))[0] == 404  # a program that mistyped a path
        assert code(await asking.post("/", headers=_HTML))[0] == 404
        assert code(await asking.get("/assets/gone.js", headers=_HTML))[0] == 404
        assert (await asking.get("/v1/tasks", headers=_HTML)).status_code == 401


async def test_without_pages_there_is_nothing_at_the_root(database: Database) -> None:
    async with client(database) as asking:
        assert code(await asking.get("/", headers=_HTML))[0] == 404
