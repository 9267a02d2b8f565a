"""Rate limits over HTTP: 429 in the envelope, with when to come back, per key and per org."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator

import pytest
from calling import Caller, People, caller, code

from weft.access import rates
from weft.access.bucket import Limit
from weft.access.principal import Principal
from weft.access.rates import Share
from weft.api.limiter import Limiter, Shares, Standing
from weft.base import errors, ids
from weft.db.database import Database
from weft.db.tx import Tx

SLOW = 0.001
"""Tokens a second: none within any test."""


class Counted(Database):
    """Counts how often it is asked."""

    asked = 0

    @contextlib.asynccontextmanager
    async def once(self, *, org: uuid.UUID | None = None) -> AsyncIterator[Tx]:
        self.asked += 1
        async with super().once(org=org) as tx:
            yield tx


def shares(*, key: Limit, org: Limit) -> Shares:
    def of(principal: Principal) -> tuple[Share, Share]:
        return Share(uuid.uuid5(principal.org, principal.actor), key), Share(principal.org, org)

    return of


@pytest.fixture
async def api(database: Database, people: People) -> AsyncIterator[Caller]:
    made = people.caller(database, shares=shares(key=Limit(SLOW, 5), org=Limit(SLOW, 8)))
    yield made
    await made.client.aclose()


async def test_so_many_at_once_and_then_429_with_the_time_to_wait(api: Caller) -> None:
    seen = []
    for n in range(5):
        answer = await api.get("/v1/tasks")
        assert answer.status_code == 200
        seen.append(int(answer.headers["x-ratelimit-remaining"]))
        assert answer.headers["x-ratelimit-limit"] in ("5", "8") and int(answer.headers["x-ratelimit-reset"]) > n
    assert seen == sorted(seen, reverse=True)
    answer = await api.get("/v1/tasks")
    assert code(answer) == (429, "RATE_LIMITED") and "try again in" in answer.json()["error"]["message"]
    assert int(answer.headers["retry-after"]) == answer.json()["error"]["details"]["retry_after"] >= 1
    assert answer.headers["x-ratelimit-remaining"] == "0" and answer.headers["x-ratelimit-limit"] == "5"


async def test_keys_of_an_org_share_its_bucket_and_another_org_has_its_own(api: Caller) -> None:
    statuses = [(await api.get("/v1/tasks", role=role)).status_code for role in ("reader", "writer") for _ in range(5)]
    assert statuses.count(200) == 8 and statuses[-1] == 429
    assert (await api.get("/v1/tasks", role="other:reader")).status_code == 200


async def test_what_needs_no_credential_and_what_workers_report_is_not_limited(api: Caller) -> None:
    await api.post("/v1/tasks", {"kind": "mail"})
    held = (await api.post("/v1/task/claim", {"worker": "w", "kinds": ["mail"]}, role="worker")).json()["tasks"][0]
    for _ in range(20):
        assert (await api.get("/health", role=None)).status_code == 200
        beat = await api.post("/v1/task/heartbeat", {"token": held["token"]}, role="worker")
        assert beat.status_code == 200 and "x-ratelimit-limit" not in beat.headers


async def test_a_denial_costs_no_token(api: Caller) -> None:
    for _ in range(20):
        assert code(await api.post("/v1/tasks", {"kind": "a"}, role="reader")) == (403, "FORBIDDEN")
    assert (await api.get("/v1/tasks", role="reader")).status_code == 200


async def test_a_refused_flood_hardly_asks_the_database(database: Database) -> None:
    counted = Counted(database.settings)
    limiter = Limiter(counted, shares=shares(key=Limit(SLOW, 3), org=Limit(SLOW, 100)))
    ada = Principal(org=ids.DEFAULT_ORG, actor="key:ada", role="writer")
    let_in = 0
    for _ in range(500):
        with contextlib.suppress(errors.RateLimited):
            await limiter.admit(ada, tell=lambda _standing: None)
            let_in += 1
    await counted.close()
    assert let_in == 3 and counted.asked < 10


async def test_many_at_once_in_one_process_get_no_more_than_there_is(database: Database) -> None:
    limiter = Limiter(database, shares=shares(key=Limit(SLOW, 40), org=Limit(SLOW, 60)))

    async def ask(n: int) -> bool:
        who = Principal(org=ids.DEFAULT_ORG, actor=f"key:{n % 2}", role="writer")
        try:
            await limiter.admit(who, tell=lambda _standing: None)
        except errors.RateLimited:
            return False
        return True

    async with asyncio.timeout(60):
        answers = await asyncio.gather(*(ask(n) for n in range(300)))
    assert 40 <= sum(answers) <= 60


async def test_tokens_come_back_with_time_and_unspent_ones_are_not_kept(database: Database) -> None:
    now = 1000.0
    limit = Limit(rate=100, burst=80)
    limiter = Limiter(database, shares=shares(key=limit, org=Limit(10_000, 80_000)), clock=lambda: now)
    who = Principal(org=ids.DEFAULT_ORG, actor="key:ada", role="writer")
    standings: list[Standing] = []
    for _ in range(30):
        await limiter.admit(who, tell=standings.append)
    purse = limiter._purse(limiter._shares(who)[0])
    assert purse.size > 1 and standings[-1].limit == 80
    purse.tokens = max(purse.tokens, 1)
    now += 2.0
    assert not purse.has(now), "a lease is over after a second"


async def test_the_settings_give_the_numbers(database: Database) -> None:
    api = await caller(database)
    answer = await api.get("/v1/tasks")
    settings = database.settings
    mine, _ = rates.of(Principal(org=ids.DEFAULT_ORG, actor="x", role="reader"), settings=settings)
    assert int(answer.headers["x-ratelimit-limit"]) in (int(mine.limit.burst), 2 * settings.rate_per_org)


async def test_a_key_of_its_own_rate_is_held_to_it(database: Database) -> None:
    api = await caller(database)
    body = {"name": "slow", "role": "reader", "request_rate": 1, "request_burst": 2}
    key = (await api.post("/v1/keys", body)).json()["key"]
    first = await api.get("/v1/tasks", key=key)
    assert (first.status_code, first.headers["x-ratelimit-limit"]) == (200, "2")
    assert (await api.get("/v1/tasks")).headers["x-ratelimit-limit"] != "2"


async def test_an_orgs_rate_holds_for_all_its_keys(database: Database) -> None:
    api = await caller(database)
    change = {"request_rate": 1, "request_burst": 3}
    assert (await api.patch(f"/v1/orgs/{api.other_org}", change, role="operator")).status_code == 200
    answer = await api.get("/v1/tasks", role="other:reader")
    assert answer.headers["x-ratelimit-limit"] == "3"
