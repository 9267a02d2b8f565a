"""Users with tokens of an OIDC issuer, which is a process of its own that makes its own keys."""

import base64
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import calling
import httpx2
import pytest
from calling import code

import hands
from weft.access import oidc, roles, users
from weft.api import credentials, server
from weft.base import config, errors, ids
from weft.db.database import Database
from weft.net import jwks

AUDIENCE = "https://weft.example"


class Issuer:
    """The process, as tests speak to it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def token(
        self, *, how: str = "current", algorithm: str = "RS256", head: dict[str, Any] | None = None, posing: bool = False,
        **claims: Any,
    ) -> str:  # fmt: skip
        now = time.time()
        said = {"iss": self.url, "aud": AUDIENCE, "sub": "ada", "exp": now + 300, "iat": now, **claims}
        said = {name: value for name, value in said.items() if value is not ...}
        how_to = {"how": how, "algorithm": algorithm, "head": head or {}, "posing": posing}
        return str(self.say("/token", {**how_to, "claims": said}))

    def say(self, path: str, body: Any = None) -> Any:
        data = None if path == "/asked" else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.url}{path}", data, timeout=20) as answer:
            return json.loads(answer.read())


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("issuer_process.py"))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        yield Issuer(int(process.stdout.readline()))
    finally:
        process.kill()
        process.communicate(timeout=20)


def configured(database_url: str, issuer: Issuer, **how: Any) -> Database:
    told = {"oidc_issuer": issuer.url, "oidc_audience": AUDIENCE, **how}
    return Database(config.Settings(database_url=database_url, **told))


@pytest.fixture
async def database(database_url: str, issuer: Issuer) -> AsyncIterator[Database]:
    opened = configured(database_url, issuer)
    await opened.open()
    async with opened.tx() as tx:
        ada = await users.create(tx, org=ids.DEFAULT_ORG, external_id="ada", role="writer", actor="t", email="ada@x.org")
        await roles.create(tx, org=ids.DEFAULT_ORG, slug="finance", name="Finance", actor="t")
        await roles.assign(tx, slug="finance", user=ada.id, org=ids.DEFAULT_ORG, actor="t")
    yield opened
    await opened.close()


@pytest.fixture
async def client(database: Database) -> AsyncIterator[httpx2.AsyncClient]:
    async with calling.client(database) as opened:
        yield opened


async def ask(client: httpx2.AsyncClient, token: str, path: str = "/v1/me") -> httpx2.Response:
    return await client.get(path, headers={"authorization": f"Bearer {token}"})


async def test_a_user_comes_in_with_the_org_and_role_of_the_table_not_of_the_token(
    client: httpx2.AsyncClient, issuer: Issuer
) -> None:
    token = issuer.token(role="admin", org="other", email="eve@x.org", scope="everything")
    me = await ask(client, token)
    said = me.json()
    assert "task.create" in said["actions"] and "key.read" not in said.pop("actions")
    assert (me.status_code, said) == (200, {
        "org": str(ids.DEFAULT_ORG), "org_slug": "default", "actor": "user:ada@x.org", "role": "writer", "scopes": [],
        "org_roles": ["role:finance"], "csrf": None,
    })  # fmt: skip
    made = await client.post("/v1/tasks", json={"kind": "a"}, headers={"authorization": f"Bearer {token}"})
    assert made.status_code == 201
    assert code(await ask(client, token, "/v1/keys")) == (403, "FORBIDDEN")


FORGED: dict[str, dict[str, Any]] = {
    "another issuer": {"iss": "https://evil.example"},
    "the issuer with a slash": {"iss": "+/"},
    "no issuer": {"iss": ...},
    "another audience": {"aud": "https://other.example"},
    "audiences without ours": {"aud": ["a", "b"]},
    "no audience": {"aud": ...},
    "an empty list of audiences": {"aud": []},
    "expired": {"exp": 1_000_000_000},
    "expired by more than the leeway": {"exp": "-60"},
    "no expiry": {"exp": ...},
    "an expiry that is text": {"exp": "9999999999x"},
    "an expiry that is true": {"exp": True},
    "not yet valid": {"nbf": "+600"},
    "made in the future": {"iat": "+600"},
    "nobody": {"sub": ""},
    "no subject": {"sub": ...},
    "a subject that is a number": {"sub": 7},
    "somebody we do not know": {"sub": "eve"},
    "not signed": {"how": "none"},
    "not signed, in capitals": {"how": "none", "head": {"alg": "NONE"}},
    "signed by nobody but with our algorithm named": {"how": "none", "head": {"alg": "RS256"}},
    "HS256 with the public key for a secret": {"how": "hs256"},
    "HS256 that says RS256": {"how": "hs256", "head": {"alg": "RS256"}},
    "HS256 with the id of the issuer's secret": {"how": "hs256", "head": {"kid": "secret"}},
    "another algorithm that the issuer has too": {"algorithm": "ES256"},
    "another algorithm under our algorithm's name": {"algorithm": "ES256", "head": {"alg": "RS256"}},
    "a key the issuer does not show": {"how": "hidden"},
    "a key the issuer does not show, under the name of one that it does": {"how": "hidden", "posing": True},
    "an unknown key id": {"head": {"kid": "unknown"}},
    "a key that is too short": {"how": "weak"},
    "a key of its own in its head": {"how": "hidden", "head": {"jwk": {"kty": "RSA"}, "jku": "http://127.0.0.1:1/"}},
    "a critical extension": {"head": {"crit": ["exp"]}},
    "another type of token": {"head": {"typ": "dpop+jwt"}},
}


async def test_a_token_that_is_not_quite_right_opens_nothing(client: httpx2.AsyncClient, issuer: Issuer) -> None:
    assert (await ask(client, issuer.token())).status_code == 200
    for why, wrong in FORGED.items():
        told = dict(wrong)
        for name in ("exp", "nbf", "iat"):
            if isinstance(told.get(name), str) and told[name][0] in "+-":
                told[name] = time.time() + int(told[name])
        if told.get("iss") == "+/":
            told["iss"] = f"{issuer.url}/"
        assert code(await ask(client, issuer.token(**told))) == (401, "UNAUTHENTICATED"), why


async def test_a_token_that_was_touched_opens_nothing(client: httpx2.AsyncClient, issuer: Issuer) -> None:
    token = issuer.token()
    head, body, signature = token.split(".")
    other = base64.urlsafe_b64encode(base64.urlsafe_b64decode(body + "==").replace(b'"ada"', b'"bob"')).rstrip(b"=").decode()
    touched = [
        f"{head}.{other}.{signature}", f"{head}.{body}.{signature[:-4]}", f"{head}.{body}.", f"{head}.{body}",
        f"{head}.{body}.{signature}.{signature}", f"{head}..{signature}", f"{head}.{body}.{signature}=",
        f"{head}.{body}.!", "eyJ.eyJ.eyJ", "eyJhbGciOiJSUzI1NiJ9..", token + "A" * 9000,
    ]  # fmt: skip
    for one in touched:
        answer = await ask(client, one)
        assert answer.status_code == 401 and code(answer) == (401, "UNAUTHENTICATED"), one


@pytest.mark.parametrize("leeway", [1, 300])
async def test_clocks_may_differ_by_the_leeway(database_url: str, database: Database, issuer: Issuer, leeway: int) -> None:
    lenient = configured(database_url, issuer, oidc_leeway=leeway)
    async with calling.client(lenient) as client:
        for claims in ({"exp": time.time() - 100}, {"nbf": time.time() + 100}, {"iat": time.time() + 100}):
            assert (await ask(client, issuer.token(**claims))).status_code == (200 if leeway == 300 else 401), claims
    await lenient.close()


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
async def test_each_algorithm_is_taken_where_it_is_configured_and_only_there(
    database_url: str, database: Database, issuer: Issuer, algorithm: str
) -> None:
    other = configured(database_url, issuer, oidc_algorithm=algorithm)
    async with calling.client(other) as client:
        for used in ("RS256", "PS256", "ES256", "EdDSA"):
            assert (await ask(client, issuer.token(algorithm=used))).status_code == (200 if used == algorithm else 401), used
    await other.close()


async def test_after_a_rotation_new_tokens_are_taken_and_those_of_the_old_key_are_not(
    client: httpx2.AsyncClient, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = issuer.token()
    assert (await ask(client, old)).status_code == 200
    issuer.say("/rotate")
    monkeypatch.setattr(oidc, "AGAIN", 0.0)
    assert (await ask(client, issuer.token())).status_code == 200
    assert (await ask(client, issuer.token(how="retired"))).status_code == 401


async def test_tokens_of_unknown_keys_do_not_make_us_ask_the_issuer_again_and_again(
    client: httpx2.AsyncClient, issuer: Issuer
) -> None:
    before = issuer.say("/asked")
    for n in range(30):
        assert (await ask(client, issuer.token(head={"kid": f"unknown-{n}"}))).status_code == 401
    assert issuer.say("/asked") - before <= 2


async def test_keys_are_fetched_anew_when_old_and_kept_while_the_issuer_is_away(issuer: Issuer) -> None:
    now = 1000.0
    known = oidc.Issuer(oidc.Oidc(issuer=issuer.url, audience=AUDIENCE), clock=lambda: now)
    token, before = issuer.token(), issuer.say("/asked")
    await known.known(token)
    await known.known(token)
    assert issuer.say("/asked") - before == 1
    now += oidc.FRESH + 1
    await known.known(token)
    assert issuer.say("/asked") - before == 2
    issuer.say("/break", {"now": True})
    now += oidc.FRESH + 1
    await known.known(token)
    now += 1
    await known.known(token)
    assert issuer.say("/asked") - before == 3
    now += oidc.STALE
    with pytest.raises(errors.Unavailable, match="cannot be read now"):
        await known.known(token)
    issuer.say("/break", {})
    now += oidc.AGAIN + 1
    await known.known(token)


async def test_an_issuer_nobody_reaches_is_said_without_details(
    database_url: str, database: Database, issuer: Issuer
) -> None:
    token = issuer.token()
    away = configured(database_url, issuer, oidc_jwks_url="http://127.0.0.1:9/jwks")
    async with calling.client(away) as client:
        for _ in range(2):
            answer = await ask(client, token)
            assert code(answer) == (503, "UNAVAILABLE") and "127.0.0.1" not in answer.text
    await away.close()


async def test_only_the_configured_issuers_own_host_may_be_private(issuer: Issuer) -> None:
    assert b"keys" in await jwks.fetch(issuer.url, None)
    assert b"keys" in await jwks.fetch("https://issuer.example", f"{issuer.url}/jwks")
    with pytest.raises(errors.Refused, match="another issuer's"):
        await jwks.fetch(issuer.url.replace("127.0.0.1", "localhost"), None)
    with pytest.raises(errors.Refused, match="answered 404"):
        await jwks.fetch(issuer.url, f"{issuer.url}/nowhere")
    with pytest.raises(errors.Refused, match="not a public address"):
        await jwks._get(f"{issuer.url}/jwks", allow=())


async def test_a_subject_of_two_orgs_needs_a_token_that_names_one(
    database_url: str, database: Database, issuer: Issuer
) -> None:
    async with database.tx() as tx:
        other = await hands.new_org(tx, "other")
        await users.create(tx, org=other, external_id="ada", role="reader", actor="t")
    async with calling.client(database) as client:
        answer = await ask(client, issuer.token(org="other"))
        assert code(answer) == (401, "UNAUTHENTICATED") and "several orgs" in answer.text
    naming = configured(database_url, issuer, oidc_org_claim="org")
    async with calling.client(naming) as client:
        for slug, role in (("other", "reader"), ("default", "writer")):
            me = (await ask(client, issuer.token(org=slug))).json()
            assert (me["org_slug"], me["role"]) == (slug, role)
        for wrong in ({"org": "nowhere"}, {"org": ""}, {"org": 7}, {}):
            assert (await ask(client, issuer.token(**wrong))).status_code == 401, wrong
    await naming.close()


async def test_a_user_who_is_removed_demoted_or_whose_org_is_suspended_is_refused_after_the_memory_of_a_second(
    database: Database, issuer: Issuer
) -> None:
    now = 1000.0
    told = oidc.configured(database.settings)
    assert told is not None
    who = credentials.Credentials(database, issuer=oidc.Issuer(told), clock=lambda: now)
    bearer = f"Bearer {issuer.token()}"
    assert (await who.principal(bearer)).role == "writer"
    async with database.tx() as tx:
        [ada] = await users.page(tx, org=ids.DEFAULT_ORG)
        await users.change(tx, id=ada.id, org=ids.DEFAULT_ORG, actor="t", role="reader")
    now += credentials.REMEMBERED
    assert (await who.principal(bearer)).role == "reader"
    async with database.tx() as tx:
        await tx.run("update weft.orgs set suspended_at = weft.now()")
    now += credentials.REMEMBERED
    with pytest.raises(errors.Unauthenticated, match="suspended"):
        await who.principal(bearer)
    async with database.tx() as tx:
        await tx.run("update weft.orgs set suspended_at = null")
        await users.remove(tx, id=ada.id, org=ids.DEFAULT_ORG, actor="t")
    now += credentials.REMEMBERED
    with pytest.raises(errors.Unauthenticated, match="no user here"):
        await who.principal(bearer)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"oidc_audience": None}, "needs WEFT_OIDC_AUDIENCE"),
        ({"oidc_algorithm": "HS256"}, "is not one of"),
        ({"oidc_algorithm": "none"}, "is not one of"),
        ({"oidc_issuer": "http://issuer.example"}, "must be an https address"),
        ({"oidc_issuer": "ftp://issuer.example"}, "must be an https address"),
        ({"oidc_issuer": "https://"}, "must be an https address"),
        ({"oidc_jwks_url": "http://issuer.example/jwks"}, "must be an https address"),
    ],
)
async def test_a_configuration_that_is_not_safe_stops_the_server(settings: dict[str, Any], why: str) -> None:
    told = {"oidc_issuer": "https://issuer.example", "oidc_audience": "weft", **settings}
    wrong = Database(config.Settings(database_url="postgresql://nowhere", **told))
    with pytest.raises(errors.ConfigError, match=why):
        server.build(wrong)
