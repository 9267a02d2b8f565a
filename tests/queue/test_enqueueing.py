"""Enqueue: one or many, from Python or SQL, in our transaction or in yours."""

import datetime as dt
import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import hands
from weft.app import App
from weft.base import errors, ids
from weft.db.tx import Tx
from weft.sdk.retry import Retry


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as opened:

        @opened.task(name="mail", queue="post", priority=70)
        async def mail(to: str = "") -> None: ...

        yield opened


def _alchemy(url: str) -> str:
    parts = psycopg.conninfo.conninfo_to_dict(url)
    query = "&".join(f"{name}={parts[name]}" for name in ("host", "port") if parts.get(name))
    password = f":{parts['password']}" if parts.get("password") else ""
    return f"postgresql+psycopg://{parts['user']}{password}@/{parts['dbname']}?{query}"


async def _count(app: App) -> int:
    async with app.tx() as tx:
        return await hands.count(tx)


async def test_every_option_is_stored(tx: Tx) -> None:
    parent, run = uuid.uuid4(), uuid.uuid4()
    id = await hands.put(
        tx, payload={"to": "ä", "n": [1, None]}, queue="post", priority=90, max_attempts=7, timeout="2m",
        heartbeat_timeout=30, capabilities=["gpu", "big"], dedupe_key="d", concurrency_key="c", concurrency=3,
        tags=["a", "b"], correlation_id="order 7", trace_parent="00-1-2-01", parent_id=parent, run_id=run,
        retry=Retry(backoff="fixed", base=dt.timedelta(seconds=5)),
    )  # fmt: skip
    task = await hands.look(tx, id)
    assert (task.kind, task.queue, task.lane, task.priority) == ("mail", "post", "post+big+gpu", 90)
    assert task.payload == {"to": "ä", "n": [1, None]}
    assert (task.max_attempts, task.timeout, task.tags) == (7, dt.timedelta(minutes=2), ["a", "b"])
    assert (task.dedupe_key, task.concurrency_key, task.concurrency) == ("d", "c", 3)
    assert (task.correlation_id, task.parent_id, task.run_id) == ("order 7", parent, run)
    assert (task.state, task.attempt, task.losses, task.public_state) == ("ready", 0, 0, "queued")
    held = await hands.claim_one(tx, capabilities=["gpu", "big"])
    assert held.retry == Retry(backoff="fixed", base=dt.timedelta(seconds=5)).to_json()
    assert held.trace_parent == "00-1-2-01"


async def test_the_declaration_speaks_where_the_call_does_not(app: App) -> None:
    told = await app.get((await app.enqueue("mail", {"to": "a"})).id)
    assert (told.queue, told.priority) == ("post", 70)
    said = await app.get((await app.enqueue("mail", {"to": "a"}, queue="other", priority=0)).id)
    assert (said.queue, said.priority) == ("other", 0)


async def test_what_is_not_due_is_scheduled(tx: Tx) -> None:
    later = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
    at, delayed = await hands.put(tx, run_at=later), await hands.put(tx, delay="90m")
    assert await hands.states(tx, [at, delayed]) == ["scheduled", "scheduled"]
    assert (await hands.look(tx, at)).run_at == later
    past, now = await hands.put(tx, run_at=later - dt.timedelta(days=9)), await hands.put(tx, delay=0)
    assert await hands.states(tx, [past, now]) == ["ready", "ready"]


async def test_ids_are_in_the_order_of_enqueue(tx: Tx) -> None:
    made = [await hands.put(tx) for _ in range(50)]
    assert made == sorted(made) and len(set(made)) == 50


async def test_many_are_stored_in_order_and_whole(app: App) -> None:
    made = await app.enqueue_many("mail", [{"to": str(n)} for n in range(12_000)])
    assert len({one.id for one in made}) == 12_000 and all(one.created for one in made)
    assert [(await app.get(made[n].id)).payload for n in (0, 4999, 5000, 11_999)] == [
        {"to": "0"}, {"to": "4999"}, {"to": "5000"}, {"to": "11999"}]  # fmt: skip


async def test_the_ids_of_many_ascend_and_carry_their_time(app: App) -> None:
    before = dt.datetime.now(dt.UTC)
    # more than one statement takes
    made = [one.id for one in await app.enqueue_many("mail", [{}] * 12_000)]
    assert made == sorted(made)
    assert {(id.version, id.variant) for id in made} == {(7, uuid.RFC_4122)}
    minute = dt.timedelta(minutes=1)
    for id in (made[0], made[-1]):
        assert ids.floor(before - minute) < id < ids.floor(before + minute)


@pytest.mark.parametrize("count", [1, 100, 101])
async def test_the_feed_names_many_by_the_ids_that_were_answered_and_stored(app: App, count: int) -> None:
    made = [one.id for one in await app.enqueue_many("mail", [{"to": str(n)} for n in range(count)])]
    async with app.tx() as tx:
        stored = await tx.rows("select id, payload->>'to' from weft.tasks order by id")
        [[named]] = await tx.rows("select ids from weft.change_inbox")
    assert stored == [(id, str(n)) for n, id in enumerate(made)]
    assert named == (made if count <= 100 else None)


async def test_a_task_of_which_little_is_said_is_stored_as_one_of_which_much_is(app: App) -> None:
    short = (await app.enqueue("mail", {"to": "x"}, queue="post", priority=70)).id
    long = (await app.enqueue("mail", {"to": "x"}, queue="post", priority=70, tags=["t"])).id
    async with app.tx() as tx:
        sql = await tx.value("""select weft.enqueue('mail', '{"to": "x"}', 'post', 70)""")
        rows = await tx.rows(
            "select id, to_jsonb(t) - array['id', 'created_at', 'run_at', 'tags'], run_at = created_at "
            "from weft.tasks as t order by id"
        )
    assert [row[0] for row in rows] == [short, long, sql]
    assert rows[0][1:] == rows[1][1:] == rows[2][1:] and rows[0][2] is True


@pytest.mark.parametrize("options", [{}, {"tags": ["more"]}])
async def test_whoever_enqueues_from_python_wakes_who_sleeps_and_nobody_for_what_is_not_due(
    app: App, database_url: str, options: Any
) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as listening:
        await listening.execute("listen weft_wake")
        await listening.execute(
            "insert into weft.nodes (id, hostname, ip_address, pid, version, lease, status, asleep, queues) "
            "values (gen_random_uuid(), 'h', 'i', 1, 'v', '10 s', 'active', true, '{post}')"
        )
        for queue in ("other", "post"):
            for delay in ("1h", "0s"):
                await app.enqueue("mail", queue=queue, delay=delay, **options)
                await app.enqueue_many("mail", [{}, {}], queue=queue, delay=delay, **options)
        notes = [note async for note in listening.notifies(timeout=5, stop_after=2)]
        more = [note async for note in listening.notifies(timeout=0)]
    assert [note.payload for note in notes + more] == [f"{ids.DEFAULT_ORG} post"] * 2


async def test_many_of_none_is_none(app: App) -> None:
    assert await app.enqueue_many("mail", []) == []
    assert await _count(app) == 0


async def test_one_bad_among_many_stores_none(app: App) -> None:
    payloads = [{"n": n} for n in range(6000)]
    for bad in ({"x": "\0"}, {"x": float("nan")}, {"x": object()}, "text"):
        with pytest.raises(errors.InvalidPayload):
            await app.enqueue_many("mail", [*payloads, bad])  # type: ignore[list-item]
    assert await _count(app) == 0


async def test_sql_enqueues_in_any_drivers_own_transaction(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("""select weft.enqueue('mail', '{"to": "x"}', queue => 'post', priority => 60)""")
        connection.rollback()
        assert connection.execute("select count(*) from weft.tasks").fetchone() == (0,)
        connection.execute("""select weft.enqueue('mail', '{"to": "x"}', queue => 'post', priority => 60)""")
        connection.execute("""select weft.enqueue_many('mail', '[{"n": 1}, {"n": 2}]', delay => '1 hour')""")
        connection.commit()
        query = "select kind, queue, state, 100 - urgency, payload from weft.tasks order by id"
        found = connection.execute(query).fetchall()
    assert found[0] == ("mail", "post", "ready", 60, {"to": "x"})
    assert [row[2:] for row in found[1:]] == [("scheduled", 50, {"n": 1}), ("scheduled", 50, {"n": 2})]


async def test_sql_enqueue_many_answers_ids_in_the_order_of_the_payloads(tx: Tx) -> None:
    many = "(select jsonb_agg(jsonb_build_object('n', n)) from generate_series(1, 500) as n)"
    rows = await tx.rows(f"select weft.enqueue_many('mail', {many})")
    payloads = dict(await tx.rows("select id, payload -> 'n' from weft.tasks"))
    assert [payloads[id] for (id,) in rows] == list(range(1, 501))
    assert rows == sorted(rows)


async def test_a_sync_psycopg_transaction_carries_the_task(app: App, database_url: str) -> None:
    with psycopg.connect(database_url) as yours:
        lost = await app.enqueue("mail", {}, tx=yours)
        yours.rollback()
        kept = await app.enqueue("mail", {}, tx=yours)
        many = await app.enqueue_many("mail", [{}, {}], tx=yours)
        assert await _count(app) == 0
        yours.commit()
    assert {(await app.get(one.id)).state for one in (kept, *many)} == {"ready"}
    with pytest.raises(errors.NotFound):
        await app.get(lost.id)


async def test_an_async_psycopg_transaction_carries_the_task(app: App, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, row_factory=psycopg.rows.dict_row) as yours:
        await app.enqueue("mail", {}, tx=yours)
        await yours.rollback()
        kept = await app.enqueue("mail", {"to": "you"}, tx=yours)
        assert await _count(app) == 0
        await yours.commit()
    assert (await app.get(kept.id)).payload == {"to": "you"}


async def test_a_sqlalchemy_transaction_carries_the_task(app: App, database_url: str) -> None:
    engine = sqlalchemy.create_engine(_alchemy(database_url))
    with engine.connect() as yours:
        await app.enqueue("mail", {}, tx=yours)
        yours.rollback()
        await app.enqueue("mail", {}, tx=yours, delay=dt.timedelta(hours=1), tags=["a"], capabilities=["gpu"])
        assert await _count(app) == 0
        yours.commit()
    with Session(engine) as session, session.begin():
        await app.enqueue_many("mail", [{}, {}], tx=session)
    engine.dispose()
    assert await _count(app) == 3


async def test_an_async_sqlalchemy_transaction_carries_the_task(app: App, database_url: str) -> None:
    engine = create_async_engine(_alchemy(database_url))
    async with engine.connect() as yours:
        await app.enqueue("mail", {}, tx=yours)
        await yours.rollback()
        await app.enqueue("mail", {}, tx=yours)
        assert await _count(app) == 0
        await yours.commit()
    async with AsyncSession(engine) as session, session.begin():
        await app.enqueue("mail", {}, tx=session)
    await engine.dispose()
    assert await _count(app) == 2


async def test_something_that_is_no_connection_is_refused_by_name(app: App) -> None:
    with pytest.raises(errors.InvalidInput, match=r"takes a psycopg or SQLAlchemy connection .* not builtins\.object"):
        await app.enqueue("mail", {}, tx=object())


def test_sync_code_enqueues_on_its_own_connection(database_url: str) -> None:
    app = App(database_url=database_url)
    app.task(name="mail")(lambda: None)
    with psycopg.connect(database_url) as yours:
        made = app.sync.enqueue("mail", {}, tx=yours)
        yours.commit()
        assert yours.execute("select id from weft.tasks").fetchall() == [(made.id,)]


async def test_an_enqueue_leaves_one_line_in_the_change_feed(tx: Tx) -> None:
    id = await hands.put(tx)
    assert await tx.rows("select table_name, op, ids::text[] from weft.change_inbox") == [("tasks", "INSERT", [id])]


async def test_a_worker_is_woken_inside_the_transaction_only_if_it_sleeps(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as listening:
        await listening.execute("listen weft_wake")
        await listening.execute("select weft.enqueue('mail')")
        await listening.execute(
            "insert into weft.nodes (id, hostname, ip_address, pid, version, lease, status, asleep, queues) "
            "values (gen_random_uuid(), 'h', 'i', 1, 'v', '10 s', 'active', true, '{post}')"
        )
        await listening.execute("select weft.enqueue('mail', queue => 'other')")
        await listening.execute("select weft.enqueue('mail', queue => 'post', delay => '1 hour')")
        await listening.execute("select weft.enqueue('mail', queue => 'post')")
        [note] = [note async for note in listening.notifies(timeout=5, stop_after=1)]
        more = [note async for note in listening.notifies(timeout=0)]
    assert (note.channel, note.payload, more) == ("weft_wake", f"{ids.DEFAULT_ORG} post", [])
