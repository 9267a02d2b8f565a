"""Lists and counts read along indexes and stop where they are told: nothing is scanned, nothing large is sorted."""

import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import fresh_database
import prepared
from prepared import Connection
from weft.db import connect, statements
from weft.queue import counts, search
from weft.queue.search import Filter

SQL = statements.load("weft.queue")
ORG = uuid.UUID("00000000-0000-7000-8000-000000000001")
WALK = 1000
LIMIT = 50
CAP = 500

FILL = f"""
    do $$
    begin
        for back in 1 .. 2 loop
            execute format(
                'create table weft.task_history_old_%s partition of weft.task_history for values from (%L) to (%L)', back,
                weft.uuid7_floor(date_trunc('month', now(), 'UTC') - back * interval '1 month'),
                weft.uuid7_floor(date_trunc('month', now(), 'UTC') - (back - 1) * interval '1 month'));
        end loop;
    end;
    $$;
    insert into weft.tasks (id, org_id, kind, queue, state, plain, concurrency, concurrency_key, run_at, claimed_at,
        lease_token, node_id)
    select weft.uuid7(), o.id, 'mail', 'q' || n % 7, s.state, s.state <> 'blocked', case when s.state = 'blocked' then 1 end,
        case when s.state = 'blocked' then 'k' end, now(), case when s.state = 'running' then now() end,
        case when s.state = 'running' then gen_random_uuid() end, case when s.state = 'running' then gen_random_uuid() end
    from generate_series(1, 30000) as n
    cross join lateral (select case when n % 3 > 0 then '{ORG}'::uuid else md5((n % 50)::text)::uuid end as id) as o
    cross join lateral (
        select case n % 100 when 0 then 'running' when 1 then 'blocked' when 2 then 'scheduled' else 'ready' end as state
    ) as s;
    insert into weft.task_history (id, org_id, kind, queue, lane, payload, state, reason, urgency, attempt, uncounted,
        losses, created_at, run_at, finished_at, error)
    select (substr(weft.uuid7_floor(now() - n * interval '2 minutes')::text, 1, 24) || substr(md5(n::text), 1, 12))::uuid,
        o.id, 'mail', 'q' || n % 7, 'q', '{{}}',
        case when n % 50 = 0 then 'failed' when n % 50 = 1 then 'cancelled' else 'completed' end,
        case when n % 50 = 0 then 'dead' when n % 50 = 1 then 'requested' end, 50, 1, 0, 0, now(), now(), now(),
        case when n % 50 = 0 then '{{"type": "ValueError"}}'::jsonb end
    from generate_series(1, 60000) as n
    cross join lateral (select case when n % 3 > 0 then '{ORG}'::uuid else md5((n % 50)::text)::uuid end as id) as o;
    analyze weft.tasks;
    analyze weft.task_history;
"""


@pytest.fixture(scope="module")
def connection(server_url: str, template: str) -> Iterator[Connection]:
    """A connection as the API has it, in the org with most of the tasks."""
    with fresh_database.made(server_url, template=template) as url:
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(FILL.encode())
        with psycopg.connect(**connect.parameters(url, purpose="work"), autocommit=True) as work:  # type: ignore[arg-type]
            work.execute("select set_config('role', 'weft_tenant', false), set_config('weft.org', %s, false)", (str(ORG),))
            # for good here, as `search` and `counts` do for a transaction
            work.execute(SQL.go_along_indexes.replace("true", "false").encode())
            yield work


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def found(connection: Connection, name: str, **values: Any) -> list[dict[str, Any]]:
    """The nodes of the plan that ran, as they ran."""
    given = {key: str(value) if isinstance(value, uuid.UUID) else value for key, value in {"org_id": ORG, **values}.items()}
    plan = prepared.explain(connection, name, options=", analyze, buffers", values=given, text=SQL.texts[name])
    return [node for node in nodes(plan["Plan"]) if node["Actual Loops"] > 0]


def check(ran: list[dict[str, Any]], *, most: int) -> None:
    """Nothing is scanned from end to end or sorted beyond a page; no scan reads more than it is allowed."""
    tables = [node for node in ran if node.get("Relation Name", "").startswith("task")]
    assert tables and [node for node in ran if node["Node Type"] == "Seq Scan"] == []
    for node in ran:
        if "Sort" in node["Node Type"]:
            assert node["Plans"][0]["Actual Rows"] * node["Actual Loops"] <= 30 * (LIMIT + 1), node
    # what runs is few and read whole: 1 % here
    walked = [node for node in tables if node.get("Index Name") != "tasks_running"]
    for node in walked:
        read = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        assert read <= most, node
    assert sum(node["Shared Hit Blocks"] + node["Shared Read Blocks"] for node in tables) < 20 * most


NOBODY = uuid.UUID(int=5)
FILTERS = [
    Filter(), Filter(states=("queued",)), Filter(states=("scheduled",)), Filter(states=("blocked",)),
    Filter(states=("running",)), Filter(states=("completed",)), Filter(states=("failed",)),
    Filter(states=("failed", "timed_out", "cancelled")), Filter(states=("dead",)),
    Filter(states=("dead",), error_type="none"), Filter(queue="q3"), Filter(queue="none"), Filter(kind="none"),
    Filter(kind="none", states=("completed",)), Filter(kind="none", states=("failed",)), Filter(kind="none", queue="q1"),
    Filter(tag="none"), Filter(correlation_id="none"), Filter(run_id=NOBODY), Filter(job_id=NOBODY),
    Filter(parent_id=NOBODY),
]  # fmt: skip


@pytest.mark.parametrize("filter", FILTERS, ids=lambda filter: str({k: v for k, v in vars(filter).items() if v}))
def test_a_list_walks_indexes_and_no_further_than_allowed(connection: Connection, filter: Filter) -> None:
    name = "find_dead" if filter.states == ("dead",) else "find"
    first = found(connection, name, take=LIMIT + 1, walk=WALK, **search.arguments(filter))
    check(first, most=2 * WALK)


ALIKE = f"""
    insert into weft.tasks (org_id, kind, state, correlation_id)
    select '{ORG}', 'mail', 'ready', 'c' from generate_series(1, 20000);
    insert into weft.task_history (id, org_id, kind, queue, lane, payload, state, urgency, attempt, uncounted, losses,
        created_at, run_at, finished_at, correlation_id)
    select weft.uuid7(), '{ORG}', 'mail', 'default', 'default', '{{}}', 'failed', 50, 1, 0, 0, now(), now(), now(), 'c'
    from generate_series(1, 20000);
    analyze weft.tasks;
    analyze weft.task_history;
    insert into weft.tasks (id, org_id, kind, state)
    select ('00000000-0000-7000-8000-00000000000' || n)::uuid, '{ORG}', 'mail', 'scheduled' from generate_series(1, 5) as n;
"""


def test_what_is_rare_is_found_at_once_though_the_statistics_know_nothing_of_it(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute(ALIKE.encode())
    with psycopg.connect(**connect.parameters(database_url, purpose="work"), autocommit=True) as work:  # type: ignore[arg-type]
        work.execute(SQL.go_along_indexes.replace("true", "false").encode())
        for rare in (Filter(states=("scheduled", "blocked")), Filter(states=("cancelled",)), Filter(correlation_id="none")):
            check(found(work, "find", take=LIMIT + 1, walk=WALK, **search.arguments(rare)), most=50)
        check(found(work, "queue_counts", names=["none"], cap=CAP, recent=10), most=50)


def test_a_page_deep_in_the_list_reads_no_more_than_the_first(connection: Connection) -> None:
    middle = connection.execute("select id from weft.task_history order by id desc offset 20000 limit 1").fetchone()
    assert middle is not None
    ran = found(connection, "find", take=LIMIT + 1, walk=WALK, **search.arguments(Filter(), before=middle[0]))
    check(ran, most=2 * WALK)


def test_counts_stop_at_their_cap(connection: Connection) -> None:
    names = [f"q{n}" for n in range(7)]
    check(found(connection, "queue_counts", names=names, cap=CAP, recent=WALK), most=7 * 1000 + 2 * WALK)
    check(found(connection, "queue_names", after="", take=51, recent=WALK), most=2 * WALK)
    check(found(connection, "task_counts", cap=CAP, places=search.PLACES), most=8 * CAP)


def test_a_page_of_tasks_is_read_by_id(connection: Connection) -> None:
    rows = connection.execute("select id from weft.task_history order by id desc limit 25").fetchall()
    rows += connection.execute("select id from weft.tasks order by id desc limit 25").fetchall()
    check(found(connection, "summaries", ids=[str(id) for (id,) in rows]), most=50)


def test_a_long_page_of_queues_counts_each_less_far() -> None:
    assert [counts.cap_of(queues) for queues in (1, 3, 10, 100, 501)] == [10_000, 6_666, 2_000, 200, 100]
