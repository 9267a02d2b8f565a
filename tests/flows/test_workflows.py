"""Durable workflows to their end, by a worker of this process on a real database."""

import asyncio
import dataclasses
import datetime as dt
import enum
import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from weft import App
from weft.base import errors
from weft.testing.clock import Clock
from weft.testing.inline import run_pending


class Size(enum.Enum):
    small = "s"
    large = "l"


@dataclasses.dataclass
class Order:
    id: str
    cents: int
    due: dt.datetime
    size: Size = Size.small


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def nodes(app: App, run: uuid.UUID) -> list[tuple[str, str]]:
    async with app.tx() as tx:
        rows = await tx.rows(
            "select node, state from weft.steps where run_id = %(run)s order by number, id", {"run": run}
        )
        return [(row[0], row[1]) for row in rows]


async def test_steps_run_once_and_in_order(app: App) -> None:
    calls: list[int] = []

    @app.step
    async def double(n: int) -> int:
        calls.append(n)
        return n * 2

    @app.step
    def increment(n: int) -> int:
        calls.append(n)
        return n + 1

    @app.workflow
    async def sums(n: int) -> int:
        for _ in range(3):
            n = await double(n)
        return await increment(n)

    run = await app.start(sums, 1)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == 9
    assert calls == [1, 2, 4, 8]
    assert await nodes(app, run.id) == [
        ("double#1", "completed"), ("double#2", "completed"), ("double#3", "completed"), ("increment#4", "completed"),
    ]  # fmt: skip


async def test_arguments_and_results_keep_their_types(app: App) -> None:
    seen: list[Any] = []

    @app.step
    async def later(order: Order) -> Order:
        return dataclasses.replace(order, due=order.due + dt.timedelta(days=1), size=Size.large)

    @app.workflow
    async def ships(order: Order) -> Order:
        changed = await later(order)
        seen.append(changed)
        await app.sleep("1s")
        return changed

    order = Order("a", 5, dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    clock = await Clock.install(app)
    run = await app.start(ships, order)
    await run_pending(app)
    await clock.advance(dt.timedelta(seconds=2))
    await run_pending(app)
    expected = Order("a", 5, dt.datetime(2026, 1, 2, tzinfo=dt.UTC), Size.large)
    assert seen == [expected, expected]
    assert (await app.runs.result(run.id, timeout=30))["size"] == "l"


async def test_a_sleeping_workflow_is_a_row_and_wakes_when_it_is_time(app: App) -> None:
    calls: list[str] = []

    @app.step
    async def note(what: str) -> None:
        calls.append(what)

    @app.workflow
    async def reminds() -> str:
        await note("before")
        await app.sleep(dt.timedelta(days=2))
        await note("after")
        return app.now().isoformat()

    clock = await Clock.install(app)
    run = await app.start(reminds)
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "waiting"
    await clock.advance(dt.timedelta(days=1))
    assert await run_pending(app) == 0
    await clock.advance(dt.timedelta(days=1, seconds=1))
    await run_pending(app)
    woke = dt.datetime.fromisoformat(await app.runs.result(run.id, timeout=30))
    assert woke >= (await app.runs.get(run.id)).created_at + dt.timedelta(days=2)
    assert calls == ["before", "after"]


async def test_signals_are_kept_taken_once_and_time_out_as_a_value(app: App) -> None:
    @app.workflow
    async def asks() -> list[Any]:
        first = await app.wait_for("answer")
        second = await app.wait_for("answer")
        third = await app.wait_for("answer", timeout="1h", default="nobody")
        return [first, second, third]

    clock = await Clock.install(app)
    run = await app.start(asks)
    await app.signal(run.id, "answer", {"n": 1})
    await run_pending(app)
    assert (await app.runs.get(run.id)).state == "waiting"
    await app.signal(run.id, "answer", None)
    await run_pending(app)
    await clock.advance(dt.timedelta(hours=2))
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == [{"n": 1}, None, "nobody"]
    with pytest.raises(errors.Conflict, match="has ended"):
        await app.signal(run.id, "answer", 1)
    with pytest.raises(errors.NotFound):
        await app.signal(uuid.uuid4(), "answer", 1)


async def test_a_signal_the_workflow_does_not_take_is_refused(app: App) -> None:
    @app.workflow(signals=["yes", "no"])
    async def picky() -> None:
        await app.wait_for("yes")

    run = await app.start(picky)
    with pytest.raises(errors.InvalidInput, match="it takes: yes, no"):
        await app.signal(run.id, "maybe")


async def test_gather_map_and_race(app: App) -> None:
    @app.step
    async def square(n: int) -> int:
        await asyncio.sleep(0)
        return n * n

    async def twice(n: int) -> int:
        return await square(await square(n))

    @app.workflow
    async def many() -> list[Any]:
        squares = await app.gather(*[square(n) for n in range(5)], limit=2)
        fourths = await app.gather(twice(2), twice(3))
        mapped = await app.map(square, [5, 6], limit=1)
        index, value = await app.race(app.sleep("1d"), square(7))
        return [squares, fourths, mapped, index, value]

    run = await app.start(many)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == [[0, 1, 4, 9, 16], [16, 81], [25, 36], 1, 49]


async def test_children_are_awaited_or_left_alone(app: App) -> None:
    @app.step
    async def half(n: int) -> int:
        if n % 2:
            raise ValueError("odd")
        return n // 2

    @app.workflow
    async def child(n: int) -> int:
        return await half(n)

    @app.workflow
    async def parent() -> list[Any]:
        both = await app.gather(child(4), child(6))
        try:
            await child(3)
        except errors.StepFailed as error:
            both.append(str(error))
        await app.detach(child, n=8)
        return both

    run = await app.start(parent)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == [2, 3, "child failed: half failed: odd"]
    assert len(await app.runs.list(name="child")) == 4


async def test_a_failed_run_undoes_its_steps_in_reverse_order(app: App) -> None:
    undone: list[Any] = []

    @app.step
    async def refund(order: str, result: int) -> None:
        undone.append((order, result))

    @app.step(compensate=refund)
    async def charge(order: str, cents: int) -> int:
        return cents

    @app.step
    async def ship() -> None:
        raise RuntimeError("no stock")

    @app.workflow
    async def buys() -> None:
        await app.gather(charge("a", 1), charge("b", 2))
        await charge("c", 3)
        await ship()

    run = await app.start(buys)
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert (found.state, (found.error or {})["message"]) == ("compensated", "ship failed: no stock")
    assert undone == [("c", 3), ("b", 2), ("a", 1)]
    assert [state for _, state in await nodes(app, run.id)].count("compensated") == 3


async def test_a_compensation_that_fails_is_listed(app: App) -> None:
    @app.step(retries=1, retry={"base": 0})
    async def refund() -> None:
        raise ValueError("bank is closed")

    @app.step(compensate=refund)
    async def charge() -> None: ...

    @app.workflow
    async def buys() -> None:
        await charge()
        raise RuntimeError("no")

    run = await app.start(buys)
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert (found.state, (found.error or {})["not_undone"]) == ("failed", ["charge"])


async def test_a_step_is_tried_again(app: App) -> None:
    tries: list[int] = []

    @app.step(retries=2, retry={"base": 0})
    async def shaky() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("again")
        return len(tries)

    @app.workflow
    async def tries_it() -> int:
        return await shaky()

    run = await app.start(tries_it)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == 3


async def test_a_long_pause_between_attempts_holds_no_worker(app: App) -> None:
    tries: list[int] = []

    @app.step(retries=2, retry={"base": "1h", "jitter": 0.0, "cap": "1h"})
    async def shaky() -> int:
        tries.append(1)
        if len(tries) < 3:
            raise OSError("again")
        return len(tries)

    @app.step
    async def first() -> None: ...

    @app.workflow
    async def tries_it() -> int:
        await first()
        return await shaky()

    clock = await Clock.install(app)
    run = await app.start(tries_it)
    for expected in (1, 2, 3):
        await run_pending(app)
        assert len(tries) == expected
        await clock.advance(dt.timedelta(hours=1, seconds=1))
    assert await app.runs.result(run.id, timeout=30) == 3


async def test_a_transaction_commits_with_its_checkpoint(app: App, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("create table effects (n integer)")
        await connection.execute("grant all on effects to public")

        @app.transaction
        async def write(conn: Any, n: int) -> int:
            await conn.execute("insert into effects values (%s)", (n,))
            if n == 2:
                raise ValueError("no two")
            return n

        @app.workflow
        async def writes() -> list[int]:
            done = [await write(1)]
            try:
                await write(2)
            except errors.StepFailed:
                done.append(await write(3))
            return done

        run = await app.start(writes)
        await run_pending(app)
        assert await app.runs.result(run.id, timeout=30) == [1, 3]
        rows = await (await connection.execute("select n from effects order by n")).fetchall()
        assert rows == [(1,), (3,)]


async def test_a_run_begins_again_without_its_history(app: App) -> None:
    @app.step
    async def add(n: int) -> int:
        return n + 1

    @app.workflow
    async def loops(n: int) -> int:
        n = await add(n)
        if n < 5:
            app.continue_as_new(n=n)
        return n

    run = await app.start(loops, 0)
    await run_pending(app)
    assert await app.runs.result(run.id, timeout=30) == 5
    assert len(await nodes(app, run.id)) == 1


async def test_a_key_starts_once_and_a_transaction_of_ones_own_starts_and_signals(app: App, database_url: str) -> None:
    @app.workflow
    async def waits() -> Any:
        return await app.wait_for("go")

    first = await app.start(waits, key="k")
    assert (await app.start(waits, key="k")).id == first.id
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        second = await app.start(waits, tx=connection)
        await app.signal(second.id, "go", 1, tx=connection)
        await connection.execute("select weft.signal(%s, 'go', '2')", (first.id,))
        row = await (await connection.execute("select weft.start('waits', '{}', 'workflow', 'k2')")).fetchone()
        assert row is not None
    await run_pending(app)
    assert await app.runs.result(second.id, timeout=30) == 1
    assert await app.runs.result(first.id, timeout=30) == 2
    assert (await app.runs.get(row[0])).state == "waiting"


async def test_an_update_is_answered_refused_or_never_heard(app: App) -> None:
    @app.workflow(signals=["add"])
    async def counter(most: int) -> int:
        total = 0
        while (request := await app.receive("add", timeout="1h", type=int)) is not None:
            if total + request.value > most:
                app.refuse(request, f"{most} is the most")
            else:
                total += request.value
                app.answer(request, {"total": total})
            if total == most:
                break
        return total

    async with app.worker(concurrency=2):
        run = await app.start(counter, 5)
        assert await app.update(run.id, "add", 2) == {"total": 2}
        with pytest.raises(errors.Conflict, match="5 is the most"):
            await app.update(run.id, "add", 9)
        # the last answer comes with the end
        assert await app.update(run.id, "add", 3) == {"total": 5}
        assert await app.runs.result(run.id, timeout=30) == 5
        with pytest.raises(errors.Conflict, match="has ended"):
            await app.update(run.id, "add", 1)

        @app.workflow
        async def deaf() -> None:
            await app.wait_for("end")

    quiet = await app.start(deaf)
    with pytest.raises(errors.ResultTimeout, match="may still do so"):
        await app.update(quiet.id, "add", 1, timeout=0.01)
    await app.signal(quiet.id, "end")
    asked = asyncio.create_task(app.update(quiet.id, "other", 1))
    await run_pending(app)
    with pytest.raises(errors.Conflict, match=r"has not answered|has ended"):
        await asked


async def test_a_job_starts_a_workflow(app: App) -> None:
    @app.workflow
    async def greet(name: str) -> str:
        return f"hello {name}"

    await app.enqueue("weft.start", {"what": "workflow", "name": "greet", "params": {"name": "Ada"}})
    await app.start(greet, "nobody")  # so that it is known before the first worker comes
    async with app.worker(concurrency=2):
        async with asyncio.timeout(60):
            while {"hello Ada"} - {one.output for one in await app.runs.list(name="greet")}:
                await asyncio.sleep(0.02)
