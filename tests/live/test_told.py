"""What the change feed hears of tasks, runs and steps; and what of it is said in seed 003's words to whoever listens."""

import uuid
from typing import Any

import psycopg
import pytest

import hands
from weft import App
from weft.db.database import Database
from weft.db.tx import Tx
from weft.journal import sequence
from weft.queue import lease, remote
from weft.queue.lease import Progress
from weft.testing.inline import run_pending

Told = list[tuple[str, str, list[str] | None]]


async def told(tx: Tx) -> Told:
    """What the inbox holds, and is then without."""
    rows = await tx.rows(
        "with gone as (delete from weft.change_inbox returning *) select table_name, op, ids from gone order by id"
    )
    return [(table, op, None if ids is None else [str(one) for one in ids]) for table, op, ids in rows]


@pytest.mark.parametrize("how", ["by its worker", "over http"])
async def test_progress_is_told_when_it_is_new_and_only_then(tx: Tx, how: str) -> None:
    async def say(*reports: Progress) -> set[str]:
        return await lease.report_progress(tx, reports) if how == "by its worker" else set(await remote.extend(tx, reports))

    await hands.put_many(tx, 3)
    one, two, stale = await hands.claim_plain(tx)
    await told(tx)
    lost = Progress(stale.id, str(uuid.uuid4()), 10, None, None)
    assert await say(Progress(one.id, one.token, 10, "begun", 0.1), Progress(two.id, two.token, None, None, None), lost) == {
        one.id, two.id,
    }  # fmt: skip
    assert await told(tx) == [("tasks", "UPDATE", [one.id])]
    where = await tx.value("select ctid::text from weft.tasks where id = %(id)s", {"id": one.id})
    again = [Progress(one.id, one.token, 10, None, 0.1), Progress(two.id, two.token, None, None, None)]
    assert await say(*again) == {one.id, two.id} and await told(tx) == []
    if how == "by its worker":
        # nothing was written at all
        assert await tx.value("select ctid::text from weft.tasks where id = %(id)s", {"id": one.id}) == where
    await say(Progress(one.id, one.token, 10, "half", None), Progress(two.id, two.token, 0, None, None))
    [(_, _, both)] = await told(tx)
    assert set(both or []) == {one.id, two.id}
    view = await hands.look(tx, one.id)
    assert (view.progress, view.progress_message) == (10, "half")


async def test_progress_of_very_many_is_told_as_one(tx: Tx) -> None:
    await hands.put_many(tx, 150)
    held = await hands.claim_plain(tx, 150)
    await told(tx)
    await lease.report_progress(tx, [Progress(one.id, one.token, 5, None, None) for one in held])
    assert await told(tx) == [("tasks", "UPDATE", None)]


async def test_what_a_key_holds_back_and_lets_in_is_told(tx: Tx) -> None:
    first, second = [await hands.put(tx, concurrency_key="k") for _ in range(2)]
    # as if both had been let in before the key was full
    await tx.run("update weft.tasks set state = 'ready'")
    await told(tx)
    [held] = await hands.claim_special(tx)
    assert (held.id, await hands.states(tx, [second])) == (first, ["blocked"])
    assert ("tasks", "UPDATE", [second]) in await told(tx)
    await hands.end(tx, [held])
    assert ("tasks", "UPDATE", [second]) in await told(tx)
    assert await hands.states(tx, [second]) == ["ready"]


async def test_a_workflow_tells_of_its_task_its_steps_and_itself(database_url: str) -> None:
    async with App(database_url=database_url) as app:

        @app.step
        async def double(n: int) -> int:
            return n * 2

        @app.workflow
        async def waits(n: int) -> Any:
            return [await double(n), await app.wait_for("go")]

        database = await app.open()
        run = str((await app.start(waits, 1)).id)
        async with database.tx() as tx:
            assert {one[:2] for one in await told(tx) if one[2] == [run]} == {("runs", "INSERT"), ("tasks", "INSERT")}
        await run_pending(app)
        async with database.tx() as tx:
            heard = await told(tx)
            steps = [str(row[0]) for row in await tx.rows("select id from weft.steps where state = 'completed'")]
            assert await hands.states(tx, [run]) == ["scheduled"]
        # it was taken, and it sleeps
        assert heard.count(("tasks", "UPDATE", [run])) >= 2 and ("runs", "UPDATE", [run]) in heard
        assert set(steps) <= {id for table, _, ids in heard if table == "steps" for id in ids or []}
        await app.signal(uuid.UUID(run), "go", 7)
        async with database.tx() as tx:
            assert await told(tx) == [("tasks", "UPDATE", [run])]


# in seed 003's words


@pytest.fixture
def listener(database_url: str):  # type: ignore[no-untyped-def]
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("listen forge_changes")
        yield connection


def heard(connection: psycopg.Connection) -> list[str]:
    """What was notified so far: all of it has arrived once a later notification has."""
    connection.execute("notify forge_changes, 'the end'")
    found: list[str] = []
    for note in connection.notifies(timeout=60):
        if note.payload == "the end":
            return found
        found.append(note.payload)
    raise AssertionError("the last notification never came")


async def sequenced(database: Database) -> None:
    async with database.tx() as tx:
        await sequence.once(tx)


async def test_jobs_are_said_in_the_seeds_words_when_they_have_their_place(
    database: Database, listener: psycopg.Connection
) -> None:
    async with database.tx() as tx:
        id = await hands.put(tx)
    assert heard(listener) == []
    await sequenced(database)
    assert heard(listener) == [f"forge_jobs:INSERT:{id}"]
    async with database.tx() as tx:
        [held] = await hands.claim_plain(tx)
        await lease.report_progress(tx, [Progress(held.id, held.token, 50, "half", None)])
    await sequenced(database)
    assert set(heard(listener)) == {f"forge_jobs:UPDATE:{id}"}


async def test_of_a_batch_a_bounded_number_is_said(database: Database, listener: psycopg.Connection) -> None:
    async with database.tx() as tx:
        for _ in range(60):
            await hands.put_many(tx, 2)
        [held, *_] = await hands.claim_plain(tx, 1)
    await sequenced(database)
    assert sorted(heard(listener)) == ["forge_jobs:INSERT:", f"forge_jobs:UPDATE:{held.id}"]


async def test_workflows_are_said_with_their_steps_and_dags_are_not(
    database_url: str, listener: psycopg.Connection
) -> None:
    async with App(database_url=database_url) as app:

        @app.step
        async def double(n: int) -> int:
            return n * 2

        @app.workflow
        async def doubles(n: int) -> int:
            return int(await double(n))

        @app.task
        async def mail() -> None: ...

        await app.dags.create({"name": "etl", "tasks": [{"name": "a", "payload": {"task": "mail"}}]})
        run = str((await app.start(doubles, 1)).id)
        dag = str((await app.dags.trigger("etl")).id)
        await run_pending(app)
        database = await app.open()
        await sequenced(database)
        async with database.tx() as tx:
            steps = {str(row[0]) for row in await tx.rows("select id from forge.forge_workflow_steps")}
            runs = [str(row[0]) for row in await tx.rows("select id from forge.forge_workflow_runs")]
    said = heard(listener)
    assert runs == [run] and len(steps) == 1 and not [one for one in said if dag in one]
    assert {f"forge_workflow_runs:INSERT:{run}", f"forge_workflow_runs:UPDATE:{run}"} <= set(said)
    assert {one.split(":")[2] for one in said if one.startswith("forge_workflow_steps:")} == steps
