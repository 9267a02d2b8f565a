"""While an attempt runs: log lines, progress, what it still holds. Stale attempts: tests/settle/test_settle.py."""

import asyncio
import datetime as dt
import uuid

import pytest

import hands
from hands import ORG
from weft.base import errors
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import lease, tasks
from weft.queue.lease import Line, Progress
from weft.queue.model import Claimed, LogLine

AT = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


def line(task: Claimed, message: str, level: str = "info", fields: str | None = None) -> Line:
    return Line(task.id, task.token, AT, level, message, fields)  # type: ignore[arg-type]


async def held_one(tx: Tx) -> Claimed:
    await hands.put(tx)
    return await hands.claim_one(tx)


async def read(tx: Tx, task: Claimed, **where: int) -> list[LogLine]:
    return await tasks.logs(tx, id=uuid.UUID(task.id), org=ORG, **where)


async def test_lines_are_kept_in_order_with_level_fields_and_attempt(tx: Tx) -> None:
    one, two = await held_one(tx), await held_one(tx)
    lines = [line(one, "a"), line(two, "b", "error", '{"n": 1}'), line(one, "c", "debug")]
    assert await lease.write_logs(tx, lines) == 3
    assert [(kept.message, kept.level, kept.at, kept.attempt) for kept in await read(tx, one)] == [
        ("a", "info", AT, 1), ("c", "debug", AT, 1)]  # fmt: skip
    assert [(kept.message, kept.fields) for kept in await read(tx, two)] == [("b", {"n": 1})]


async def test_lines_are_read_in_pages(tx: Tx) -> None:
    task = await held_one(tx)
    await lease.write_logs(tx, [line(task, str(n)) for n in range(5)])
    first = await read(tx, task, take=2)
    rest = await read(tx, task, after=first[-1].id)
    assert [kept.message for kept in first + rest] == ["0", "1", "2", "3", "4"]


async def test_lines_outlive_the_task_and_are_the_orgs_own(tx: Tx) -> None:
    task = await held_one(tx)
    await lease.write_logs(tx, [line(task, "kept")])
    await hands.end(tx, [task])
    assert [kept.message for kept in await read(tx, task)] == ["kept"]
    assert await tasks.logs(tx, id=uuid.UUID(task.id), org=uuid.uuid4()) == []


async def test_a_level_that_is_none_is_refused(database: Database) -> None:
    async with database.tx() as tx:
        task = await held_one(tx)
    with pytest.raises(errors.InvalidInput):
        async with database.tx() as tx:
            await lease.write_logs(tx, [line(task, "a", "loud")])


async def test_a_line_written_while_a_rescue_commits_is_not_kept(database: Database) -> None:
    async with database.tx() as tx:
        task = await held_one(tx)

    async def write() -> int:
        async with database.tx() as tx:
            return await lease.write_logs(tx, [line(task, "late")])

    async with database.tx() as tx:
        await hands.end(tx, [task], "lost")
        writing = asyncio.create_task(write())
        while not await tx.value("select exists (select from pg_locks where not granted and transactionid is not null)"):
            await asyncio.sleep(0)
    assert await writing == 0


async def test_progress_is_shown_and_what_is_not_said_stays(tx: Tx) -> None:
    task = await held_one(tx)
    assert await lease.report_progress(tx, [Progress(task.id, task.token, 10, "begun", 0.5)]) == {task.id}
    await lease.report_progress(tx, [Progress(task.id, task.token, 40, None, 99.0)])
    seen = await hands.look(tx, task.id)
    assert (seen.progress, seen.progress_message) == (40, "begun")
    assert seen.claimed_at is not None and seen.started_at == seen.claimed_at + dt.timedelta(seconds=0.5)
    await hands.end(tx, [task])
    assert (await hands.look(tx, task.id)).progress == 40


async def test_progress_starts_anew_with_the_next_attempt(tx: Tx) -> None:
    task = await held_one(tx)
    await lease.report_progress(tx, [Progress(task.id, task.token, 90, "nearly", None)])
    await hands.end(tx, [task], "released")
    seen = await hands.look(tx, task.id)
    assert (seen.progress, seen.progress_message) == (None, None)


async def test_a_worker_that_was_taken_for_dead_learns_what_it_still_holds(tx: Tx) -> None:
    kept, lost = await held_one(tx), await held_one(tx)
    await hands.end(tx, [lost], "lost")
    attempts = [(kept.id, kept.token), (lost.id, lost.token)]
    assert await lease.still_held(tx, attempts) == {kept.id}
