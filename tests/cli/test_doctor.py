"""`weft doctor`: each thing that endangers work is provoked on a real PostgreSQL, and found, with its fix."""

import asyncio
import contextlib
import dataclasses
import datetime as dt
import json
import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import cli_process
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bouncer
import fresh_database
import hands
from weft import App
from weft.base import config
from weft.cli import facts, findings, output, work_findings
from weft.cli.findings import Finding, Limits
from weft.db import embedded
from weft.db.database import Database

AT_ONCE = Limits(
    idle=dt.timedelta(microseconds=1), transaction=dt.timedelta(microseconds=1), prepared=dt.timedelta(0),
    waiting=dt.timedelta(0), vacant=dt.timedelta(0),
)  # fmt: skip
BAD = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off",
       "max_connections": "12", "max_prepared_transactions": "4"}  # fmt: skip


async def examine(url: str, limits: Limits | None = None, **settings: object) -> list[Finding]:
    found = await facts.read(config.Settings(database_url=url, **settings))  # type: ignore[arg-type]
    return work_findings.examine(found, limits)


def of(found: list[Finding], check: str, level: str | None = None) -> list[str]:
    """What a check says, with its fix; every problem must have one."""
    assert all(one.fix for one in found if one.level in ("warning", "danger"))
    return [f"{one.what} → {one.fix}" for one in found if one.check == check and (level is None or one.level == level)]


@pytest.fixture(scope="module", autouse=True)
def careful(server_url: str) -> Iterator[None]:
    """The tests' server waits for no disk, which is found."""
    if "WEFT_TEST_SERVER" in os.environ:
        yield
        return
    fresh_database.careless(server_url, so=False)
    yield
    fresh_database.careless(server_url)


async def test_a_fresh_database_is_in_order(database_url: str) -> None:
    found = await examine(database_url)
    assert {one.check for one in found} == {
        "version", "durability", "vacuum", "old transactions", "connections", "pooler", "clock", "schema", "roles",
        "partitions", "leader", "nodes", "service", "stuck",
    }  # fmt: skip
    assert {one.level for one in found} <= {"ok", "note"}, found


@pytest.fixture(scope="module")
def bad_server() -> Iterator[str]:
    """A PostgreSQL with every dangerous setting, restarted so that they hold; no Weft in it."""
    folder = Path(tempfile.mkdtemp(prefix="weft-doctor-"))
    folder.chmod(0o755)
    first = embedded.start(folder)
    with psycopg.connect(first.url(user="postgres"), autocommit=True) as connection:
        for name, value in BAD.items():
            connection.execute(f"alter system set {name} = '{value}'")
    assert first.pid is not None
    os.kill(first.pid, signal.SIGQUIT)
    while first.pid is not None:
        time.sleep(0.01)
    second = embedded.start(folder)
    try:
        yield second.url(user="postgres")
    finally:
        second.release()
        first.release()
        shutil.rmtree(folder, ignore_errors=True)


async def test_dangerous_settings_of_the_server_are_found(bad_server: str) -> None:
    found = await examine(bad_server)
    told = "\n".join(of(found, "durability", "danger"))
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        assert f"{name} is off" in told and f"alter system set {name} = on" in told
    assert of(found, "vacuum", "danger")[0].startswith("autovacuum is off")
    assert "connections are taken" in of(found, "connections", "danger")[0]
    assert of(found, "schema", "danger")[0].endswith("→ weft migrate up")
    assert not of(found, "roles")  # nothing can be said of tables that are not there


async def test_a_forgotten_prepared_transaction_is_found(bad_server: str) -> None:
    with psycopg.connect(bad_server) as connection:
        connection.execute("create table if not exists forgotten (n integer)")
        connection.execute("prepare transaction 'left behind'")
    try:
        [told] = of(await examine(bad_server, AT_ONCE), "old transactions", "danger")
        assert told.startswith("the prepared transaction 'left behind'") and "rollback prepared 'left behind'" in told
        assert not of(await examine(bad_server), "old transactions", "danger")  # it is young
    finally:
        with psycopg.connect(bad_server, autocommit=True) as connection:
            connection.execute("rollback prepared 'left behind'")


async def test_a_slot_that_nobody_reads_is_found(bad_server: str) -> None:
    with psycopg.connect(bad_server, autocommit=True) as connection:
        connection.execute("select pg_create_physical_replication_slot('gone', true)")
        try:
            [told] = of(await examine(bad_server), "old transactions", "warning")
            assert "the replication slot 'gone'" in told and "pg_drop_replication_slot('gone')" in told
        finally:
            connection.execute("select pg_drop_replication_slot('gone')")


async def test_a_transaction_left_open_is_found(database_url: str) -> None:
    with psycopg.connect(database_url, application_name="a report") as holder:
        holder.execute("select count(*) from weft.tasks")
        [told] = of(await examine(database_url, AT_ONCE), "old transactions", "danger")
        assert "(a report) has done nothing for" in told
        assert f"pg_terminate_backend({holder.info.backend_pid})" in told
        assert not of(await examine(database_url), "old transactions", "danger")  # it is young
    assert of(await examine(database_url, AT_ONCE), "old transactions", "ok")


async def test_a_long_statement_is_found(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, application_name="long one") as busy:
        running = asyncio.create_task(busy.execute("select pg_sleep(600)"))
        while not (told := of(await examine(database_url, AT_ONCE), "old transactions", "danger")):
            assert not running.done()
        await busy.cancel_safe()
        with contextlib.suppress(psycopg.errors.QueryCanceled):
            await running
    assert "(long one) has been open for" in told[0] and "pg_cancel_backend" in told[0]


@pytest.mark.parametrize(
    ("kind", "held", "level"),
    [("idle", 59, None), ("idle", 60, "warning"), ("idle", 600, "danger"), ("transaction", 899, None),
     ("transaction", 900, "warning"), ("transaction", 9000, "danger"), ("prepared", 299, None), ("prepared", 300, "danger"),
     ("slot", 0, "warning"), ("slot", 1, None), ("slot", 10_000_001, "danger")],
)  # fmt: skip
def test_how_long_is_too_long(kind: facts.HolderKind, held: float, level: str | None) -> None:
    found = findings._held(facts.Holder(kind, "7", "somebody", held), Limits())
    assert (found.level if found else None) == level


async def test_a_database_that_takes_no_writes_is_found(database_url: str) -> None:
    url = psycopg.conninfo.make_conninfo(database_url, options="-c default_transaction_read_only=on")
    [told] = of(await examine(url), "durability", "danger")
    assert "takes no writes" in told and "primary" in told


async def test_a_clock_that_is_off_is_found(database_url: str) -> None:
    settings = config.Settings(database_url=database_url)
    ahead = await facts.read(settings, clock=lambda: time.time() + 119.9)
    behind = await facts.read(settings, clock=lambda: time.time() - 119.9)
    assert "120 s ahead of" in of(work_findings.examine(ahead), "clock", "warning")[0]
    assert "120 s behind" in of(work_findings.examine(behind), "clock", "warning")[0]


@pytest.mark.parametrize(
    ("damage", "check", "level", "words", "fix"),
    [
        ("alter table weft.tasks set (autovacuum_enabled = false)", "vacuum", "danger", "weft.tasks", "reset (autovacuum"),
        ("alter table weft.task_history no force row level security", "roles", "danger",
         "weft.task_history", "force row level"),
        ("alter table weft.locks disable row level security", "roles", "danger", "weft.locks", "enable row level"),
        ("delete from weft.migrations", "schema", "danger", "not applied", "weft migrate up"),
        ("update weft.migrations set checksum = 'x'", "schema", "danger", "changed after", "never edit"),
        ("insert into weft.migrations (name, checksum) values ('9999_later', 'x')", "schema", "danger", "newer than this",
         "upgrade Weft"),
        ("insert into weft.task_logs (task_id, org_id, attempt, at, level, message) values "
         "('01000000-0000-7000-8000-000000000000', gen_random_uuid(), 1, now(), 'info', 'old')",
         "partitions", "warning", "1 rows lie in a default", "make_partitions()"),
        ("do $$ begin execute (select 'drop table weft.' || relname from pg_class where relname ~ "
         "'^task_logs_\\d' order by relname limit 1); end $$", "partitions", "warning",
         "missing: task_logs_", "make_partitions()"),
    ],
)  # fmt: skip
async def test_a_damaged_schema_is_found(
    database_url: str, damage: str, check: str, level: str, words: str, fix: str
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(damage.encode())
    [told] = of(await examine(database_url), check, level)
    what, _, how = told.partition(" → ")
    assert words in what and fix in how


@pytest.mark.parametrize(
    ("damage", "index", "level", "words"),
    [
        ("drop index weft.tasks_refused", "tasks_refused", "danger", "is missing: what it keeps out gets in"),
        ("drop index weft.tasks_dedupe", "tasks_dedupe", "danger", "is missing: what it keeps out gets in"),
        ("drop index weft.task_history_dead", "task_history_dead", "warning", "is missing: what it makes fast is slow"),
        ("update pg_index set indisvalid = false where indexrelid = 'weft.tasks_ready'::regclass", "tasks_ready", "warning",
         "is not valid"),
    ],
)  # fmt: skip
async def test_an_index_that_is_gone_is_found_and_the_fix_makes_it_again(
    database_url: str, damage: str, index: str, level: str, words: str
) -> None:
    definition = f"select pg_get_indexdef('weft.{index}'::regclass)".encode()
    with psycopg.connect(database_url, autocommit=True) as connection:
        before = connection.execute(definition).fetchone()
        connection.execute(damage.encode())
        [told] = of(await examine(database_url), "schema", level)
        what, _, how = told.partition(" → ")
        assert f"the index weft.{index} {words}" in what
        connection.execute(how.encode())
        assert connection.execute(definition).fetchone() == before
    assert of(await examine(database_url), "schema", "ok")


def test_roles_that_are_missing_or_see_too_much_are_found() -> None:
    """Roles belong to the whole server, which other tests share: the decision is tested, not the damage."""
    sound = facts.Installation([], True, False, [], [], 0, [])
    cases = {
        "these roles are missing: weft_tenant": dataclasses.replace(sound, missing_roles=["weft_tenant"]),
        "not a member of weft_engine": dataclasses.replace(sound, member=False),
        "bypassrls": dataclasses.replace(sound, tenant_sees_all=True),
    }
    for words, installation in cases.items():
        [told] = of(list(findings.roles(_facts(installation=installation), Limits())), "roles", "danger")
        assert words in told
    assert of(list(findings.roles(_facts(installation=sound), Limits())), "roles", "ok")


@pytest.fixture
def pooled_url(database_url: str) -> Iterator[str]:
    if bouncer.PGBOUNCER is None:
        pytest.skip(bouncer.REASON)
    with bouncer.pooled(database_url) as url:
        yield url


async def test_a_pooler_in_the_direct_way_is_found(database_url: str, pooled_url: str) -> None:
    for settings in ({"pooled": True}, {"pooled": True, "direct_url": pooled_url}, {}):
        [told] = of(await examine(pooled_url, **settings), "pooler", "danger")
        assert "need a session → set WEFT_DIRECT_URL to PostgreSQL itself" in told
    assert of(await examine(pooled_url, pooled=True, direct_url=database_url), "pooler", "ok")
    assert "WEFT_POOLED is not set" in of(await examine(pooled_url, direct_url=database_url), "pooler", "danger")[0]
    assert "leads straight" in of(await examine(database_url, pooled=True), "pooler", "note")[0]


async def test_two_addresses_that_do_not_fit_are_found(database_url: str) -> None:
    away = "postgresql://nobody@127.0.0.1:1/none"
    [told] = of(await examine(away, direct_url=database_url), "pooler", "danger")
    assert "DATABASE_URL does not answer" in told


@pytest.fixture
async def opened(database_url: str) -> AsyncIterator[Database]:
    made = Database(config.Settings(database_url=database_url))
    await made.open()
    yield made
    await made.close()


async def test_work_that_nobody_serves_is_found(opened: Database, database_url: str) -> None:
    async with opened.tx() as tx:
        await hands.put(tx, "mail", queue="letters")
    [told] = of(await examine(database_url), "service", "danger")
    assert told == "no worker serves the queue 'letters': 1 task of 'mail' waiting → weft worker MODULE:APP -q letters"


async def test_kinds_and_capabilities_no_worker_has_are_found(opened: Database, database_url: str) -> None:
    app = App(database_url=database_url)
    async with app, app.worker():
        async with opened.tx() as tx:
            await hands.put(tx, "unknown_kind")
            await hands.put(tx, "http", capabilities=["gpu"])
        found = await examine(database_url)
    told = of(found, "service", "danger")
    assert any("has a handler for 'unknown_kind'" in one for one in told)
    assert any("no worker has gpu" in one and "--capability gpu" in one for one in told)
    assert of(found, "leader", "ok") and of(found, "nodes", "ok")


async def test_a_paused_queue_with_old_work_is_found(opened: Database, database_url: str) -> None:
    async with opened.tx() as tx:
        await hands.put(tx, "mail", queue="letters")
        await tx.run("insert into weft.queues (org_id, name, paused) values (%(org)s, 'letters', true)", {"org": hands.ORG})
    assert of(await examine(database_url), "service", "ok")
    assert "weft queues resume letters" in of(await examine(database_url, AT_ONCE), "service", "warning")[0]


async def test_work_without_a_leader_is_found(opened: Database, database_url: str) -> None:
    async with opened.tx() as tx:
        await hands.put(tx, "mail")
    assert "weft server" in of(await examine(database_url), "leader", "danger")[0]


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("state = 'scheduled', run_at = now() - interval '1 hour'", "due but not ready"),
        ("state = 'running', lease_token = gen_random_uuid(), node_id = gen_random_uuid(), "
         "claimed_at = now() - interval '1 hour'", "held by a worker that is gone"),
        ("state = 'running', lease_token = gen_random_uuid(), claimed_at = now() - interval '1 hour', "
         "lease_until = now() - interval '1 hour'", "running with a lease that has lapsed"),
        ("state = 'running', lease_token = gen_random_uuid(), claimed_at = now() - interval '1 hour', "
         "lease_until = now() + interval '1 hour', cancel_requested_at = now() - interval '1 hour'",
         "cancelled over a minute ago"),
        ("state = 'running', lease_token = gen_random_uuid(), claimed_at = now() - interval '1 hour', timeout = '1 minute', "
         "node_id = '22222222-2222-4222-8222-222222222222'", "running over a minute longer than the timeout"),
    ],
)  # fmt: skip
async def test_tasks_that_stand_still_are_found(opened: Database, database_url: str, how: str, what: str) -> None:
    async with opened.tx() as tx:
        id = await hands.put(tx, "mail")
        await tx.run(
            "insert into weft.nodes (id, hostname, ip_address, pid, roles, version, status, lease) values "
            "('22222222-2222-4222-8222-222222222222', 'here', '127.0.0.1', 1, '{worker}', '1', 'active', '1 hour')"
        )
        await tx.run(f"update weft.tasks set {how} where id = '{id}'")
    [told] = of(await examine(database_url), "stuck", "danger")
    assert told.startswith(f"1 task {what}") and id in told


async def test_runs_that_stand_still_are_found(opened: Database, database_url: str) -> None:
    async with opened.tx() as tx:
        id = await tx.value(
            "insert into weft.runs (org_id, kind, name, state, stalled_at) select o.id, 'dag', 'etl', 'running', "
            "now() - interval '1 hour' from weft.orgs as o where o.slug = 'default' returning id"
        )
    [told] = of(await examine(database_url), "stuck", "danger")
    assert told.startswith(f"1 run stands still: nothing is running and nothing is awaited (for 60 min, such as {id})")
    assert told.endswith("weft run repair ID") and of(await examine(database_url), "stuck", "ok") == []


async def test_dead_and_silent_nodes_and_mixed_versions_are_found(opened: Database, database_url: str) -> None:
    async with opened.tx() as tx:
        for status, version, silent in (("dead", "1", "1 minute"), ("active", "1", "1 minute"), ("active", "2", "0")):
            await tx.run(
                "insert into weft.nodes (id, hostname, ip_address, pid, roles, version, status, lease, beat_at) values "
                "(%(id)s, 'here', '127.0.0.1', 1, '{worker}', %(version)s, %(status)s, '10 seconds', "
                "now() - %(silent)s::interval)",
                {"id": uuid.uuid4(), "version": version, "status": status, "silent": silent},
            )
    found = await examine(database_url)
    assert "died 60 s ago" in of(found, "nodes", "warning")[0]
    assert "has not been heard of for 60 s" in of(found, "nodes", "danger")[0]
    assert "several versions run side by side: 1, 2" in of(found, "nodes", "note")[0]


async def test_the_command_shows_fixes_and_its_exit_code_says_danger(opened: Database, database_url: str) -> None:
    env = {"DATABASE_URL": database_url}
    code, said = await cli_process.run("doctor", env=env)
    assert code == 0 and "durability" in said and said.endswith("all is well\n"), said
    async with opened.tx() as tx:
        await hands.put(tx, "mail", queue="letters")
    code, said = await cli_process.run("doctor", "--problems", env=env)
    assert code == 1 and "→ weft worker MODULE:APP -q letters" in said and "durability" not in said
    code, said = await cli_process.run("doctor", "--json", env=env)
    told = json.loads(said)
    assert (code, told["worst"]) == (1, "danger")
    assert {"check", "level", "what", "fix"} == set(told["findings"][0])


@given(st.floats(min_value=0, max_value=1e9))
def test_a_span_is_short(seconds: float) -> None:
    assert len(output.span(seconds)) <= 9


def _facts(**parts: object) -> facts.Facts:
    server = facts.Server(180000, True, True, True, True, False, 100, 1, 1, 0.0)
    way = facts.Way(pooled=False, has_direct=False, work_pooler=False, direct_pooler=False)
    return facts.Facts(way=way, server=server, skew=0.0, holders=[], migrations=[], **parts)  # type: ignore[arg-type]
