"""Jobs from Python: app.jobs, with and without your own transaction, and @app.cron."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable

import psycopg
import pytest
import sqlalchemy.ext.asyncio

from weft import App
from weft.base import errors, ids
from weft.flows import definitions
from weft.jobs import dags, manage
from weft.jobs.model import Job

REPORT = {"task": "report", "args": {"n": 1}}
PAST = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as opened:
        yield opened


async def eventually(look: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await look():
            await asyncio.sleep(0.05)


async def test_the_life_of_a_job(app: App) -> None:
    made = await app.jobs.create("nightly", REPORT, cron="0 2 * * *", timezone="Europe/Berlin", tags=["a"])
    assert (await app.jobs.get("nightly")) == (await app.jobs.get(made.id)) == (await app.jobs.get(str(made.id))) == made
    assert [one.name for one in await app.jobs.list(tag="a", sort="name")] == ["nightly"]
    changed = await app.jobs.update("nightly", cron="0 3 * * *", version=1)
    assert (changed.version, changed.cron_expression) == (2, "0 3 * * *")
    with pytest.raises(errors.VersionConflict):
        await app.jobs.update("nightly", cron="0 4 * * *", version=1)
    assert len(await app.jobs.preview("nightly", count=4)) == 4
    assert (await app.jobs.pause("nightly")).status == "PAUSED"
    first = await app.jobs.trigger("nightly", {"args": {"m": 2}}, key="k")
    assert (await app.jobs.trigger("nightly", key="k")).id == first.id
    assert (await app.get(first.id)).payload == {"n": 1, "m": 2}
    assert [one.id for one in await app.jobs.executions("nightly")] == [first.id]
    assert (await app.jobs.execution(first.id)).status == "QUEUED"
    assert (await app.jobs.resume("nightly")).status == "ACTIVE"
    back = await app.jobs.backfill("nightly", PAST, PAST + dt.timedelta(days=3))
    assert back.state == "RUNNING"
    assert (await app.jobs.delete("nightly")).status == "DELETED"
    with pytest.raises(errors.JobNotFound):
        await app.jobs.get("nightly")


async def test_a_job_in_your_own_transaction_is_there_if_you_commit(app: App, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, connect_timeout=10) as mine:
        await app.jobs.create("mine", REPORT, delay=3600, tx=mine)
        await app.jobs.pause("mine", tx=mine)
        await app.jobs.trigger("mine", tx=mine)
        assert (await app.jobs.get("mine", tx=mine)).status == "PAUSED"
        with pytest.raises(errors.JobNotFound):
            await app.jobs.get("mine")
        await mine.rollback()
        with pytest.raises(errors.JobNotFound):
            await app.jobs.get("mine")
        await app.jobs.create("mine", REPORT, delay=3600, tx=mine)
        await mine.commit()
    assert (await app.jobs.get("mine")).status == "ACTIVE"


async def test_sqlalchemys_transactions_will_do_too(app: App, database_url: str) -> None:
    told = psycopg.conninfo.conninfo_to_dict(database_url)
    engine = sqlalchemy.ext.asyncio.create_async_engine("postgresql+psycopg://", connect_args=told)
    async with engine.begin() as mine:
        await app.jobs.create("mine", REPORT, cron="@daily", tx=mine)
        await app.jobs.update("mine", cron="@hourly", tx=mine)
    await engine.dispose()
    assert (await app.jobs.get("mine")).cron_expression == "@hourly"


def test_code_that_is_not_async_has_jobs_too(database_url: str) -> None:
    app = App(database_url=database_url)
    made = app.sync.jobs.create("mine", REPORT, cron="@daily")
    with psycopg.connect(database_url, connect_timeout=10) as mine:
        app.sync.jobs.pause("mine", tx=mine)
        execution = app.sync.jobs.trigger(made.id, tx=mine)
    assert app.sync.jobs.get("mine").status == "PAUSED"
    assert [one.id for one in app.sync.jobs.executions("mine")] == [execution.id]
    app.sync.close()


def declaring(url: str, *names: str, cron: str = "@daily") -> App:
    app = App(database_url=url, name="shop")
    for name in names:

        @app.cron(cron, name=name, timezone="America/New_York", misfire="skip")
        @app.task(name=f"task {name}", queue="slow")
        async def nothing() -> None: ...

    return app


async def started(app: App) -> dict[str, Job]:
    async with app, app.worker(queues=["nothing"], roles=["worker"]):
        return {one.name: one for one in await app.jobs.list()}


async def test_declared_jobs_are_written_when_a_worker_starts_and_only_if_they_differ(database_url: str) -> None:
    first = await started(declaring(database_url, "a", "b"))
    assert {name: (one.owner, one.misfire, one.queue, one.version) for name, one in first.items()} == {
        name: ("app:shop", "skip", "slow", 1) for name in ("a", "b")
    }
    assert await started(declaring(database_url, "b", "a")) == first
    changed = await started(declaring(database_url, "a", "b", cron="@hourly"))
    assert {name: (one.id, one.version, one.cron_expression) for name, one in changed.items()} == {
        name: (first[name].id, 2, "@hourly") for name in ("a", "b")
    }


async def test_a_job_that_is_not_declared_any_more_is_paused_and_says_so_until_it_is_again(database_url: str) -> None:
    await started(declaring(database_url, "a", "b"))
    found = await started(declaring(database_url, "a"))
    assert (found["a"].status, found["b"].status) == ("ACTIVE", "PAUSED")
    assert found["b"].error is not None and found["b"].error["code"] == "NOT_DECLARED"
    again = await started(declaring(database_url, "a", "b"))
    assert (again["b"].status, again["b"].error) == ("ACTIVE", None)


async def test_a_declared_job_that_people_paused_stays_paused(database_url: str) -> None:
    app = declaring(database_url, "a")
    await started(app)
    async with app:
        await app.jobs.pause("a")
    assert (await started(declaring(database_url, "a", cron="@hourly")))["a"].status == "PAUSED"


async def test_a_name_that_is_somebody_elses_stops_the_worker(app: App, database_url: str) -> None:
    await app.jobs.create("a", REPORT, cron="@daily")
    with pytest.raises(errors.JobExists, match="somebody made"):
        await started(declaring(database_url, "a"))


async def test_workers_that_start_together_declare_a_job_once(database_url: str) -> None:
    await asyncio.gather(*(started(declaring(database_url, "a", "b")) for _ in range(4)))
    found = await started(declaring(database_url, "a", "b"))
    assert {name: one.version for name, one in found.items()} == {"a": 1, "b": 1}


def test_what_is_wrong_with_a_declaration_is_said_where_it_stands(database_url: str) -> None:
    app = App(database_url=database_url)
    with pytest.raises(errors.InvalidCron, match="position 1"):

        @app.cron("61 * * * *")
        async def wrong() -> None: ...

    with pytest.raises(errors.InvalidInput, match="two jobs are named"):

        @app.cron("@daily", name="twice")
        @app.cron("@hourly", name="twice")
        async def twice() -> None: ...


DAG = {"name": "etl", "cron_expression": "0 2 * * *", "timezone": "Europe/Berlin",
       "tasks": [{"name": "only", "payload": {"task": "report", "args": {"n": 1}}}]}  # fmt: skip


async def test_a_dags_schedule_is_a_job_that_belongs_to_it(app: App) -> None:
    await app.dags.create(DAG)
    made = await app.jobs.get("dag:etl")
    assert (made.payload, made.owner, made.timezone) == ({"dag": "etl"}, "dag:etl", "Europe/Berlin")
    await app.dags.create(DAG)
    assert (await app.jobs.get("dag:etl")) == made
    await app.dags.create({**DAG, "cron_expression": "0 3 * * *"})
    changed = await app.jobs.get("dag:etl")
    assert (changed.id, changed.cron_expression, changed.version) == (made.id, "0 3 * * *", 2)
    async with app.tx() as tx:
        assert await dags.next_times(tx, ["etl", "other"], org=ids.DEFAULT_ORG) == {"etl": changed.next_run_time}
        definition = await definitions.get(tx, "etl", org=ids.DEFAULT_ORG, kind="dag")
        await dags.set_status(tx, definition, "paused", actor="test")
        assert (await manage.get(tx, id=made.id, org=ids.DEFAULT_ORG)).status == "PAUSED"
        await dags.set_status(tx, definition, "active", actor="test")
        assert (await manage.get(tx, id=made.id, org=ids.DEFAULT_ORG)).status == "ACTIVE"
    await app.dags.create({name: value for name, value in DAG.items() if name != "cron_expression"})
    with pytest.raises(errors.JobNotFound):
        await app.jobs.get("dag:etl")


def test_the_job_of_a_dag_with_a_long_name_has_a_name_of_its_own() -> None:
    first, second = dags.job_name("x" * 254 + "a"), dags.job_name("x" * 254 + "b")
    assert first != second and len(first) <= 255 and dags.job_name("etl") == "dag:etl"


async def test_a_time_of_a_dag_is_a_run_for_that_time(app: App) -> None:
    @app.task(name="report")
    async def report(n: int) -> int:
        return n

    await app.dags.create(DAG)
    async with app.tx() as tx:
        await tx.run("update weft.jobs set next_run_time = '2026-01-05 02:00Z', due_at = weft.now() where owner = 'dag:etl'")
    async with app.worker():

        async def ran() -> bool:
            return any(one.state == "completed" for one in await app.runs.list(name="etl"))

        await eventually(ran)
    [run] = await app.runs.list(name="etl")
    [execution] = await app.jobs.executions("dag:etl")
    assert run.trigger == "schedule" and run.logical_date == execution.scheduled_time
    assert execution.result == {"run_id": str(run.id)}


async def test_what_people_ask_of_a_paused_dag_is_run_and_says_where_it_comes_from(app: App) -> None:
    @app.task(name="report")
    async def report(n: int) -> int:
        return n

    await app.dags.create({**DAG, "cron_expression": None})
    await app.dags.pause("etl")
    await app.dags.create(DAG)  # a schedule that comes later is paused with its DAG
    assert (await app.jobs.get("dag:etl")).status == "PAUSED"
    by_hand = await app.jobs.trigger("dag:etl")
    day = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    await app.jobs.backfill("dag:etl", day, day + dt.timedelta(days=1))
    async with app.worker():

        async def ran() -> bool:
            return [one.state for one in await app.runs.list(name="etl")] == ["completed", "completed"]

        await eventually(ran)
    found = {one.trigger: one.logical_date for one in await app.runs.list(name="etl")}
    assert found == {"manual": by_hand.scheduled_time, "backfill": dt.datetime(2026, 1, 5, 1, tzinfo=dt.UTC)}
    await app.dags.resume("etl")
    assert (await app.jobs.get("dag:etl")).status == "ACTIVE"


async def test_dags_are_listed_and_steered_and_all_of_it_is_journaled(app: App) -> None:
    first = (await app.dags.create(DAG)).definition
    second = (await app.dags.create({**DAG, "max_active_runs": 3})).definition
    other = (await app.dags.create({**DAG, "name": "other"})).definition
    assert [one.name for one in await app.dags.list()] == ["other", "etl"]
    assert [one.id for one in await app.dags.list(before=other.id)] == [first.id]
    assert [one.name for one in await app.dags.list(name="oth")] == ["other"]
    versions = await app.dags.versions("etl")
    assert [(one.version, one.number) for one in versions] == [(second.version, 2), (first.version, 1)]
    await app.dags.pause("etl")
    assert (await app.dags.get("etl")).status == "paused"
    await app.dags.resume("etl")
    run = await app.dags.trigger("etl")
    await app.dags.delete("etl")
    with pytest.raises(errors.NotFound):
        await app.dags.get("etl")
    async with app.tx() as tx:
        rows = await tx.rows("select action, after from weft.journal where object_type = 'dag' and object_id = %(id)s "
                             "order by id", {"id": str(first.id)})  # fmt: skip
    assert [row[0] for row in rows] == ["dag.create", "dag.create", "dag.set", "dag.set", "dag.trigger", "dag.set"]
    assert rows[4][1] == {"dag_run_id": str(run.id)}


async def test_backfills_are_listed_and_cancelled(app: App) -> None:
    await app.jobs.create("nightly", {"task": "report"}, cron="0 2 * * *")
    day = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)
    made = [await app.jobs.backfill("nightly", day, day + n * dt.timedelta(days=1)) for n in (1, 2)]
    assert [one.id for one in await app.jobs.backfills("nightly")] == [made[1].id, made[0].id]
    assert [one.id for one in await app.jobs.backfills("nightly", before=made[1].id)] == [made[0].id]
    assert (await app.jobs.cancel_backfill(made[0].id)).state == "CANCELLED"


async def test_an_execution_that_waits_for_its_run_is_in_the_way_of_the_next(app: App) -> None:
    go = asyncio.Event()

    @app.task(name="report")
    async def report(n: int) -> int:
        await go.wait()
        return n

    await app.dags.create({**DAG, "cron_expression": None, "outputs": {"n": "${tasks.only.output}"}})
    payload = {"dag": "etl", "wait": True}
    await app.jobs.create("waits", payload, cron="0 2 * * *", overlap="queue")
    async with app.worker():
        first = (await app.jobs.trigger("waits")).id
        second = (await app.jobs.trigger("waits")).id

        async def began() -> bool:
            return len(await app.runs.list(name="etl")) == 1

        await eventually(began)
        [run] = await app.runs.list(name="etl")
        assert not (await app.jobs.execution(first)).ended
        go.set()

        async def ended() -> bool:
            return {(await app.jobs.execution(id)).status for id in (first, second)} == {"COMPLETED"}

        await eventually(ended)
    assert (await app.jobs.execution(first)).result == {"run_id": str(run.id), "state": "completed", "output": {"n": 1}}
    assert len(await app.runs.list(name="etl")) == 2


async def test_a_job_fires_runs_and_completes_in_a_real_worker(app: App) -> None:
    done: list[int] = []

    @app.task(name="report")
    async def report(n: int) -> int:
        done.append(n)
        return n + 1

    async with app.worker():
        await app.jobs.create("soon", REPORT, delay=0)

        async def completed() -> bool:
            return [one.status for one in await app.jobs.executions("soon")] == ["COMPLETED"]

        await eventually(completed)
    [one] = await app.jobs.executions("soon")
    assert (one.result, one.attempt_number, done) == (2, 1, [1])
    assert (await app.jobs.get("soon")).status == "COMPLETED"
