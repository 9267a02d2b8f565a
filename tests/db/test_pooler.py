"""Weft behind PgBouncer in transaction mode: no session state may be needed, and none may leak."""

import uuid
from collections.abc import Iterator

import psycopg
import pytest

import bouncer
from weft import App
from weft.base import config

pytestmark = pytest.mark.skipif(bouncer.PGBOUNCER is None, reason=bouncer.REASON)


@pytest.fixture
def pooled_url(database_url: str) -> Iterator[str]:
    with bouncer.pooled(database_url) as url:
        yield url


async def test_tasks_limits_and_results_work_through_a_transaction_pooler(database_url: str, pooled_url: str) -> None:
    app = App(settings=config.Settings(database_url=pooled_url, direct_url=database_url, pooled=True))

    @app.task
    async def double(n: int) -> int:
        return 2 * n

    async with app, app.worker(concurrency=5):
        first = await app.enqueue(double, {"n": 21})
        assert await app.result(first.id, timeout=20) == 42
        strict = [
            await app.enqueue(double, {"n": n}, concurrency_key="one by one", concurrency="strict") for n in range(3)
        ]
        assert [await app.result(one.id, timeout=20) for one in strict] == [0, 2, 4]
        many = await app.enqueue_many(double, [{"n": n} for n in range(500)])
        assert await app.result(many[-1].id, timeout=20) == 998


async def test_an_org_does_not_leak_to_the_next_client_of_a_server_connection(database_url: str, pooled_url: str) -> None:
    app = App(settings=config.Settings(database_url=pooled_url, direct_url=database_url, pooled=True))
    async with app:
        for _ in range(5):
            async with app.tx(org=uuid.uuid4()) as tx:
                assert await tx.value("select current_user") == "weft_tenant"
            async with await psycopg.AsyncConnection.connect(pooled_url, prepare_threshold=None) as stranger:
                cursor = await stranger.execute("select current_user, coalesce(current_setting('weft.org', true), '')")
                assert await cursor.fetchone() == ("postgres", "")
