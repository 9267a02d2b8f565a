"""Logging in with the issuer, by way of the browser: nobody gets a session who did not begin the login here."""

import time
import urllib.parse
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from test_oidc import AUDIENCE, Issuer, configured, issuer  # noqa: F401 (a fixture)

from weft.access import code_flow, users
from weft.api import server
from weft.base import ids
from weft.db.database import Database

BACK = "http://weft/v1/login/oidc/back"


@pytest.fixture
async def database(database_url: str, issuer: Issuer) -> AsyncIterator[Database]:  # noqa: F811
    opened = configured(database_url, issuer, oidc_client_id="weft-ui", oidc_client_secret="s3cret&=")
    await opened.open()
    async with opened.tx() as tx:
        await users.create(tx, org=ids.DEFAULT_ORG, external_id="ada", role="writer", actor="t", email="ada@x.org")
    yield opened
    await opened.close()


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=server.build(database))
    async with httpx2.AsyncClient(transport=transport, base_url="http://weft") as made:
        yield made


async def begin(client: httpx2.AsyncClient, next: str = "/runs?state=failed") -> dict[str, str]:
    """What the issuer is asked; the browser has the cookie."""
    answer = await client.get("/v1/login/oidc", params={"next": next})
    assert answer.status_code == 302 and "samesite=lax" in answer.headers["set-cookie"].lower()
    assert "httponly" in answer.headers["set-cookie"].lower()
    where = urllib.parse.urlsplit(answer.headers["location"])
    return dict(urllib.parse.parse_qsl(where.query))


def grant(issuer: Issuer, asked: dict[str, str], code: str, **claims: Any) -> None:  # noqa: F811
    """The issuer lets somebody in, and remembers for which challenge."""
    now = time.time()
    said = {
        "iss": issuer.url, "aud": "weft-ui", "sub": "ada", "exp": now + 300, "iat": now, "nonce": asked["nonce"], **claims
    }
    told = {"code": code, "challenge": asked["code_challenge"], "back": asked["redirect_uri"], "claims": said}
    issuer.say("/grant", {**told, "basic": "Basic d2VmdC11aTpzM2NyZXQlMjYlM0Q="})


async def back(client: httpx2.AsyncClient, **query: str) -> httpx2.Response:
    return await client.get("/v1/login/oidc/back", params=query)


async def test_who_comes_back_from_the_issuer_has_a_session(
    client: httpx2.AsyncClient, issuer: Issuer  # noqa: F811
) -> None:
    assert (await client.get("/v1/login/options")).json()["oidc"] == {"name": "127.0.0.1", "url": "/v1/login/oidc"}
    asked = await begin(client)
    assert (asked["response_type"], asked["client_id"], asked["redirect_uri"]) == ("code", "weft-ui", BACK)
    assert asked["code_challenge_method"] == "S256" and asked["scope"].startswith("openid")
    grant(issuer, asked, "c1")
    answer = await back(client, code="c1", state=asked["state"], session_state="more")
    assert (answer.status_code, answer.headers["location"]) == (302, "/runs?state=failed")
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    me = (await client.get("/v1/me")).json()
    assert (me["actor"], me["role"]) == ("user:ada@x.org", "writer") and me["csrf"]
    # the code is used up, and nobody gets in with it again
    assert (await back(client, code="c1", state=asked["state"])).headers["location"] == "/login?error=unauthenticated"


@pytest.mark.parametrize("wrong", ["state", "cookie", "nonce", "audience", "nobody", "verifier", "refused", "expired"])
async def test_a_login_that_is_not_this_browsers_opens_nothing(
    client: httpx2.AsyncClient, issuer: Issuer, database: Database, wrong: str  # noqa: F811
) -> None:
    asked = await begin(client)
    claims: dict[str, Any] = {
        "nonce": {"nonce": "another"}, "audience": {"aud": AUDIENCE}, "nobody": {"sub": "eve"},
        "expired": {"exp": time.time() - 3600},
    }.get(wrong, {})  # fmt: skip
    if wrong == "verifier":
        asked["code_challenge"] = "somebody else's"
    grant(issuer, asked, f"c-{wrong}", **claims)
    if wrong == "cookie":
        client.cookies.clear()
    query = {"error": "access_denied"} if wrong == "refused" else {"code": f"c-{wrong}"}
    answer = await back(client, **query, state="forged" if wrong == "state" else asked["state"])
    assert (answer.status_code, answer.headers["location"]) == (302, "/login?error=unauthenticated")
    assert "set-cookie" not in answer.headers
    async with database.tx() as tx:
        assert await tx.value("select count(*) from weft.logins") == 0


async def test_without_a_client_there_is_no_such_login(database_url: str, issuer: Issuer) -> None:  # noqa: F811
    database = configured(database_url, issuer)
    await database.open()
    transport = httpx2.ASGITransport(app=server.build(database))
    async with httpx2.AsyncClient(transport=transport, base_url="http://weft") as asking:
        assert (await asking.get("/v1/login/options")).json() == {"oidc": None, "logged_in": False}
        assert (await asking.get("/v1/login/oidc")).status_code == 404
    await database.close()


@pytest.mark.parametrize(
    "next", ["//evil.org", "https://evil.org", "/\\evil.org", "\\/evil.org", "javascript:alert(1)", "", "/a\nb", "/" * 3000]
)
def test_one_never_comes_back_to_another_site(next: str) -> None:
    assert code_flow.page(next) == "/"


def test_one_comes_back_to_the_page_where_one_was() -> None:
    assert code_flow.page("/runs/1?tab=graph#x") == "/runs/1?tab=graph#x"
