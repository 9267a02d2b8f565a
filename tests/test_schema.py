"""The schema and the code that speaks to it fit: made fresh or migrated, named statements, states."""

import functools
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import fresh_database
import prepared
import weft
from weft.access import keys, tiers, users
from weft.afl import records
from weft.cluster import model as cluster
from weft.cron import misfire
from weft.db import fresh, statements
from weft.db.tx import Tx
from weft.flows import model as flows
from weft.jobs import model as jobs
from weft.journal import feed, outbox
from weft.live import sessions as live_sessions
from weft.queue import model as queue
from weft.settle import outcome

SOURCE = Path(weft.__file__).parent
FOLDERS = sorted(
    str(folder.relative_to(SOURCE)).replace("/", ".")
    for folder in SOURCE.rglob("*")
    if (folder / "queries.sql").exists() or (folder / "queries").is_dir()
)

CATALOGS = {
    "tables": """
        select c.oid::regclass::text, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.reloptions::text,
            pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid), c.relacl::text
        from pg_class as c
        where c.relnamespace = any(%(schemas)s) and c.relkind in ('r', 'p', 'v', 'm', 'S')
    """,
    "columns": """
        select a.attrelid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), a.attnum
        from pg_attribute as a
        join pg_class as c on c.oid = a.attrelid
        left join pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where c.relnamespace = any(%(schemas)s) and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
    """,
    "constraints": """
        select k.conrelid::regclass::text, k.conname, k.contype, pg_get_constraintdef(k.oid)
        from pg_constraint as k
        where k.connamespace = any(%(schemas)s)
    """,
    "domains": "select t.oid::regtype::text, format_type(t.typbasetype, t.typtypmod), t.typnotnull, t.typdefault "
    "from pg_type as t where t.typnamespace = any(%(schemas)s) and t.typtype = 'd'",
    "indexes": "select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid), obj_description(c.oid) "
    "from pg_index as i "
    "join pg_class as c on c.oid = i.indexrelid where c.relnamespace = any(%(schemas)s)",
    "policies": """
        select p.polrelid::regclass::text, p.polname, p.polcmd, p.polroles::regrole[]::text,
            pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)
        from pg_policy as p
        join pg_class as c on c.oid = p.polrelid
        where c.relnamespace = any(%(schemas)s)
    """,
    "functions": """
        select p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.proacl::text
        from pg_proc as p
        where p.pronamespace = any(%(schemas)s)
    """,
    "views": "select c.oid::regclass::text, pg_get_viewdef(c.oid) from pg_class as c "
    "where c.relnamespace = any(%(schemas)s) and c.relkind = 'v'",
    "schemas": "select n.nspname, n.nspacl::text from pg_namespace as n where n.oid = any(%(schemas)s)",
}
OURS = (
    "select array_agg(oid) from pg_namespace "
    "where nspname in ('weft', 'afl', 'aiopslab', 'forge', 'orchestration', 'scheduler')"
)


@pytest.fixture(scope="module")
def fresh_url(server_url: str) -> Iterator[str]:
    """A database made from today's schema files, without a migration."""
    with fresh_database.made(server_url) as url:
        with psycopg.connect(url) as connection:
            connection.execute(fresh.sql().encode())
        yield url


def _catalog(url: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        schemas = connection.execute(OURS).fetchone()
        assert schemas is not None
        return sorted(connection.execute(query, {"schemas": schemas[0]}).fetchall(), key=repr)


@pytest.mark.parametrize("what", CATALOGS)
def test_a_fresh_schema_equals_a_migrated_one(fresh_url: str, untouched_url: str, what: str) -> None:
    made, migrated = _catalog(fresh_url, CATALOGS[what]), _catalog(untouched_url, CATALOGS[what])
    assert made and made == migrated


@pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder in FOLDERS for name in statements.load(f"weft.{folder}").texts]
)
def test_a_named_statement_is_used_by_its_own_folder(folder: str, name: str) -> None:
    assert name in _used(folder), f"weft.{folder} has a statement {name} that nobody uses"


@functools.cache
def _used(folder: str) -> set[str]:
    code = "\n".join(path.read_text() for path in (SOURCE / folder.replace(".", "/")).glob("*.py"))
    return set(re.findall(r"\bSQL\.(\w+)\b", code))


def test_every_named_statement_fits_the_schema(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("set role weft_engine")
        for folder in FOLDERS:
            for name, text in statements.load(f"weft.{folder}").texts.items():
                try:
                    connection.execute(prepared.statement(f"{folder.replace('.', '_')}_{name}", text).encode())
                except psycopg.Error as error:
                    pytest.fail(f"weft.{folder}: {name} does not fit: {error}")
        done = connection.execute("select count(*) from pg_prepared_statements").fetchone()
    assert done is not None and done[0] > 60


def test_every_statement_that_is_asked_for_exists() -> None:
    for folder in FOLDERS:
        known = set(statements.load(f"weft.{folder}").texts)
        for path in (SOURCE / folder.replace(".", "/")).glob("*.py"):
            assert set(re.findall(r"\bSQL\.(\w+)", path.read_text())) <= known, path


STATES = {
    ("tasks", "state"): queue.LiveState,
    ("task_history", "state"): queue.FinalState,
    ("task_history", "reason"): queue.Reason,
    ("task_logs", "level"): queue.LogLevel,
    ("nodes", "status"): cluster.NodeStatus,
    ("jobs", "job_type"): jobs.JobType,
    ("jobs", "status"): jobs.Status,
    ("jobs", "misfire"): misfire.Misfire,
    ("jobs", "overlap"): jobs.Overlap,
    ("executions", "trigger"): jobs.Trigger,
    ("backfills", "state"): jobs.BackfillState,
    ("keys", "role"): keys.KeyRole,
    ("users", "role"): users.UserRole,
    ("orgs", "tier"): tiers.Tier,
    ("outbox", "state"): outbox.State,
    ("change_inbox", "op"): feed.Op,
    ("changes", "op"): feed.Op,
    ("run_inbox", "state"): queue.FinalState,
    ("definitions", "kind"): flows.Kind,
    ("definitions", "status"): flows.Status,
    ("runs", "kind"): flows.Kind,
    ("runs", "state"): flows.RunState,
    ("runs", "trigger"): flows.Trigger,
    ("steps", "state"): flows.StepState,
    ("messages", "kind"): flows.MessageKind,
    ("live_sessions", "status"): live_sessions.Status,
    ("run_logs", "note_originator"): records.NoteOriginator,
    ("run_logs", "note_type"): records.NoteType,
}


async def _words(tx: Tx) -> dict[tuple[str, str], set[str]]:
    """Every column that is held to a list of words, and the words: by a check of its own, by a domain that it has or that a
    check turns it into, or by an index that refuses (`weft.refuse`)."""
    checks = await tx.rows(
        """
        select c.relname, pg_get_constraintdef(k.oid)
        from pg_constraint as k
        join pg_class as c on c.oid = k.conrelid
        where k.contype = 'c' and c.relnamespace = 'weft'::regnamespace and not c.relispartition
        """
    )
    refusing = await tx.rows(
        "select c.relname, pg_get_expr(i.indpred, i.indrelid) from pg_index as i join pg_class as c on c.oid = i.indrelid "
        "where pg_get_expr(i.indpred, i.indrelid) like 'weft.refuse(%%'", {}
    )  # fmt: skip
    found = {
        (table, column): set(re.findall(r"'(\w+)'::text", words))
        for table, text in [*checks, *refusing]
        for column, words in re.findall(r"\((\w+) (?:= ANY|<> ALL) \(ARRAY\[(.*?)\]\)", text)
    }
    domains = await tx.rows(
        """
        select t.typname, pg_get_constraintdef(k.oid), array(
            select array[c.relname::text, a.attname::text]
            from pg_attribute as a
            join pg_class as c on c.oid = a.attrelid
            where a.atttypid = t.oid and c.relkind in ('r', 'p') and not c.relispartition)
        from pg_constraint as k
        join pg_type as t on t.oid = k.contypid
        where t.typnamespace = 'weft'::regnamespace
        """
    )
    for domain, text, columns in domains:
        cast = rf"\((\w+)\)::weft\.{domain}\b"
        turned = [(table, column) for table, check in checks for column in re.findall(cast, check)]
        for place in [*map(tuple, columns), *turned]:
            found[place] = set(re.findall(r"'(\w+)'::text", text))
    return found


async def test_states_in_code_are_the_states_of_the_database(tx: Tx) -> None:
    words = await _words(tx)
    assert {place: set(typing.get_args(literal)) for place, literal in STATES.items()} == {
        place: words[place] for place in STATES
    }


async def test_every_list_of_words_in_the_database_is_known_to_the_code(tx: Tx) -> None:
    assert set(await _words(tx)) == set(STATES)


def test_what_waits_is_what_is_live_but_does_not_run() -> None:
    assert {*typing.get_args(queue.QueuedState), "running"} == set(typing.get_args(queue.LiveState))
    assert set(typing.get_args(outcome.How)) >= {"completed", "failed", "timed_out", "cancelled", "lost"}


async def test_the_default_org_is_the_one_the_code_names(tx: Tx) -> None:
    assert str(await tx.value("select id from weft.orgs where slug = 'default'")) == "00000000-0000-7000-8000-000000000001"


async def test_every_function_that_runs_as_its_owner_pins_its_search_path(tx: Tx) -> None:
    rows = await tx.rows(
        "select p.proname from pg_proc as p where p.pronamespace = 'weft'::regnamespace and p.prosecdef "
        "and not coalesce(p.proconfig, '{}') @> array['search_path=pg_catalog']"
    )
    assert rows == []


async def test_nobody_but_our_roles_may_call_what_runs_as_its_owner(tx: Tx) -> None:
    rows = await tx.rows(
        "select p.proname from pg_proc as p where p.pronamespace = 'weft'::regnamespace and p.prosecdef "
        "and has_function_privilege('public', p.oid, 'execute')"
    )
    assert rows == []
