"""A server with nothing on it, reached through the company's own login: every page says what to type first."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from browsing import ROOT, Seen, browser, key_of, lacking, serving
from playwright.sync_api import expect
from stage import Stage

import fresh_database

ISSUER = ROOT / "tests" / "api" / "issuer_process.py"

EMPTY = {
    "/": "weft enqueue hello", "/runs": "weft dag trigger", "/workflows": "weft worker module:app",
    "/dags": "weft dag create nightly.yaml", "/flows": "weft afl submit hello.afl", "/jobs": "weft jobs create nightly",
    "/jobs?tab=calendar": "weft jobs create nightly", "/queues": "weft enqueue hello", "/tasks": "weft enqueue hello",
    "/dead": "weft dead list", "/lab": "weft aiopslab submit", "/settings?tab=secrets": "weft secret set SMTP_PASSWORD",
}  # fmt: skip


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, str(ISSUER)], text=True, **pipes) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.kill()


@pytest.fixture(scope="module")
def bare(server_url: str, template: str, issuer: str) -> Iterator[Seen]:
    """At the door of a server without a worker, whose issuer knows ada."""
    if why := lacking():
        pytest.skip(f"NOT TESTED: the web UI in a browser; {why}")
    with fresh_database.made(server_url, template=template) as database_url:
        oidc = {"WEFT_OIDC_ISSUER": issuer, "WEFT_OIDC_AUDIENCE": "weft", "WEFT_OIDC_CLIENT_ID": "weft-ui"}
        key = key_of(database_url)
        with serving({"DATABASE_URL": database_url, **oidc}, worker=False) as url, browser(url, None) as seen:
            stage = Stage(url, key)
            stage.ask("POST", "/v1/users", {"external_id": "ada", "email": "ada@example.org", "role": "admin"})
            stage.client.close()
            yield seen


def test_who_comes_by_the_issuer_finds_the_page_again_and_what_to_type_first(bare: Seen, issuer: str) -> None:
    page = bare.page
    page.goto("/runs?state=failed")
    door = page.get_by_role("link", name="Log in with 127.0.0.1")
    expect(door).to_be_visible()
    assert bare.axe() == []
    door.click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()
    assert page.url.endswith("/runs?state=failed")
    # the issuer is the one other host that is asked, because somebody went there
    assert {one.split("/authorize")[0] for one in bare.wrong} == {f"asked another host: {issuer}"}
    bare.wrong.clear()
    expect(page.locator(".who-name").first).to_have_text("user:ada@example.org")
    for path, command in EMPTY.items():
        bare.go(path)
        bare.settled()
        expect(page.get_by_label("Command").first, path).to_contain_text(command)
        assert bare.axe() == [], path
        assert bare.sideways() <= 0, path
    page.get_by_role("button", name="Log out").first.click()
    expect(door).to_be_visible()
    assert bare.wrong == []
