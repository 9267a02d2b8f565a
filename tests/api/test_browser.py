"""What browsers make necessary, over ASGI: Host, Origin, sessions and their token, headers of every answer."""

from collections.abc import AsyncIterator

import pytest
from calling import Caller, People, caller, code

from each import each
from weft.access.principal import Principal
from weft.api import browser, policy, routes
from weft.api.browser import Rules
from weft.base import errors, ids
from weft.db.database import Database
from weft.net import address

SESSION = "the-text-of-a-session"


async def session(text: str) -> Principal:
    if text != SESSION:
        raise errors.Unauthenticated("the session has ended; log in again")
    return Principal(org=ids.DEFAULT_ORG, actor="user:ada", role="writer")


@pytest.fixture
async def api(database: Database, people: People) -> AsyncIterator[Caller]:
    made = people.caller(database, rules=Rules(frozenset({"weft", "localhost"})), sessions=session)
    yield made
    await made.client.aclose()


@each("host", ["weft", "WEFT", "weft:8712", "weft.", "localhost:80"])
async def test_our_own_names_are_let_in(api: Caller, host: str) -> None:
    assert (await api.get("/v1/tasks", headers={"host": host})).status_code == 200


@each(
    "host",
    ["evil.example", "weft.evil.example", "evil-weft", "127.0.0.1", "[::1]", "", "weft@evil.example", "evil.example:weft",
     "[::1", "weft evil.example", "weft,evil.example"],
)  # fmt: skip
async def test_another_name_is_refused_even_with_a_good_key(api: Caller, host: str) -> None:
    assert code(await api.get("/v1/tasks", headers={"host": host})) == (403, "REFUSED")


async def test_machines_that_know_only_an_address_may_ask_how_we_are(api: Caller) -> None:
    for path in ("/health", "/ready"):
        assert (await api.get(path, headers={"host": "10.0.0.7:8712"}, role=None)).status_code == 200


async def test_without_rules_any_host_is_let_in(database: Database) -> None:
    anywhere = await caller(database)
    assert (await anywhere.get("/v1/tasks", headers={"host": "any.example"})).status_code == 200


def test_a_server_on_loopback_knows_its_names_and_others_are_told() -> None:
    assert browser.hosts("127.0.0.1", told=()) == address.LOOPBACK == browser.hosts("::1", told=())
    assert browser.hosts("0.0.0.0", told=()) is None
    assert browser.hosts("0.0.0.0", told=("Weft.Example.com:443",)) == {"weft.example.com"}
    assert browser.hosts("127.0.0.1", told=("weft.example.com",)) == {"weft.example.com"} | address.LOOPBACK


NEW = {"kind": "mail"}


@each("origin", ["http://weft", "https://weft", "http://localhost:5173", "https://localhost"])
async def test_our_own_pages_may_change_things(api: Caller, origin: str) -> None:
    assert (await api.post("/v1/tasks", NEW, headers={"origin": origin})).status_code == 201


@each(
    "origin",
    ["https://evil.example", "null", "", "https://weft.evil.example", "http://weft@evil.example", "file://", "weft",
     "http://evil.example/weft", "http://[weft", "chrome-extension://weft", "http://weft/path"],
)  # fmt: skip
async def test_another_sites_page_may_not(api: Caller, origin: str) -> None:
    for how in ({"role": "admin"}, {"role": None, "headers": cookie()}):
        headers = {**how.pop("headers", {}), "origin": origin}  # type: ignore[dict-item,attr-defined]
        assert code(await api.post("/v1/tasks", NEW, headers=headers, **how)) == (403, "REFUSED")
    assert (await api.get("/v1/tasks", headers={"origin": origin})).status_code == 200


@each("site", ["cross-site", "same-site", "nonsense"])
async def test_what_the_browser_says_of_the_site_counts(api: Caller, site: str) -> None:
    assert code(await api.post("/v1/tasks", NEW, headers={"sec-fetch-site": site})) == (403, "REFUSED")
    assert (await api.post("/v1/tasks", NEW, headers={"sec-fetch-site": "same-origin"})).status_code == 201


def cookie(text: str = SESSION, *, csrf: str | None = None) -> dict[str, str]:
    made = browser.cookie(text, secure=True, max_age=3600).partition(";")[0]
    return {"cookie": f"other=1; {made}", **({} if csrf is None else {browser.CSRF_HEADER: csrf})}


async def test_a_session_reads_with_its_cookie_alone(api: Caller) -> None:
    assert (await api.get("/v1/tasks", role=None, headers=cookie())).status_code == 200
    assert code(await api.get("/v1/tasks", role=None, headers=cookie("another"))) == (401, "UNAUTHENTICATED")
    assert code(await api.get("/v1/tasks", role=None, headers={"cookie": "other=1"})) == (401, "UNAUTHENTICATED")


async def test_a_session_changes_things_with_its_token_only(api: Caller) -> None:
    good = browser.csrf_token(SESSION)
    assert (await api.post("/v1/tasks", NEW, role=None, headers=cookie(csrf=good))).status_code == 201
    for bad in (None, "", "x", good[:-1], good + "x", browser.csrf_token("another"), SESSION, "ä"):
        headers = cookie() if bad is None else {**cookie(), browser.CSRF_HEADER: bad.encode("latin-1")}
        assert code(await api.post("/v1/tasks", NEW, role=None, headers=headers)) == (403, "FORBIDDEN")  # type: ignore[arg-type]


@each(
    "name", [one.name for one in routes.operations() if one.method != "GET" and one.name not in policy.EXEMPT]
)
async def test_no_change_at_all_goes_through_by_cookie_alone(api: Caller, name: str) -> None:
    operation = next(one for one in routes.operations() if one.name == name)
    path = operation.template.format(id=ids.DEFAULT_ORG, name="a", slug="a", dag_id="a", step=ids.DEFAULT_ORG)
    body = {} if operation.body is None else {"json": operation.example}
    assert code(await api.ask(operation.method, path, role=None, headers=cookie(), **body)) == (403, "FORBIDDEN")


async def test_a_key_is_asked_for_no_token_and_wins_over_a_cookie(api: Caller) -> None:
    assert (await api.post("/v1/tasks", NEW, headers=cookie("another"))).status_code == 201


async def test_without_sessions_a_cookie_means_nothing(database: Database) -> None:
    none = await caller(database)
    assert code(await none.get("/v1/tasks", role=None, headers=cookie())) == (401, "UNAUTHENTICATED")


def test_the_cookie_is_kept_from_scripts_and_other_sites() -> None:
    assert browser.cookie("abc", secure=True, max_age=60) == (
        "__Host-weft=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure"
    )
    assert browser.cookie("", secure=False, max_age=0) == "weft-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
    assert browser.session_of({"cookie": "weft-session=abc"}) == "abc"
    assert browser.session_of({"cookie": "\x00;;;="}) is None
    assert browser.session_of({"cookie": 'theirs={"a": 1}; odd; =; weft-session=abc; x=\xff'}) == "abc"
    # another host of the same site can set the plain name, but not over https the one that counts there
    tossed = {"cookie": "weft-session=theirs; __Host-weft=mine"}
    assert browser.session_of(tossed) == browser.session_of({**tossed, "x-forwarded-proto": "https"}) == "mine"
    over_https = {"cookie": "weft-session=theirs; weft-session-login=theirs", "x-forwarded-proto": "HTTPS, http"}
    assert browser.session_of(over_https) is None is browser.pending_of(over_https)


@each("path", ["/health", "/v1/tasks", "/nowhere", "/v1/openapi.json"])
async def test_every_answer_forbids_to_be_framed_sniffed_or_run(api: Caller, path: str) -> None:
    for role in ("admin", None):
        headers = (await api.get(path, role=role)).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["content-security-policy"] + browser.PAGE
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
        assert headers.get_list("x-content-type-options") == ["nosniff"]
        assert "strict-transport-security" not in headers


async def test_https_is_asked_to_stay_so(database: Database) -> None:
    over = await caller(database)
    assert "strict-transport-security" in (await over.get("https://weft/health", role=None)).headers


def test_a_pages_own_policy_is_kept() -> None:
    found = dict(browser.secured([(b"content-security-policy", browser.PAGE.encode())], scheme="http"))
    assert found[b"content-security-policy"] == browser.PAGE.encode() and b"x-frame-options" in found
    assert "script-src 'self'" in browser.PAGE and "frame-ancestors 'none'" in browser.PAGE
    assert "http:" not in browser.PAGE and "*" not in browser.PAGE


def test_a_socket_must_come_from_our_own_page() -> None:
    rules = Rules(frozenset({"weft"}))
    rules.check_origin({"origin": "https://weft", "host": "weft"}, method="GET", socket=True)
    with pytest.raises(errors.Refused):
        rules.check_origin({"origin": "https://evil.example", "host": "weft"}, method="GET", socket=True)
