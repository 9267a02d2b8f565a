"""Tenant isolation, held by the database itself: whatever a statement forgets, one org cannot see or touch another's."""

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest

import hands
from each import each
from weft.app import App
from weft.base import errors
from weft.db.database import Database
from weft.db.tx import Tx
from weft.queue import tasks
from weft.settle import rescue

ROWS = {
    "tasks": "(org_id, kind) values (%(org)s, 'mail')",
    "task_history": "(id, org_id, kind, queue, lane, payload, state, urgency, attempt, uncounted, losses, "
    "created_at, run_at, finished_at) "
    "values (weft.uuid7(), %(org)s, 'mail', 'q', 'q', '{}', 'failed', 50, 1, 0, 0, now(), now(), now())",
    "task_logs": "(task_id, org_id, attempt, at, level, message) values (weft.uuid7(), %(org)s, 1, now(), 'info', 'm')",
    "dedupe_keys": "(org_id, kind, dedupe_key, task_id) values (%(org)s, 'mail', 'k', weft.uuid7())",
    "jobs": "(org_id, name, job_type, cron_expression, payload) values (%(org)s, 'j', 'CRON', '@daily', '{}')",
    "executions": "(id, org_id, job_id, scheduled_time) values (weft.uuid7(), %(org)s, weft.uuid7(), now())",
    "backfills": "(org_id, job_id, start_time, end_time, max_active, actor) "
    "values (%(org)s, weft.uuid7(), now(), now(), 1, 'a')",
    "queues": "(org_id, name) values (%(org)s, 'q')",
    "locks": "(org_id, name, owner, token, expires_at) values (%(org)s, 'l', 'o', gen_random_uuid(), now())",
    "nodes": "(id, org_id, hostname, ip_address, pid, version, lease) "
    "values (gen_random_uuid(), %(org)s, 'h', '', 0, 'v', interval '1 minute')",
    "keys": "(org_id, name, role, prefix, hash, created_by) "
    "values (%(org)s, 'k', 'admin', 'weft_', sha256(convert_to(%(org)s::text, 'UTF8')), 'a')",
    "users": "(org_id, external_id, role) values (%(org)s, 'sub', 'reader')",
    "org_roles": "(org_id, slug, name) values (%(org)s, 'finance', 'Finance')",
    "org_role_memberships": "(org_id, role_id, user_id) "
    "select r.org_id, r.id, u.id from weft.org_roles as r join weft.users as u on u.org_id = r.org_id "
    "where r.org_id = %(org)s",
    "secrets": "(org_id, name, key_id, nonce, sealed, updated_by) "
    "values (%(org)s, 's', 'k', repeat('n', 12)::bytea, '', 'a')",
    "allowed_hosts": "(org_id, entry, created_by) values (%(org)s, 'h', 'a')",
    "journal_heads": "(org_id, number, hash) values (%(org)s, 1, repeat('h', 32)::bytea)",
    "logins": "(org_id, hash, key_id, actor, expires_at) "
    "select k.org_id, k.hash, k.id, 'a', now() from weft.keys as k where k.org_id = %(org)s",
    "live_sessions": "(id, org_id, node_id, actor) values (gen_random_uuid(), %(org)s, gen_random_uuid(), 'a')",
    "live_subscriptions": "(id, org_id, session_id, query_name, query_hash) "
    "select gen_random_uuid(), s.org_id, s.id, 'q', 'h' from weft.live_sessions as s where s.org_id = %(org)s",
    "idempotency_keys": "(org_id, key, request) values (%(org)s, 'k', '')",
    "outbox": "(org_id, topic, subject, url, body) values (%(org)s, 't', gen_random_uuid(), 'u', 'b')",
    "webhook_keys": "(org_id, secret) values (%(org)s, repeat('s', 32)::bytea)",
    "aiopslab_problems": "(id, org_id, problem_id) values (weft.uuid7(), %(org)s, 'p')",
    "aiopslab_messages": "(task_id, org_id, role, content) values (weft.uuid7(), %(org)s, 'user', '\"c\"')",
    "aiopslab_workers": "(org_id, id, node_id, backend_type, capabilities) "
    "values (%(org)s, 'worker-001-kind', gen_random_uuid(), 'b', '{\"max_parallel_tasks\": 1}')",
    "aiopslab_tallies": "(org_id, worker_id) values (%(org)s, 'worker-001-kind')",
    "run_inbox": "(run_id, org_id, task_id, state, attempt) values (weft.uuid7(), %(org)s, weft.uuid7(), 'completed', 1)",
    "plans": "(org_id, hash, plan, nodes) values (%(org)s, repeat('a', 64), '{}', 0)",
    "definitions": "(org_id, kind, name, version) values (%(org)s, 'dag', 'd', 'v')",
    "definition_versions": "(definition_id, org_id, version, number, plan_hash) "
    "select d.id, d.org_id, 'v', 1, repeat('a', 64) from weft.definitions as d where d.org_id = %(org)s",
    "answers": "(message_id, run_id, org_id) values ((random() * 1e15)::bigint, weft.uuid7(), %(org)s)",
    "flow_versions": "(definition_id, version, org_id, sources, lists) "
    "select d.id, 'v', d.org_id, '[]', '{}' from weft.definitions as d where d.org_id = %(org)s",
    "flow_workflows": "(definition_id, version, name, org_id, id, number, plan_hash) "
    "select d.id, 'v', 'w', d.org_id, d.id, 1, repeat('a', 64) from weft.definitions as d where d.org_id = %(org)s",
    "flow_statements": "(definition_id, version, id, org_id, object_type, facet_name, file, line) "
    "select d.id, 'v', 's', d.org_id, 'Facet', 'f', 'a.afl', 1 from weft.definitions as d where d.org_id = %(org)s",
    "run_logs": "(org_id, run_id) values (%(org)s, weft.uuid7())",
    "task_minutes": "(org_id, queue, minute) values (%(org)s, '', weft.now())",
    "queue_minutes": "(org_id, queue, minute, ready, running, oldest) values (%(org)s, '', weft.now(), 1, 1, 1)",
    "messages": "(run_id, org_id, kind, name) values (weft.uuid7(), %(org)s, 'signal', 's')",
    "runs": "(org_id, kind, name) values (%(org)s, 'dag', 'd')",
    "steps": "(id, run_id, org_id, frame_id, node) values (weft.uuid7(), weft.uuid7(), %(org)s, weft.uuid7(), 'n')",
    "journal": "(org_id, actor, action, object_type, object_id) values (%(org)s, 'a', 'b', 'c', 'd')",
}
"""A row of every table that belongs to an org."""

NOBODYS = {"migrations"}
"""Tables that hold nothing of any org, so that whoever may read them may read all."""


@pytest.fixture
async def orgs(database: Database) -> AsyncIterator[tuple[uuid.UUID, uuid.UUID]]:
    """Two orgs with a row each in every table."""
    async with database.tx() as tx:
        both = await hands.new_org(tx, "mine"), await hands.new_org(tx, "theirs")
        for org in both:
            for table, values in ROWS.items():
                await tx.run(f"insert into weft.{table} {values}", {"org": org})
    yield both


async def refused(database: Database, tenant: uuid.UUID, statement: str, **facts: object) -> bool:
    """Whether a statement of a tenant is refused or touches nothing."""
    try:
        async with database.tx(org=tenant) as tx:
            return await tx.run(statement, facts) == 0
    except errors.DatabaseError:
        return True


async def test_every_table_that_has_an_org_is_tested_here(tx: Tx) -> None:
    found = await tx.rows(
        """
        select c.relname
        from pg_class as c
        join pg_attribute as a on a.attrelid = c.oid and a.attname = 'org_id'
        where c.relnamespace = 'weft'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        """
    )
    assert {name for (name,) in found} == set(ROWS)


async def test_every_table_forces_row_level_security_on_everybody(tx: Tx) -> None:
    found = await tx.rows(
        """
        select c.relname
        from pg_class as c
        where c.relnamespace = 'weft'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            and not (c.relrowsecurity and c.relforcerowsecurity)
        """
    )
    assert {name for (name,) in found} == NOBODYS


FOR_EVERYBODY = {("queues", "everybodys"), ("workflows", "everybodys"), ("change_inbox", "tenant"),
                 ("task_minutes_until", "tenant")}  # fmt: skip
"""Policies for tenants that name no org, and why they may: what holds for every org binds each; code is nobody's
own; and an inbox that tenants append to and cannot read."""


async def test_every_policy_for_tenants_names_their_org(tx: Tx) -> None:
    """So a new table with an org cannot be opened to all of them, for reading or for writing."""
    found = await tx.rows(
        """
        select c.relname, p.polname, pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
        from pg_policy as p
        join pg_class as c on c.oid = p.polrelid
        where c.relnamespace = 'weft'::regnamespace
            and (p.polroles = '{0}' or 'weft_tenant'::regrole = any(p.polroles))
        """
    )
    assert len(found) >= len(ROWS)
    for table, policy, using, check in found:
        said = [one for one in (using, check) if one is not None]
        if (table, policy) not in FOR_EVERYBODY:
            assert said and all("current_org()" in one for one in said), f"{policy} on weft.{table} lets other orgs in"


async def test_what_a_tenant_may_reach_is_under_a_policy_for_tenants(tx: Tx) -> None:
    """A table without an org is closed to tenants; one with an org has a policy that names it."""
    found = await tx.rows(
        """
        select c.relname
        from pg_class as c
        where c.relnamespace = 'weft'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
            and has_any_column_privilege('weft_tenant', c.oid, 'select, insert, update')
            and not exists (
                select
                from pg_policy as p
                where p.polrelid = c.oid and 'weft_tenant'::regrole = any(p.polroles))
        """
    )
    assert {name for (name,) in found} == NOBODYS


ONE_ORG = {"keys", "users", "org_roles", "org_role_memberships"}
"""Written for requests by the engine, which is held to the request's org there."""


async def test_what_the_engine_writes_for_requests_is_held_to_their_org(tx: Tx) -> None:
    found = await tx.rows(
        """
        select c.relname
        from pg_policy as p
        join pg_class as c on c.oid = p.polrelid
        where p.polname = 'engine' and pg_get_expr(p.polqual, p.polrelid) like '%%current_org() IS NULL%%'
        """,
        {},
    )
    assert {name for (name,) in found} >= ONE_ORG
    writable = await tx.rows(
        """
        select c.relname
        from pg_class as c
        where c.oid = any(%(names)s::regclass[]) and has_table_privilege('weft_tenant', c.oid, 'insert, update, delete')
        """,
        {"names": [f"weft.{name}" for name in ONE_ORG]},
    )
    assert writable == []


async def test_partitions_can_be_reached_through_their_parents_only(tx: Tx) -> None:
    found = await tx.rows(
        """
        select c.relname
        from pg_class as c
        cross join unnest(array['weft_engine', 'weft_tenant', 'public']) as role
        where c.relnamespace = 'weft'::regnamespace and c.relispartition and c.relkind = 'r'
            and has_table_privilege(role, c.oid, 'select, insert, update, delete, truncate')
        """
    )
    assert found == []


async def test_the_public_may_do_nothing(tx: Tx) -> None:
    found = await tx.rows(
        """
        select c.relname
        from pg_class as c
        where c.relnamespace = 'weft'::regnamespace
            and c.relkind in ('r', 'p', 'v')
            and has_table_privilege('public', c.oid, 'select, insert, update, delete, truncate')
        """
    )
    assert found == [] and await tx.value("select not has_schema_privilege('public', 'weft', 'usage, create')")


async def test_work_runs_as_an_engine_that_is_no_superuser(tx: Tx) -> None:
    found = await tx.rows(
        "select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb from pg_roles where rolname like 'weft%%'", {}
    )
    assert sorted(found) == [(name, False, False, False, False) for name in ("weft_engine", "weft_tenant")]
    assert await tx.value("select current_user") == "weft_engine"
    assert not await tx.value("select has_schema_privilege(current_user, 'weft', 'create')")


async def test_all_views_ask_as_their_asker(tx: Tx) -> None:
    found = await tx.rows(
        """
        select c.oid::regclass::text
        from pg_class as c
        join pg_namespace as n on n.oid = c.relnamespace
        where c.relkind = 'v' and n.nspname not in ('pg_catalog', 'information_schema')
            and not coalesce('security_invoker=true' = any(c.reloptions), false)
        """
    )
    assert found == []
    assert await tx.value("select count(*) from pg_views where schemaname = 'forge'") > 0


@each("table", ROWS)
async def test_a_tenant_sees_and_touches_only_its_own(
    database: Database, orgs: tuple[uuid.UUID, uuid.UUID], table: str
) -> None:
    mine, theirs = orgs
    async with database.tx(org=mine) as tx:
        assert await tx.value("select current_user") == "weft_tenant"
        assert await tx.rows(f"select org_id from weft.{table}") == [(mine,)]
    assert await refused(database, mine, f"insert into weft.{table} {ROWS[table]}", org=theirs)
    assert await refused(database, mine, f"update weft.{table} set org_id = %(mine)s where org_id <> %(mine)s", mine=mine)
    assert await refused(database, mine, f"update weft.{table} set org_id = %(theirs)s", theirs=theirs)
    assert await refused(database, mine, f"delete from weft.{table} where org_id <> %(mine)s", mine=mine)
    async with database.tx() as tx:
        found = await tx.rows(f"select org_id from weft.{table} where org_id = any(%(orgs)s)", {"orgs": list(orgs)})
    assert sorted(org for (org,) in found) == sorted(orgs)


@each("table", [*ROWS, "orgs"])
async def test_a_tenant_without_an_org_sees_nothing(
    database: Database, orgs: tuple[uuid.UUID, uuid.UUID], table: str
) -> None:
    async with database.tx() as tx:
        await tx.run("set local role weft_tenant")
        assert await tx.rows(f"select from weft.{table}") == []


async def test_a_tenant_sees_its_own_org_only_and_cannot_change_it(
    database: Database, orgs: tuple[uuid.UUID, uuid.UUID]
) -> None:
    mine, _ = orgs
    async with database.tx(org=mine) as tx:
        assert await tx.rows("select slug from weft.orgs") == [("mine",)]
    assert await refused(database, mine, "update weft.orgs set max_concurrent = 1000")


@each("table", ["changes", "change_inbox", "leaders"])
async def test_what_all_orgs_share_is_closed_to_tenants(
    database: Database, orgs: tuple[uuid.UUID, uuid.UUID], table: str
) -> None:
    with pytest.raises(errors.DatabaseError, match="permission denied"):
        async with database.tx(org=orgs[0]) as tx:
            await tx.rows(f"select from weft.{table}")


CALLS = [
    "select weft.enqueue('mail', org => %(org)s)",
    "select weft.try_enqueue('mail', org => %(org)s)",
    "select weft.enqueue_many('mail', '[{}]', org => %(org)s)",
    "select weft.cancel((select weft.uuid7()), %(org)s)",
]


@each("call", CALLS)
async def test_a_tenant_cannot_act_for_another_org(
    database: Database, orgs: tuple[uuid.UUID, uuid.UUID], call: str
) -> None:
    mine, theirs = orgs
    with pytest.raises(errors.DatabaseError, match="belongs to another org"):
        async with database.tx(org=mine) as tx:
            await tx.rows(call, {"org": theirs})
    with pytest.raises(errors.DatabaseError, match="must say its org"):
        async with database.tx() as tx:
            await tx.run("set local role weft_tenant")
            await tx.rows(call, {"org": theirs})


async def test_a_tenant_enqueues_for_its_own_org_without_saying_it(
    database: Database, orgs: tuple[uuid.UUID, uuid.UUID]
) -> None:
    mine, theirs = orgs
    async with database.tx(org=mine) as tx:
        made = [await hands.put(tx), await hands.put(tx, dedupe_key="k"), *await hands.put_many(tx, 2)]
        assert {(await hands.look(tx, id, org=mine)).org_id for id in made} == {mine}
    for options in ({}, {"dedupe_key": "x"}):
        with pytest.raises(errors.DatabaseError, match=r"belongs to another org|row-level security"):
            async with database.tx(org=mine) as tx:
                await hands.put(tx, org=theirs, **options)


async def test_a_tenant_cannot_look_at_or_steer_another_orgs_task(
    database: Database, orgs: tuple[uuid.UUID, uuid.UUID]
) -> None:
    mine, theirs = orgs
    async with database.tx() as tx:
        id = await hands.put(tx, org=theirs)
    async with database.tx(org=mine) as tx:
        with pytest.raises(errors.NotFound):
            await tasks.get(tx, id=uuid.UUID(id), org=theirs)
        assert await rescue.cancel_one(tx, id=uuid.UUID(id), org=mine) == "unknown"
        assert await tasks.stats(tx, org=theirs) == []


async def test_the_org_of_a_transaction_ends_with_it(database: Database, orgs: tuple[uuid.UUID, uuid.UUID]) -> None:
    mine, theirs = orgs

    async def seen(org: uuid.UUID | None) -> int:
        async with database.once(org=org) as tx:
            return int(await tx.value("select count(*) from weft.tasks"))

    answers = await asyncio.gather(*(seen(org) for org in (mine, None, theirs, None) * 10))
    assert answers == [1, 2, 1, 2] * 10


async def test_the_app_speaks_for_the_org_it_is_told(database_url: str) -> None:
    async with App(database_url=database_url) as app:
        async with app.tx() as tx:
            other = await hands.new_org(tx, "other")
        made = await app.enqueue("mail", {}, check=False, org=other)
        with pytest.raises(errors.NotFound):
            await app.get(made.id)
        assert (await app.get(made.id, org=other)).org_id == other
        assert [await app.cancel(made.id), await app.cancel(made.id, org=other)] == ["unknown", "cancelled"]
