"""Compensation comes whatever ends a run, holds no worker while it waits, and can be tried again."""

import asyncio
import datetime as dt
import uuid
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from weft import App
from weft.base import errors, ids
from weft.flows import fitting
from weft.queue.model import Claimed
from weft.settle import rescue, settle
from weft.settle.outcome import Outcome
from weft.testing.clock import Clock
from weft.testing.inline import run_pending
from weft.worker.workflows import Crashed


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


def declare(app: App, **retries: Any) -> dict[str, Any]:
    done: dict[str, Any] = {"undone": [], "closed": False}

    @app.step(**retries)
    async def refund(order: str) -> None:
        done["undone"].append(order)
        if done["closed"]:
            raise ValueError("the bank is closed")

    @app.step(compensate=refund)
    async def charge(order: str) -> str:
        return order

    @app.workflow
    async def buys() -> None:
        await charge("a")
        await charge("b")
        await app.wait_for("go")
        raise RuntimeError("no")

    done["buys"] = buys
    return done


async def state(app: App, run: uuid.UUID) -> str:
    return (await app.runs.get(run)).state


async def test_a_run_whose_worker_was_lost_too_often_is_undone(app: App) -> None:
    done = declare(app)

    async def loses(place: str, task: Claimed) -> None:
        """The third worker that goes down with it."""
        if place != "before the end" or lost:
            return
        lost.append(task.id)
        async with app.tx() as tx:
            task.rest = msgspec.structs.replace(task.rest, losses=2)
            await settle.settle(tx, [Outcome(task, "lost", error='{"type": "Lost", "message": "its worker died"}')])
        raise Crashed

    lost: list[str] = []
    run = await app.start(done["buys"])
    await run_pending(app)
    await app.signal(run.id, "unknown")
    await run_pending(app, fault=loses)
    found = await app.runs.get(run.id)
    assert (found.state, (found.error or {})["type"], done["undone"]) == ("compensated", "Lost", ["b", "a"])


async def test_what_kills_its_workers_while_it_is_undone_ends_and_says_what_is_left(app: App) -> None:
    done = declare(app)

    async def loses(place: str, task: Claimed) -> None:
        if not done["undone"] or place != "before a checkpoint":
            return
        async with app.tx() as tx:
            task.rest = msgspec.structs.replace(task.rest, losses=2)
            await settle.settle(tx, [Outcome(task, "lost", error='{"type": "Lost", "message": "its worker died"}')])
        raise Crashed

    run = await app.start(done["buys"])
    await app.signal(run.id, "go")
    await run_pending(app, fault=loses)
    found = await app.runs.get(run.id)
    assert (found.state, (found.error or {})["message"]) == ("failed", "no")
    assert (found.error or {})["not_undone"] == ["charge", "charge"]
    assert await app.runs.retry(run.id) is None
    await run_pending(app)
    assert (await state(app, run.id), done["undone"]) == ("compensated", ["b", "b", "a"])


async def test_a_run_whose_task_was_cancelled_is_undone(app: App) -> None:
    done = declare(app)
    run, untouched = await app.start(done["buys"]), await app.start(done["buys"])
    async with app.tx() as tx:
        await rescue.cancel_one(tx, id=untouched.id, org=ids.DEFAULT_ORG)
    await run_pending(app)
    await app.signal(run.id, "unknown")
    async with app.tx() as tx:
        await tx.run("delete from weft.change_inbox")
        await rescue.cancel_one(tx, id=run.id, org=ids.DEFAULT_ORG)
        assert await tx.value(
            "select count(*) from weft.change_inbox where table_name = 'runs' and %(run)s = any(ids)", {"run": run.id}
        )
    await run_pending(app)
    assert (await state(app, run.id), done["undone"]) == ("compensated", ["b", "a"])
    assert await state(app, untouched.id) == "cancelled"
    async with app.tx() as tx:
        assert await tx.value("select count(*) from weft.messages") == 0


async def test_a_task_cancelled_while_its_run_is_under_way_is_undone(app: App) -> None:
    began, undone = asyncio.Event(), asyncio.Event()

    @app.step
    async def put_back() -> None:
        undone.set()

    @app.step(compensate=put_back)
    async def take() -> None: ...

    @app.step
    async def hangs() -> None:
        began.set()
        await asyncio.sleep(600)

    @app.workflow
    async def long() -> None:
        await take()
        await hangs()

    run = await app.start(long)
    async with app.worker(concurrency=2), asyncio.timeout(100):
        await began.wait()
        async with app.tx() as tx:
            assert await rescue.cancel_one(tx, id=run.id, org=ids.DEFAULT_ORG) == "cancelling"
        await undone.wait()
        while await state(app, run.id) != "compensated":
            await asyncio.sleep(0.05)


async def test_a_compensation_that_waits_for_its_next_attempt_holds_no_worker_and_is_counted(app: App) -> None:
    done = declare(app, retries=1, retry={"base": "1h", "jitter": 0.0, "cap": "1h"})
    done["closed"] = True
    clock = await Clock.install(app)
    run = await app.start(done["buys"])
    await app.signal(run.id, "go")
    await run_pending(app)
    assert (await state(app, run.id), done["undone"]) == ("compensating", ["b"])
    assert "a compensation of it failed and is tried again at" in (await app.runs.explain(run.id)).summary
    await app.signal(run.id, "unknown")
    await run_pending(app)
    assert (await state(app, run.id), done["undone"]) == ("compensating", ["b"])  # woken too early
    await clock.advance(dt.timedelta(hours=1, seconds=1))
    await run_pending(app)
    assert done["undone"] == ["b", "b", "a"]  # it was the last try: the next one's turn
    done["closed"] = False
    await clock.advance(dt.timedelta(hours=1, seconds=1))
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert (found.state, (found.error or {})["not_undone"]) == ("failed", ["charge"])
    assert await app.runs.retry(run.id) == "refund#~2"
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert (found.state, done["undone"]) == ("compensated", ["b", "b", "a", "a", "b"])
    assert "not_undone" not in (found.error or {}) and (found.error or {})["message"] == "no"


async def test_the_attempts_of_a_compensation_are_counted_across_crashes(app: App) -> None:
    done = declare(app, retries=2, retry={"base": 0})
    done["closed"] = True

    async def crashes(place: str, task: Claimed) -> None:
        """Once after each attempt that is written down."""
        if place == "after a checkpoint" and done["undone"] and len(done["undone"]) not in crashed:
            crashed.add(len(done["undone"]))
            raise Crashed

    crashed: set[int] = set()
    run = await app.start(done["buys"])
    await app.signal(run.id, "go")
    await run_pending(app, fault=crashes)
    assert await state(app, run.id) == "failed"
    assert (done["undone"], crashed) == (["b"] * 3 + ["a"] * 3, {1, 2, 3, 4, 5, 6})


async def test_code_is_checked_for_what_is_to_be_undone_too(app: App, database_url: str) -> None:
    done = declare(app, retries=1, retry={"base": "1h", "jitter": 0.0, "cap": "1h"})
    done["closed"] = True
    undoing, waiting = await app.start(done["buys"]), await app.start(done["buys"])
    await app.signal(undoing.id, "go")
    await run_pending(app)
    assert await state(app, undoing.id) == "compensating"

    without = App(database_url=database_url)
    other = App(database_url=database_url)

    @without.step(name="charge")
    async def charge(order: str) -> str:
        return order

    @other.step(name="refund")
    async def refund(order: dt.datetime) -> None: ...

    other.declared.steps["charge"] = without.declared.steps["charge"]
    for changed in (without, other):

        @changed.workflow(name="buys")
        async def buys() -> None:
            await charge("a")
            await charge("b")
            await changed.wait_for("go")  # noqa: B023 - only run within this turn

        async with app.tx() as tx:
            assert await fitting.check(tx, app.declared) == fitting.Fit(2, [])
            fit = await fitting.check(tx, changed.declared)
        assert sorted([one.run for one in fit.misfits]) == sorted([str(undoing.id), str(waiting.id)])
        assert all(["'refund'" in one.message for one in fit.misfits])


async def test_a_compensation_that_takes_other_arguments_blocks_the_run_where_it_is(app: App, database_url: str) -> None:
    done = declare(app)
    run = await app.start(done["buys"])
    await run_pending(app)
    other = App(database_url=database_url)

    @other.step(name="refund")
    async def refund(order: dt.datetime) -> None: ...

    @other.step(name="charge", compensate=refund)
    async def charge(order: str) -> str:
        return order

    @other.workflow(name="buys")
    async def buys() -> None: ...

    async with other:
        await app.runs.cancel(run.id)
        await run_pending(other)
    found = await app.runs.get(run.id)
    assert found.state == "blocked" and "'refund'" in (found.error or {})["message"]
    await app.runs.resume(run.id)
    assert await state(app, run.id) == "compensating"
    await run_pending(app)
    found = await app.runs.get(run.id)
    assert (found.state, (found.error or {})["type"], done["undone"]) == ("compensated", "Cancelled", ["b", "a"])


async def test_what_was_undone_does_not_go_on(app: App) -> None:
    done = declare(app)
    run = await app.start(done["buys"])
    await app.signal(run.id, "go")
    await run_pending(app)
    with pytest.raises(errors.Conflict, match="fork it"):
        await app.runs.retry(run.id)
