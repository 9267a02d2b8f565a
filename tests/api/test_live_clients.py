"""Watching with what Weft brings along: server-sent events, the Python client, `app.live`."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from listening import PATIENCE, Listening, listening

import hands
from weft.api import live_connection
from weft.app import App
from weft.base import config, errors
from weft.client import live
from weft.client.client import Client
from weft.db.database import Database
from weft.live import asking
from weft.sdk.query import Queries
from weft.testing.inline import run_pending


@pytest.fixture
async def here(database: Database) -> AsyncIterator[Listening]:
    async with listening(database) as made:
        yield made


async def after(stream: AsyncIterator[Any]) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await anext(stream)


async def test_one_subscription_as_server_sent_events(here: Listening, database: Database) -> None:
    async with Client(here.url, here.keys["reader"]) as client:
        async with contextlib.aclosing(client.stream("/v1/live/sse", query={"subject": "counts"})) as events:  # type: ignore[type-var]
            first = await after(events)
            assert (first.name, first.data["ready"]["count"]) == ("data", 0)
            async with database.tx() as tx:
                await hands.put(tx)
            second = await after(events)
            assert (second.data["ready"]["count"], int(second.id or 0) >= int(first.id or 0)) == (1, True)
        resumed = client.stream("/v1/live/sse", query={"subject": "counts"}, headers={"last-event-id": str(10**17)})
        async with contextlib.aclosing(resumed) as events:  # type: ignore[type-var]
            assert [(await after(events)).name, (await after(events)).name] == ["gap", "data"]
        for query, error in (
            ({"subject": "nothing"}, errors.NotFound),
            ({"subject": "counts", "args": "nonsense"}, errors.InvalidInput),
            ({"subject": "counts", "args": '{"org": 1}'}, errors.InvalidInput),
        ):
            with pytest.raises(error):
                await after(client.stream("/v1/live/sse", query=query))
        with pytest.raises(errors.NotFound, match="is a WebSocket"):
            await client.get("/v1/live")
        nobodys = '{"id": "01890f3e-7b2c-7cc0-98c4-dc0c0c07398f"}'
        gone = client.stream("/v1/live/sse", query={"subject": "task", "args": nobodys})
        async with contextlib.aclosing(gone) as events:  # type: ignore[type-var]
            told = await after(events)
            assert (told.name, told.data["code"]) == ("error", "NOT_FOUND")


async def test_the_python_client_goes_on_after_its_connection_broke(
    here: Listening, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database.tx() as tx:
        id = await hands.put(tx)
    opened: list[live_connection.Connection] = []
    monkeypatch.setattr(
        live_connection.Connection, "guarding", lambda self: opened.append(self) or asyncio.Event().wait()  # type: ignore[func-returns-value]
    )
    async with contextlib.aclosing(live.watch(here.url, here.keys["reader"], "task", id=id)) as watching:
        assert (await after(watching))["state"] == "ready"
        async with asyncio.timeout(PATIENCE):
            while not opened:
                await asyncio.sleep(0.01)
        # as if the outbox had overflowed: the server closes, and the client comes back by itself
        opened[0]._full.set()
        async with database.tx() as tx:
            [held] = await hands.claim_plain(tx)
        assert (await after(watching))["state"] == "running"
        async with database.tx() as tx:
            await hands.end(tx, [held])
        assert (await after(watching))["state"] == "completed"


async def test_the_python_client_says_why_it_is_refused(here: Listening, database: Database) -> None:
    with pytest.raises(errors.Unauthenticated):
        await after(live.watch(here.url, "weft_nonsense", "counts"))
    with pytest.raises(errors.Unauthenticated):
        await after(live.watch(here.url, None, "counts"))
    with pytest.raises(errors.NotFound):
        await after(live.watch(here.url, here.keys["reader"], "nothing"))
    with pytest.raises(errors.InvalidInput):
        await after(live.watch(here.url, here.keys["reader"], "task", id="x"))
    with pytest.raises(errors.ConfigError):
        await after(live.watch("nowhere", None, "counts"))
    watching = live.watch(here.url, here.keys["writer"], "counts")
    await after(watching)
    # with other rights it comes back by itself, and with none it does not
    async with asyncio.timeout(PATIENCE):
        coming = asyncio.ensure_future(anext(watching))  # type: ignore[arg-type]
        async with database.tx() as tx:
            await tx.run("update weft.keys set role = 'operator' where role = 'writer'")
        while not any(one.scope.role == "operator" for one in here.service.live._watched.values()):
            await asyncio.sleep(0.05)
        async with database.tx() as tx:
            await tx.run("update weft.keys set revoked_at = weft.now() where name = 'writer'")
        with pytest.raises(errors.Unauthenticated):
            await coming


async def test_an_app_watches_its_own_queries(database_url: str) -> None:
    app = App(settings=config.Settings(database_url=database_url))

    @app.query(tables=["weft.tasks"])
    async def kinds(ask: asking.Ask, like: str = "%") -> Any:
        return await ask.rows("select distinct t.kind from weft.tasks as t where t.kind like %(like)s order by 1", like=like)

    async with app:
        async with contextlib.aclosing(app.live("query:kinds", like="m%")) as watching:
            assert await after(watching) == []
            await app.enqueue("mail", {}, check=False)
            assert await after(watching) == [{"kind": "mail"}]
        with pytest.raises(errors.NotFound, match=r"counts, .*query:kinds"):
            await after(app.live("query:others"))
        with pytest.raises(errors.InvalidInput):
            await after(app.live("query:kinds", unlike=1))


async def test_what_is_watched_ends_with_its_app_though_nobody_closed_it(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = asyncio.all_tasks()
    with psycopg.connect(database_url) as holder:
        # the change feed is looked at all the time; now that look takes long
        holder.execute("lock table weft.change_inbox in access exclusive mode")
        async with asyncio.timeout(PATIENCE):
            async with App(settings=config.Settings(database_url=database_url)) as app:
                async for _ in app.live("counts"):
                    break
                kept = app.live("queues")
                await anext(kept)
            assert {one for one in asyncio.all_tasks() - before if "weft live" in one.get_name()} == set()
            with pytest.raises(errors.Unavailable, match="closed"):
                await anext(kept)
    assert [one.message for one in caplog.records if one.levelno >= logging.WARNING] == []


async def test_a_query_over_steps_is_shown_again_when_one_is_written(database_url: str) -> None:
    async with App(settings=config.Settings(database_url=database_url)) as app:

        @app.step
        async def double(n: int) -> int:
            return n * 2

        @app.workflow
        async def doubles(n: int) -> Any:
            return [await double(n), await app.wait_for("go")]

        @app.query(tables=["weft.steps"])
        async def done(ask: asking.Ask) -> Any:
            return await ask.rows("select s.output from weft.steps as s where s.operation = 'step'")

        async with contextlib.aclosing(app.live("query:done")) as watching:
            assert await after(watching) == []
            await app.start(doubles, 4)
            await run_pending(app)
            assert await after(watching) == [{"output": 8}]


@pytest.mark.parametrize("table", ["weft.keys", "weft.task_logs", "weft.tsks", "afl.runners"])
def test_a_query_over_what_nobody_is_told_of_is_refused(table: str) -> None:
    queries = Queries()
    with pytest.raises(errors.InvalidInput, match=r"nobody is told when .*weft\.steps, weft\.tasks"):

        @queries.add(tables=["orders", table])
        async def some(ask: Any) -> Any: ...

    assert list(queries) == []


async def test_who_forgot_to_make_a_table_reactive_is_told(
    here: Listening, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    queries = Queries()
    here.service.live._queries = queries

    @queries.add(tables=["forgotten", "made.up", "reactive", "weft.tasks"])
    async def some(ask: Any) -> Any:
        return 1

    async with await database.reserve(purpose="owner") as owner:
        await owner.execute("create table forgotten (id int)")
        await owner.execute("create table reactive (id int)")
        await owner.execute("select weft.enable_reactivity('reactive')")
    async with here.client() as client:
        for id in ("a", "b"):
            await client.subscribe("query:some", id=id)
            assert (await client.next())["data"] == 1
    said = [record.getMessage() for record in caplog.records if "nobody is told" in record.getMessage()]
    assert len(said) == 2 and "enable_reactivity('public.forgotten')" in said[0] and "made.up" in said[1]


def test_a_query_says_what_it_reads_and_is_there_once() -> None:
    app = App(settings=config.Settings(database_url="postgresql://nowhere"))

    async def good(ask: asking.Ask) -> list[Any]:
        return []

    def plain(ask: asking.Ask) -> list[Any]:
        return []

    async def greedy(ask: asking.Ask, **rest: Any) -> list[Any]:
        return []

    assert app.query(good, tables=["orders", "shop.orders", "weft.tasks"]) is good
    assert [one.tables for one in app.queries] == [("public.orders", "shop.orders", "tasks")]
    app.query(good, name="over", tables=["weft.task_history", "forge.forge_workflow_steps", "weft.steps"])
    assert [one.tables for one in app.queries][1] == ("tasks", "steps", "steps")
    for function, tables, why in (
        (good, ["orders"], "two live queries"), (plain, ["orders"], "async function"), (greedy, ["orders"], "one by one"),
        (greedy, [], "which tables"), (greedy, "orders", "which tables"),
    ):  # fmt: skip
        with pytest.raises(errors.InvalidInput, match=why):
            app.query(function, tables=tables)
