"""Token buckets: what they give, and that the database's give the same."""

import asyncio
import datetime as dt
import math
import uuid

from hypothesis import given
from hypothesis import strategies as st

from weft.access import bucket, rates
from weft.access.bucket import Bucket, Limit
from weft.access.principal import Principal
from weft.access.rates import Share
from weft.base import ids
from weft.base.config import Settings
from weft.db.database import Database
from weft.db.tx import Tx

LIMITS = st.builds(Limit, st.floats(0.1, 1000), st.integers(1, 1000).map(float))
ASKS = st.lists(st.tuples(st.floats(-1, 5), st.integers(1, 50)), max_size=40)
SLACK = 1e-6
FILLED = "select extract(epoch from filled_at)::float8 from weft.buckets where id = %(id)s"


@given(LIMITS, ASKS)
def test_it_never_gives_more_than_burst_and_rate_times_elapsed(limit: Limit, asks: list[tuple[float, int]]) -> None:
    now = start = 100.0
    held, given_out = bucket.full(limit, at=start), 0
    for passed, want in asks:
        now += passed
        held, given = bucket.take(held, limit, want=want, at=now)
        given_out += given
        assert 0 <= given <= want and 0 <= held.tokens <= limit.burst
        assert given_out <= limit.burst + limit.rate * max(0.0, held.at - start) + SLACK


@given(LIMITS, ASKS, st.integers(0, 40))
def test_the_same_holds_from_any_moment_on(limit: Limit, asks: list[tuple[float, int]], skip: int) -> None:
    now, held, since, given_out = 0.0, bucket.full(limit, at=0.0), 0.0, 0
    for n, (passed, want) in enumerate(asks):
        now += abs(passed)
        if n == skip:
            since, given_out = now, 0
        held, given = bucket.take(held, limit, want=want, at=now)
        given_out += given
    assert given_out <= limit.burst + limit.rate * (now - since) + SLACK


@given(LIMITS, st.floats(0, 1000))
def test_whoever_waits_as_told_gets_a_token(limit: Limit, tokens: float) -> None:
    held = Bucket(min(tokens, limit.burst), 0.0)
    wait = bucket.until_next(held.tokens, limit)
    _, given = bucket.take(held, limit, want=1, at=wait * (1 + 1e-9) + 1e-9)
    assert given == 1


@given(LIMITS, st.lists(st.booleans(), max_size=30))
def test_a_lease_grows_with_what_is_spent_and_stays_within_bounds(limit: Limit, busy: list[bool]) -> None:
    size = 1
    for all_spent in busy:
        size = bucket.next_lease(size, limit, spent=size if all_spent else size // 2)
        assert 1 <= size <= limit.largest_lease <= max(1, limit.burst / 8)
    assert bucket.next_lease(16, limit, spent=0) == 1


class Server:
    """A server's purse as `api/limiter.py` keeps it, without the database."""

    def __init__(self) -> None:
        self.tokens, self.size, self.spent, self.until = 0, 1, 0, -1.0


@given(
    st.builds(Limit, st.floats(1, 500), st.integers(8, 500).map(float)),
    st.lists(st.tuples(st.floats(0, 0.5), st.integers(0, 2), st.integers(1, 30)), max_size=60),
)
def test_three_servers_together_let_in_no_more_than_the_bucket_gives(
    limit: Limit, requests: list[tuple[float, int, int]]
) -> None:
    servers, now, held, let_in = [Server() for _ in range(3)], 0.0, bucket.full(limit, at=0.0), 0
    for passed, which, count in requests:
        now += passed
        server = servers[which]
        for _ in range(count):
            if now > server.until:
                server.tokens = 0
            if server.tokens == 0:
                server.size = bucket.next_lease(server.size, limit, spent=server.spent) if server.until >= 0 else 1
                held, server.tokens = bucket.take(held, limit, want=server.size, at=now)
                server.spent, server.until = 0, now + bucket.KEPT
            if server.tokens:
                server.tokens -= 1
                server.spent += 1
                let_in += 1
    assert let_in <= limit.burst + limit.rate * now + SLACK


async def test_a_bucket_is_full_at_first_and_then_gives_what_is_left(tx: Tx) -> None:
    share = Share(uuid.uuid4(), Limit(rate=0.001, burst=10))
    assert await rates.take(tx, [(share, 3)]) == {}
    await rates.make(tx, [share])
    await rates.make(tx, [share])
    assert [(await rates.take(tx, [(share, want)]))[share.id][0] for want in (3, 5, 5, 1)] == [3, 5, 2, 0]


async def test_the_statement_decides_as_the_function_does(tx: Tx) -> None:
    """Times are put into the row, so that nothing depends on how long the test takes: what is over a second is exact."""
    limit = Limit(rate=2.0, burst=20)
    share = Share(uuid.uuid4(), limit)
    await rates.make(tx, [share])
    for tokens, ago, want in ((0.0, 3.2, 5), (0.5, 3.2, 9), (20.0, 9.0, 30), (7.9, 0.0, 3), (0.25, 0.1, 1), (5.0, -60.0, 9)):
        await tx.run(
            "update weft.buckets set tokens = %(tokens)s, filled_at = weft.now() - %(ago)s where id = %(id)s",
            {"tokens": tokens, "ago": dt.timedelta(seconds=ago), "id": share.id},
        )
        before = await tx.value(FILLED, {"id": share.id})
        given, left = (await rates.take(tx, [(share, want)]))[share.id]
        now = await tx.value(FILLED, {"id": share.id})
        expected, expected_given = bucket.take(Bucket(tokens, before), limit, want=want, at=now)
        assert given == expected_given
        assert math.isclose(left, expected.tokens, abs_tol=1e-4)


async def test_eight_connections_at_once_get_no_more_than_there_is(database: Database) -> None:
    shares = [Share(uuid.uuid4(), Limit(rate=0.001, burst=50)), Share(uuid.uuid4(), Limit(rate=0.001, burst=80))]
    async with database.tx() as tx:
        await rates.make(tx, shares)

    async def greedy(order: int) -> list[int]:
        got = [0, 0]
        for _ in range(20):
            async with database.once() as tx:
                given = await rates.take(tx, [(one, 3) for one in (shares if order % 2 else reversed(shares))])
            got = [have + given[share.id][0] for have, share in zip(got, shares, strict=True)]
        return got

    async with asyncio.timeout(60):
        totals = await asyncio.gather(*(greedy(n) for n in range(8)))
    assert [sum(one) for one in zip(*totals, strict=True)] == [50, 80]


async def test_buckets_nobody_asked_for_long_are_forgotten(tx: Tx) -> None:
    shares = [Share(uuid.uuid4(), Limit(1, 10)) for _ in range(3)]
    await rates.make(tx, shares)
    old = "update weft.buckets set filled_at = weft.now() - interval '2 hours' where id = %(id)s"
    await tx.run(old, {"id": shares[0].id})
    assert await rates.forget(tx) == 1
    assert await tx.value("select count(*) from weft.buckets") == 2


def test_what_the_rows_of_key_and_org_say_counts() -> None:
    said = {"rate": Limit(2, 3), "org_rate": Limit(20, 30)}
    key = uuid.uuid4()
    ada = Principal(org=ids.DEFAULT_ORG, actor="key:ada", role="writer", key=key, **said)
    assert rates.of(ada, settings=Settings()) == (Share(key, Limit(2, 3)), Share(ids.DEFAULT_ORG, Limit(20, 30)))


async def test_each_who_asks_has_a_bucket_and_each_org_one_for_all() -> None:
    settings = Settings(rate_per_key=5, rate_per_org=7)
    ada, bob = (Principal(org=ids.DEFAULT_ORG, actor=actor, role="writer") for actor in ("key:ada", "key:bob"))
    (first, org), (second, same) = rates.of(ada, settings=settings), rates.of(bob, settings=settings)
    assert first.id != second.id and org == same == Share(ids.DEFAULT_ORG, Limit(7, 14)) and first.limit == Limit(5, 10)
    elsewhere, _ = rates.of(Principal(org=uuid.uuid4(), actor="key:ada", role="writer"), settings=settings)
    assert elsewhere.id != first.id
