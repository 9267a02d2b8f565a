"""The UI's files as browsers get them, from a bundle made up here."""

import gzip
from pathlib import Path

import httpx2
import pytest

from weft.api import browser
from weft.web import bundle
from weft.web.pages import Pages

_PAGE = "<!doctype html><title>Weft</title>" + "<p>page</p>" * 200


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(_PAGE)
    (tmp_path / "assets" / "index-abc123.js").write_text("console.log('weft');" * 200)
    (tmp_path / "assets" / "index-abc123.js.map").write_text("{}")
    (tmp_path / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (tmp_path.parent / "secret.txt").write_text("not yours")
    return tmp_path


def _client(folder: Path) -> httpx2.AsyncClient:
    pages = Pages(bundle.load(folder), policy=browser.PAGE)
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=pages), base_url="http://weft")


async def test_every_path_of_the_ui_is_the_one_page(dist: Path) -> None:
    async with _client(dist) as client:
        for path in ("/", "/runs", "/runs/0190?tab=graph", "/queues/a%2Fb"):
            answer = await client.get(path)
            assert answer.status_code == 200 and answer.text == _PAGE
            assert answer.headers["content-type"] == "text/html; charset=utf-8"
            assert answer.headers["cache-control"] == "no-cache"
            assert answer.headers["content-security-policy"] == browser.PAGE


async def test_what_is_named_by_its_content_is_kept_for_good(dist: Path) -> None:
    async with _client(dist) as client:
        script = await client.get("/assets/index-abc123.js")
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert script.headers["content-type"].startswith("text/javascript")
        icon = await client.get("/icon.svg")
        assert (icon.headers["cache-control"], icon.headers["content-type"]) == ("no-cache", "image/svg+xml")


async def test_a_page_one_has_already_is_not_sent_again(dist: Path) -> None:
    async with _client(dist) as client:
        tag = (await client.get("/")).headers["etag"]
        for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = await client.get("/runs", headers={"if-none-match": given})
            assert (again.status_code, again.content) == (304, b"") and again.headers["etag"] == tag
        assert (await client.get("/", headers={"if-none-match": '"old"'})).status_code == 200


async def test_who_can_read_gzip_gets_it_and_nobody_else(dist: Path) -> None:
    async with _client(dist) as client:
        asked = (("gzip, br", True), ("gzip;q=0.5", True), ("*", True), ("gzip;q=0", False), ("identity", False))
        for accept, coded in asked:
            async with client.stream("GET", "/", headers={"accept-encoding": accept}) as answer:
                raw = b"".join([piece async for piece in answer.aiter_raw()])
            assert (answer.headers.get("content-encoding") == "gzip") is coded
            assert answer.headers["vary"] == "accept-encoding" and len(raw) == int(answer.headers["content-length"])
            assert (gzip.decompress(raw) if coded else raw).decode() == _PAGE
        small = await client.get("/icon.svg", headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in small.headers


async def test_head_says_the_same_and_sends_nothing(dist: Path) -> None:
    async with _client(dist) as client:
        answer = await client.head("/", headers={"accept-encoding": "identity"})
        assert (answer.status_code, answer.content) == (200, b"") and int(answer.headers["content-length"]) == len(_PAGE)


def test_only_the_bundle_is_there(dist: Path) -> None:
    pages = Pages(bundle.load(dist), policy=browser.PAGE)
    for path in ("/../secret.txt", "/assets/../../secret.txt", "//etc/passwd", "/assets/index-abc123.js.map"):
        assert not pages.has(path, accept="*/*")
    assert pages.has("/runs", accept="text/html,*/*;q=0.8") and not pages.has("/assets/gone.js", accept="text/html")
    assert not pages.has("/v2/tasks", accept="application/json")


async def test_without_a_bundle_the_page_says_how_to_build_it(tmp_path: Path) -> None:
    async with _client(tmp_path / "none") as client:
        answer = await client.get("/")
        assert answer.status_code == 503 and "make ui" in answer.text
        assert answer.headers["content-security-policy"] == browser.PAGE
