"""Each seed's tables as views: the documented columns, the documented words, and no more rights than the asker has."""

import datetime as dt
import json
import uuid
from typing import Any

import pytest
from seed_text import SEEDS, STORED, columns

from weft.db.tx import Tx

DOCUMENTED: dict[str, list[list[str]]] = json.loads(STORED.read_text())
DEFAULT_ORG = "00000000-0000-7000-8000-000000000001"

TYPES = {
    # 003, 004: SQL
    "UUID": {"uuid"}, "VARCHAR": {"character varying"}, "TEXT": {"text"}, "INTEGER": {"integer"}, "INT": {"integer"},
    "SERIAL": {"integer"}, "TIMESTAMPTZ": {"timestamp with time zone"},
    "TIMESTAMP": {"timestamp with time zone"}, "JSONB": {"jsonb"}, "TEXT[]": {"ARRAY"},
    # 000: Python
    "str": {"text"}, "list[str]": {"ARRAY"}, "list[HandledCount]": {"jsonb"}, "Optional[dict]": {"jsonb"},
    "Optional[LockMetaData]": {"jsonb"}, "Optional[str]": {"text"}, "dict": {"jsonb"}, "bool": {"boolean"},
    # 002: its diagram; `int` is a number of milliseconds in 000
    "uuid": {"uuid"}, "string": {"text", "character varying"}, "int": {"integer", "bigint"},
    "timestamp": {"timestamp with time zone"},
    # 001: its lists
    "String": {"text"}, "Enum": {"text"}, "Text": {"text"}, "Timestamp": {"timestamp with time zone"},
    "Integer": {"integer"},
}  # fmt: skip


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the seeds are not here")
def test_the_stored_columns_are_those_of_the_seeds() -> None:
    assert columns() == DOCUMENTED


@pytest.mark.parametrize("view", DOCUMENTED)
async def test_a_view_has_the_documented_columns_in_order(tx: Tx, view: str) -> None:
    schema, name = view.split(".")
    found = await tx.rows(
        """
        select c.column_name, c.data_type
        from information_schema.columns as c
        where c.table_schema = %(schema)s and c.table_name = %(name)s
        order by c.ordinal_position
        """,
        {"schema": schema, "name": name},
    )
    if view.startswith("afl."):  # what is ours, for indexes
        found = [one for one in found if one not in (("run_id", "uuid"), ("id", "uuid"))]
    assert [column for column, _ in found] == [column for column, _ in DOCUMENTED[view]]
    for (column, real), (_, written) in zip(found, DOCUMENTED[view], strict=True):
        # nested entities, and lists and options of them, are documents
        expected = TYPES.get(written, {"jsonb"} if view.startswith("afl.") else set())
        assert real in expected, f"{view}.{column} is {real}, the seed says {written}"


async def test_every_view_is_there_asks_as_its_asker_and_is_read_only(tx: Tx) -> None:
    found = await tx.rows(
        """
        select
            n.nspname || '.' || c.relname,
            c.relkind = 'v' and 'security_invoker=true' = any(c.reloptions),
            has_table_privilege('weft_engine', c.oid, 'select'),
            has_table_privilege('weft_engine', c.oid, 'insert, update, delete')
                or has_table_privilege('weft_tenant', c.oid, 'insert, update, delete')
        from pg_class as c
        join pg_namespace as n
            on n.oid = c.relnamespace
        where n.nspname in ('afl', 'aiopslab', 'forge', 'orchestration', 'scheduler') and c.relkind in ('v', 'r', 'm')
        """
    )
    assert {name for name, *_ in found} == set(DOCUMENTED)
    assert all(tuple(rights) == (True, True, False) for _, *rights in found)


async def put(tx: Tx, table: str, **values: Any) -> str:
    """A row written as it is, so that each state can be had without living through it."""
    values = {"id": str(uuid.UUID(str(await tx.value("select weft.uuid7()")))), **values}
    names = ", ".join(values)
    places = ", ".join(f"%({name})s" for name in values)
    await tx.run(f"insert into weft.{table} ({names}) values ({places})", values)
    return str(values["id"])


async def unfinished(tx: Tx, **values: Any) -> str:
    return await put(tx, "tasks", **{"org_id": DEFAULT_ORG, "kind": "mail", **values})


async def finished(tx: Tx, **values: Any) -> str:
    now = await tx.value("select weft.now()")
    given = {
        "org_id": DEFAULT_ORG, "kind": "mail", "queue": "default", "lane": "default", "payload": "{}", "urgency": 50,
        "attempt": 1, "uncounted": 0, "losses": 0, "created_at": now, "run_at": now, "finished_at": now, **values,
    }  # fmt: skip
    return await put(tx, "task_history", **given)


LATER = dt.datetime(2999, 1, 1, tzinfo=dt.UTC)
PAST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
RUNNING = {"state": "running", "attempt": 1, "lease_token": str(uuid.uuid4()), "claimed_at": PAST}

UNFINISHED = {
    "queued, not due, attempt 0": ({"state": "scheduled", "run_at": LATER}, "pending pending Queued"),
    "queued, due": ({"state": "ready"}, "pending pending Queued"),
    "queued, due, behind a limit": ({"state": "blocked"}, "pending pending Queued"),
    "queued again, not yet due": ({"state": "scheduled", "attempt": 1, "run_at": LATER}, "retry pending Failed"),
    "queued again, due": ({"state": "ready", "attempt": 1}, "retry pending Queued"),
    "queued again after a loss": ({"state": "ready", "attempt": 1, "uncounted": 1}, "pending pending Queued"),
    "running, handler not started": (RUNNING, "claimed running Running"),
    "running": ({**RUNNING, "started_at": PAST}, "running running Running"),
}
FINISHED = {
    "completed": ({"state": "completed"}, "completed completed Completed"),
    "failed, an error forbids retry": ({"state": "failed", "reason": "refused"}, "failed failed Failed"),
    "failed, attempts used up": ({"state": "failed", "reason": "dead"}, "dead_letter failed Failed"),
    "failed, lost too often": ({"state": "failed", "reason": "lost"}, "dead_letter failed Failed"),
    "timed out for good": ({"state": "timed_out", "reason": "dead"}, "failed failed Failed"),
    "cancelled": ({"state": "cancelled", "reason": "requested"}, "failed canceled Canceled"),
    "cancelled before it began": (
        {"state": "cancelled", "reason": "requested", "attempt": 0}, "failed canceled Canceled",
    ),
    "discarded": ({"state": "cancelled", "reason": "discarded"}, "completed ignored Completed"),
    "skipped": ({"state": "completed", "reason": "skipped"}, "completed ignored Completed"),
}  # fmt: skip


async def words(tx: Tx, task: str) -> str:
    """The status of a task in 003, 000 and 004."""
    row = await tx.row(
        """
        select
            (select f.status from forge.forge_jobs as f where f.id = %(id)s::uuid),
            (select a.state from afl.tasks as a where a.uuid = %(id)s::text),
            (select o.status from orchestration.tasks as o where o.id = %(id)s::uuid)
        """,
        {"id": task},
    )
    return " ".join(str(word) for word in row or ())


@pytest.mark.parametrize("state", UNFINISHED)
async def test_an_unfinished_task_is_called_what_the_seed_calls_it(tx: Tx, state: str) -> None:
    values, expected = UNFINISHED[state]
    assert await words(tx, await unfinished(tx, **values)) == expected


@pytest.mark.parametrize("state", FINISHED)
async def test_a_finished_task_is_called_what_the_seed_calls_it(tx: Tx, state: str) -> None:
    values, expected = FINISHED[state]
    assert await words(tx, await finished(tx, **values)) == expected


async def test_a_retry_that_waits_says_when_it_comes(tx: Tx) -> None:
    waiting = await unfinished(tx, state="scheduled", attempt=2, run_at=LATER, error='{"message": "oh no"}')
    queued = await unfinished(tx, state="ready", attempt=2)
    found = await tx.rows(
        "select o.id::text, o.attempt, o.next_retry_at, o.error_message from orchestration.tasks as o order by o.id"
    )
    assert {row[0]: tuple(row[1:]) for row in found} == {waiting: (2, LATER, "oh no"), queued: (3, None, None)}


async def test_forge_jobs_show_numbers_in_the_seed_s_scale(tx: Tx) -> None:
    await unfinished(
        tx, state="ready", urgency=10, attempt=3, uncounted=1, queue="gpu jobs", lane="gpu jobs+cuda", dedupe_key="k"
    )
    [found] = await tx.rows(
        """
        select f.priority, f.attempts, f.max_attempts, f.progress_percent, f.worker_capability, f.idempotency_key
        from forge.forge_jobs as f
        """
    )
    assert tuple(found) == (90, 2, 3, 0, "cuda", "k")


async def test_a_finished_forge_job_completed_or_failed_at_its_end(tx: Tx) -> None:
    done = await finished(tx, state="completed", result='{"n": 1}', finished_at=PAST)
    dead = await finished(tx, state="failed", reason="dead", finished_at=PAST)
    found = await tx.rows("select f.id::text, f.output, f.completed_at, f.failed_at from forge.forge_jobs as f")
    assert {row[0]: tuple(row[1:]) for row in found} == {done: ({"n": 1}, PAST, None), dead: (None, None, PAST)}


async def node(tx: Tx, **values: Any) -> str:
    given = {
        "hostname": "one", "ip_address": "10.0.0.1", "pid": 1, "version": "1", "lease": dt.timedelta(seconds=10),
        "status": "active", "started_at": PAST, "beat_at": PAST, **values,
    }  # fmt: skip
    return await put(tx, "nodes", **given)


@pytest.mark.parametrize(
    ("status", "afl"), [("starting", "startup"), ("active", "running"), ("draining", "shutdown"), ("dead", "error")]
)
async def test_a_node_is_a_server_a_worker_and_a_forge_node(tx: Tx, status: str, afl: str) -> None:
    made = await node(tx, status=status, handled='{"b": [5, 1], "a": [2, 0]}', queues=["q"], handlers=["a", "b"])
    [server] = await tx.rows(
        """
        select s.server_name, s.server_ips, s.start_time, s.ping_time, s.topics, s.handlers, s.handled, s.state
        from afl.servers as s
        where s.uuid = %(id)s::text
        """,
        {"id": made},
    )
    counts = [{"handler": "a", "handled": 2, "not_handled": 0}, {"handler": "b", "handled": 5, "not_handled": 1}]
    moment = int(PAST.timestamp() * 1000)
    assert tuple(server) == ("one", ["10.0.0.1"], moment, moment, ["q"], ["a", "b"], counts, afl)
    for view, key in (("forge.forge_nodes", "id"), ("scheduler.workers", "worker_id")):
        assert await tx.value(f"select v.status from {view} as v where v.{key} = %(id)s", {"id": made}) == status


async def test_a_worker_shows_what_it_runs_and_a_running_task_hangs_on_its_beat(tx: Tx) -> None:
    made = await node(tx, concurrency=8, roles=["worker"])
    await node(tx, roles=["gateway"])
    await unfinished(tx, **RUNNING, node_id=made)
    [worker] = await tx.rows("select w.worker_id::text, w.capacity, w.running_jobs from scheduler.workers as w")
    assert tuple(worker) == (made, 8, 1)
    [task] = await tx.rows("select o.worker_id, o.lease_expires_at, o.last_heartbeat from orchestration.tasks as o")
    assert tuple(task) == (made, PAST + dt.timedelta(seconds=10), PAST)
    assert await tx.value("select f.last_heartbeat from forge.forge_jobs as f") == PAST


async def test_an_http_worker_s_task_has_a_lease_of_its_own(tx: Tx) -> None:
    await unfinished(tx, **RUNNING, lease_until=PAST, heartbeat_timeout=dt.timedelta(seconds=30))
    [task] = await tx.rows("select o.lease_expires_at, o.last_heartbeat from orchestration.tasks as o")
    assert tuple(task) == (PAST, PAST - dt.timedelta(seconds=30))


async def test_jobs_and_executions_are_shown_in_the_words_of_002_and_003(tx: Tx) -> None:
    job = await put(
        tx, "jobs", org_id=DEFAULT_ORG, name="nightly", job_type="CRON", cron_expression="@daily", payload="{}", kind="mail"
    )
    ran = await finished(tx, state="completed", started_at=PAST, result='{"n": 1}')
    waits = await unfinished(tx, state="ready", attempt=1)
    for n, id in enumerate((ran, waits)):
        await put(tx, "executions", id=id, org_id=DEFAULT_ORG, job_id=job, scheduled_time=PAST + dt.timedelta(days=n))
    [shown] = await tx.rows("select j.name, j.status, j.version, j.timezone from scheduler.jobs as j")
    assert tuple(shown) == ("nightly", "ACTIVE", 1, "UTC")
    rows = await tx.rows("select e.status, e.attempt_number, e.result from scheduler.executions as e order by 1")
    assert [tuple(row) for row in rows] == [("COMPLETED", 1, {"n": 1}), ("QUEUED", 2, None)]
    runs = await tx.rows("select c.cron_name, c.scheduled_time, c.status from forge.forge_cron_runs as c order by 2")
    assert [tuple(row) for row in runs] == [
        ("nightly", PAST, "completed"), ("nightly", PAST + dt.timedelta(days=1), "pending"),
    ]  # fmt: skip


async def test_a_lock_shows_milliseconds(tx: Tx) -> None:
    await tx.run(
        """
        insert into weft.locks (org_id, name, owner, token, acquired_at, expires_at, metadata)
        values (%(org)s, 'l', 'me', weft.uuid7(), %(at)s, %(at)s, '{"topic": "t"}')
        """,
        {"org": DEFAULT_ORG, "at": PAST + dt.timedelta(microseconds=1999)},
    )
    [lock] = await tx.rows("select l.key, l.acquired_at, l.expires_at, l.meta from afl.locks as l")
    moment = int(PAST.timestamp() * 1000) + 1
    assert tuple(lock) == ("l", moment, moment, {"topic": "t"})


async def test_a_tenant_sees_its_own_org_through_every_view(tx: Tx) -> None:
    theirs = str(await tx.value("insert into weft.orgs (name, slug) values ('Theirs', 'theirs') returning id"))
    for org in (DEFAULT_ORG, theirs):
        await unfinished(tx, state="ready", org_id=org)
        await finished(tx, state="completed", org_id=org)
    await tx.run("set local role weft_tenant")
    await tx.run("select set_config('weft.org', %(org)s, true)", {"org": theirs})
    for view in ("forge.forge_jobs", "afl.tasks", "orchestration.tasks"):
        assert await tx.value(f"select count(*) from {view}") == 2
    assert await tx.value("select o.slug from orchestration.orgs as o") == "theirs"
    assert await tx.value("select t.name from scheduler.tenants as t") == "Theirs"
    for view in (
        "forge.forge_nodes", "afl.servers", "afl.locks", "scheduler.workers", "forge.forge_migrations", "scheduler.jobs",
        "scheduler.executions", "forge.forge_cron_runs",
    ):  # fmt: skip
        await tx.rows(f"select * from {view}")


async def test_the_people_of_an_org_are_shown_as_they_are(tx: Tx) -> None:
    user = await put(tx, "users", org_id=DEFAULT_ORG, external_id="auth0|1", email="ada@x.org", role="writer")
    role = await put(tx, "org_roles", org_id=DEFAULT_ORG, slug="finance", name="Finance")
    await tx.run(
        "insert into weft.org_role_memberships (org_id, role_id, user_id) values (%(org)s, %(role)s, %(user)s)",
        {"org": DEFAULT_ORG, "role": role, "user": user},
    )
    found = await tx.rows(
        """
        select u.external_id, u.email, u.role, r.slug, r.name, o.slug
        from orchestration.org_role_memberships as m
        join orchestration.users as u on u.id = m.user_id
        join orchestration.org_roles as r on r.id = m.role_id and r.org_id = u.org_id
        join orchestration.orgs as o on o.id = u.org_id
        """
    )
    assert found == [("auth0|1", "ada@x.org", "writer", "finance", "Finance", "default")]


async def a_run(tx: Tx, **values: Any) -> str:
    given = {"org_id": DEFAULT_ORG, "kind": "workflow", "name": "checkout", "version": "2", "created_at": PAST, **values}
    return await put(tx, "runs", **given)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("running", "running"), ("waiting", "waiting"), ("paused", "waiting"), ("blocked", "waiting"),
        ("completed", "completed"), ("failed", "failed"), ("compensating", "compensating"),
        ("compensated", "compensated"), ("cancelled", "failed"), ("created", "created"),
    ],
)  # fmt: skip
async def test_a_workflow_run_is_called_what_forge_calls_it(tx: Tx, state: str, word: str) -> None:
    run = await a_run(tx, state=state)
    assert await tx.value("select status from forge.forge_workflow_runs where id = %(id)s", {"id": run}) == word


async def test_a_workflow_run_shows_its_steps_in_forge_s_words(tx: Tx) -> None:
    traced = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    run = await a_run(tx, state="waiting", params='{"n": 1}', trace_parent=traced, error='{"message": "oh no"}')
    await put(tx, "tasks", id=run, org_id=DEFAULT_ORG, kind="workflow:checkout:2", state="scheduled", attempt=1)
    for number, (node, operation, state, more) in enumerate([
        ("charge#1", "transaction", "compensated", {"output": '"p-1"', "params": '{"arguments": {"cents": 5}}'}),
        ("small#2", "start", "completed", {"output": '"id"'}),
        ("charge#3", "step", "skipped", {"output": '"p-2"'}),
        ("approval#4", "signal", "completed", {"output": '[{"by": "ada"}, 7]'}),
        ("ship#5.1.1", "step", "failed", {"error": '{"message": "lost"}'}),
        ("charge#=third", "step", "pending", {"error": '{"message": "try again"}'}),
    ]):  # fmt: skip
        ended = None if state == "pending" else PAST + dt.timedelta(seconds=number)
        given = {"number": 0 if state == "pending" else number + 1, "started_at": PAST, "finished_at": ended, **more}
        await put(
            tx, "steps", run_id=run, org_id=DEFAULT_ORG, frame_id=run, node=node, operation=operation, state=state, **given
        )
    found = await tx.rows(
        """
        select s.step_name, s.status, s.input, s.result, s.error
        from forge.forge_workflow_steps as s
        where s.workflow_run_id = %(run)s
        order by s.completed_at
        """,
        {"run": run},
    )
    assert [tuple(row) for row in found] == [
        ("charge", "compensated", {"cents": 5}, "p-1", None),
        ("charge#2", "skipped", None, "p-2", None),
        ("approval", "completed", None, {"by": "ada"}, None),
        ("ship", "failed", None, None, "lost"),
        ("charge#3", "pending", None, None, "try again"),
    ]
    [shown] = await tx.rows(
        """
        select
            r.workflow_name, r.version, r.input, r.status, r.current_step, r.step_results, r.started_at, r.error, r.trace_id
        from forge.forge_workflow_runs as r
        """
    )
    assert tuple(shown) == (
        "checkout", "2", {"n": 1}, "waiting", "charge#3",
        {"charge": "p-1", "charge#2": "p-2", "approval": {"by": "ada"}}, PAST, "oh no", "0af7651916cd43dd8448eb211c80319c",
    )  # fmt: skip


async def test_a_workflow_run_that_nobody_took_is_created_and_traces_itself(tx: Tx) -> None:
    run = await a_run(tx, state="running")
    await put(tx, "tasks", id=run, org_id=DEFAULT_ORG, kind="workflow:checkout:2", state="ready")
    asked = "select status, current_step, step_results, trace_id from forge.forge_workflow_runs"
    assert [tuple(row) for row in await tx.rows(asked)] == [("created", None, {}, run.replace("-", ""))]
