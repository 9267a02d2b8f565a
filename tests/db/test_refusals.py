"""What no row may be is refused, whoever writes it, as it was when checks said so (`weft.refuse`)."""

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import errors as pg

import fresh_database
import prepared
from each import each
from weft.base import errors, ids
from weft.db import connect, migrate, statements
from weft.db.tx import Tx

Row = dict[str, Any]
Connection = psycopg.Connection[tuple[Any, ...]]

TOKEN = "11111111-1111-4111-8111-111111111111"
MOVED = [one for one in migrate.ours() if "0024" <= one.name < "0027"]
SOUND: dict[str, Row] = {
    "tasks": {"org_id": ids.DEFAULT_ORG, "kind": "mail"},
    "runs": {"org_id": ids.DEFAULT_ORG, "kind": "dag", "name": "d"},
    "change_inbox": {"table_name": "tasks", "op": "INSERT"},
    "task_history": {
        "id": TOKEN, "org_id": ids.DEFAULT_ORG, "kind": "mail", "queue": "default", "lane": "default", "payload": "{}",
        "state": "completed", "urgency": 50, "attempt": 1, "uncounted": 0, "losses": 0, "created_at": "2026-01-01Z",
        "run_at": "2026-01-01Z", "finished_at": "2026-01-01Z",
    },
}  # fmt: skip

MOMENTS = [
    "-infinity", "0044-03-15Z BC", "1969-12-31 23:59:59.999999Z", "1970-01-01Z", "2026-01-01Z", "2999-12-31 23:59:59Z",
    "3000-01-01Z", "9998-12-31 23:59:59.999999Z", "9999-01-01Z", "infinity",
]  # fmt: skip
SPANS = [None, "-1 s", "0", "1 us", "1 hour", "3660 days", "3660 days 1 us", "122 months 1 hour", "1000 years"]
SMALL = st.one_of(st.none(), st.sampled_from([-32768, -1, 0, 1, 100, 101, 1000, 1001, 32767]))
WORDS = st.sampled_from([
    "", "Ready", "scheduled", "blocked", "ready", "running", "created", "waiting", "completed", "failed", "timed_out",
    "dead", "dag", "manual", "INSERT", "UPDATE", "DELETE", "insert", "TRUNCATE",
])  # fmt: skip
COLUMNS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "tasks": {
        "state": WORDS,
        "lease_token": st.sampled_from([None, TOKEN]),
        "concurrency_key": st.sampled_from([None, "k"]),
        "concurrency": SMALL,
        "urgency": SMALL.filter(lambda value: value is not None),
        "max_attempts": SMALL,
        "progress": SMALL,
        "run_at": st.sampled_from(MOMENTS),
        "timeout": st.sampled_from(SPANS),
        "heartbeat_timeout": st.sampled_from(SPANS),
        "retry": st.sampled_from([None, "{}", '{"base": 1}', "[]", "5", "null", '"x"']),
        "tags": st.sampled_from([None, "{}", "{a}", "{a,NULL}", "{NULL}", '{"NULL"}', "{{a},{b}}"]),
    },
    "runs": {
        "kind": WORDS,
        "state": WORDS,
        "trigger": WORDS,
        "logical_date": st.sampled_from(MOMENTS),
        "deadline_at": st.sampled_from([None, *MOMENTS]),
    },
    "change_inbox": {"op": WORDS},
    "task_history": {"state": WORDS, "reason": st.one_of(st.none(), WORDS)},
}

REFUSED: list[tuple[str, Row, str]] = [
    ("tasks", {"state": "done"}, "state must be scheduled, blocked, ready or running"),
    ("tasks", {"state": "running"}, "a task has a lease_token while it is running, and only then"),
    ("tasks", {"lease_token": TOKEN}, "a task has a lease_token while it is running, and only then"),
    ("tasks", {"concurrency": 1}, "concurrency and concurrency_key must be given together"),
    ("tasks", {"concurrency_key": "k"}, "concurrency and concurrency_key must be given together"),
    ("tasks", {"concurrency_key": "k", "concurrency": -1}, "concurrency must not be negative"),
    ("tasks", {"urgency": -1}, "urgency must be 0 to 100"),
    ("tasks", {"urgency": 101}, "urgency must be 0 to 100"),
    ("tasks", {"max_attempts": 0}, "max_attempts must be 1 to 1000"),
    ("tasks", {"max_attempts": 1001}, "max_attempts must be 1 to 1000"),
    ("tasks", {"progress": -1}, "progress must be 0 to 100"),
    ("tasks", {"progress": 101}, "progress must be 0 to 100"),
    ("tasks", {"run_at": "infinity"}, "run_at must be between 1970 and 9998"),
    ("tasks", {"run_at": "1969-12-31Z"}, "run_at must be between 1970 and 9998"),
    ("tasks", {"timeout": "0"}, "a timeout must be more than nothing, and at most ten years"),
    ("tasks", {"heartbeat_timeout": "3661 days"}, "a timeout must be more than nothing, and at most ten years"),
    ("tasks", {"retry": "[]"}, "retry must be an object"),
    ("tasks", {"tags": "{a,NULL}"}, "tags must not be null"),
    ("runs", {"kind": "cron"}, "kind must be dag, workflow or flow"),
    ("runs", {"state": "done"}, "state must be created, running, waiting, paused, completed, failed, compensating"),
    ("runs", {"trigger": "magic"}, "trigger must be manual, schedule, backfill, run or sql"),
    ("runs", {"logical_date": "infinity"}, "logical_date must be between 1970 and 2999"),
    ("runs", {"deadline_at": "infinity"}, "deadline_at must be before 9999"),
    ("change_inbox", {"op": "TRUNCATE"}, "weft.change_op"),
    ("task_history", {"state": "done"}, "weft.final_state"),
    ("task_history", {"reason": "bored"}, "weft.end_reason"),
]

CALLS: list[tuple[str, str]] = [
    ("priority => 101", "priority 101 is out of range: use 0"),
    ("priority => -1", "priority -1 is out of range"),
    ("max_attempts => 0", "max_attempts 0 is out of range: use 1 to 1000"),
    ("max_attempts => 1001", "max_attempts 1001 is out of range"),
    ("run_at => 'infinity'", "run_at must be between 1970 and 9998"),
    ("delay => '9000 years'", "run_at must be between 1970 and 9998"),
    ("delay => '-100 years'", "run_at must be between 1970 and 9998"),
    ("timeout => '0'", "a timeout must be more than nothing, and at most ten years"),
    ("timeout => '11 years'", "a timeout must be more than nothing, and at most ten years"),
    ("retry => '5'", "retry must be an object"),
    ("tags => array['a', null]", "tags must not be null"),
]
OF_ONE: list[tuple[str, str]] = [
    ("heartbeat_timeout => '-1 s'", "a timeout must be more than nothing, and at most ten years"),
    ("concurrency_key => 'k', concurrency => -1", "concurrency -1 is out of range: use 1 to 10000, or 0"),
    ("concurrency_key => 'k', concurrency => 10001", "concurrency 10001 is out of range"),
]


@each(("table", "wrong", "message"), REFUSED)
async def test_whoever_writes_it_is_told_what_is_wrong(tx: Tx, table: str, wrong: Row, message: str) -> None:
    for role in ("weft_engine", "weft_tenant", "none"):
        with pytest.raises(errors.InvalidInput, match=message):
            async with tx.savepoint():
                await tx.run("select set_config('weft.org', %(org)s, true)", {"org": str(ids.DEFAULT_ORG)})
                await tx.run(f"set local role {role}")
                await tx.run(_insert(table, SOUND[table] | wrong), SOUND[table] | wrong)


@each(("table", "wrong", "message"), [case for case in REFUSED if case[0] in ("tasks", "runs")])
async def test_nothing_becomes_so_later(tx: Tx, table: str, wrong: Row, message: str) -> None:
    with pytest.raises(errors.InvalidInput, match=message):
        async with tx.savepoint():
            await tx.run(_insert(table, SOUND[table]), SOUND[table])
            await tx.run(_update(table, wrong), wrong)


@each(("argument", "message"), [*CALLS, *OF_ONE])
async def test_enqueue_in_sql_refuses_it(tx: Tx, argument: str, message: str) -> None:
    with pytest.raises(errors.InvalidInput, match=message):
        async with tx.savepoint():
            await tx.value(f"select weft.enqueue('mail', {argument})")


@each(("argument", "message"), CALLS)
async def test_enqueue_many_in_sql_refuses_it(tx: Tx, argument: str, message: str) -> None:
    with pytest.raises(errors.InvalidInput, match=message):
        async with tx.savepoint():
            await tx.value(f"select weft.enqueue_many('mail', '[{{}}, {{}}]', {argument})")


async def test_one_bad_row_among_many_stops_the_statement(tx: Tx) -> None:
    with pytest.raises(errors.InvalidInput, match="urgency must be 0 to 100"):
        async with tx.savepoint():
            await tx.run(
                "insert into weft.tasks (org_id, kind, urgency) select %(org)s, 'mail', n from generate_series(1, 101) as n",
                {"org": ids.DEFAULT_ORG},
            )
    assert await tx.value("select count(*) from weft.tasks") == 0


@pytest.fixture(scope="module")
def both(untouched_url: str) -> Iterator[Connection]:
    """As the engine; beside each table one that has the checks which it had, `before_tasks`."""
    with psycopg.connect(untouched_url) as connection:
        for table in SOUND:
            connection.execute(f"create temp table before_{table} (like weft.{table} including defaults including identity)")
            connection.execute(_checks(table))
            connection.execute(f"grant all on before_{table} to weft_engine")
        connection.execute("set role weft_engine")
        yield connection
        connection.rollback()


@pytest.mark.parametrize("table", SOUND)
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_what_the_checks_refused_is_refused_and_nothing_else(both: Connection, table: str, data: st.DataObject) -> None:
    said = data.draw(st.fixed_dictionaries({}, optional=COLUMNS[table]))
    row = SOUND[table] | said
    assert _outcome(both, _insert(table, row), row) == _outcome(both, _insert(table, row, before=True), row)
    if said and table in ("tasks", "runs"):
        now, before = (
            _outcome(both, f"{_insert(table, SOUND[table], before=then)}; {_update(table, said, before=then)}", row)
            for then in (False, True)
        )
        assert now == before


def test_a_statement_prepared_before_goes_on_after(server_url: str) -> None:
    """No column has another type: workers would hear `cached plan must not change result type` until they connect again."""
    with (
        fresh_database.made(server_url) as url,
        psycopg.connect(**connect.parameters(url, purpose="owner"), autocommit=True) as owner,  # type: ignore[arg-type]
    ):
        for one in migrate.ours():
            if one not in MOVED:
                owner.execute(one.up.encode())
        with psycopg.connect(**connect.parameters(url, purpose="work"), autocommit=True) as worker:  # type: ignore[arg-type]
            for folder in ("queue", "journal", "flows"):
                for name, text in statements.load(f"weft.{folder}").texts.items():
                    worker.execute(prepared.statement(f"{folder}_{name}", text).encode())
            known = worker.execute(
                "select name, cardinality(parameter_types) from pg_prepared_statements "
                "where name ~ '^(queue|journal|flows)_'"
            ).fetchall()
            asked = [f"explain execute {name}" + f"({', '.join(['null'] * count)})" * (count > 0) for name, count in known]
            for statement in asked:
                worker.execute(statement.encode())
            for one in MOVED:
                owner.execute(one.up.encode())
            for statement in asked:
                worker.execute(statement.encode())
    assert len(asked) > 60


def _insert(table: str, row: Row, *, before: bool = False) -> str:
    values = ", ".join(f"%({name})s" for name in row)
    return f"insert into {_name(table, before=before)} ({', '.join(row)}) values ({values})"


def _update(table: str, said: Row, *, before: bool = False) -> str:
    return f"update {_name(table, before=before)} set {', '.join(f'{name} = %({name})s' for name in said)}"


def _name(table: str, *, before: bool) -> str:
    return f"before_{table}" if before else f"weft.{table}"


def _outcome(connection: Connection, statement: str, row: Row) -> str:
    """A list of lists is refused by what looks for nulls in tags; which of two mistakes is told first means nothing."""
    try:
        with connection.transaction(force_rollback=True):
            for one in statement.split("; "):
                connection.execute(one.encode(), row)
    except (pg.CheckViolation, pg.FeatureNotSupported):
        return "refused"
    except pg.Error as error:
        return str(error)
    return "stored"


def _checks(table: str) -> bytes:
    """As the way back adds them."""
    found = re.search(rf"alter table weft\.{table}\n(.*?);", "\n".join(one.down or "" for one in MOVED), re.DOTALL)
    assert found is not None
    return f"alter table before_{table} {re.sub(r'drop constraint [a-z_]+,', '', found[1])}".encode()
