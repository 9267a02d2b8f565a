"""The hot statements keep their plans: an index every time, whatever the statistics say and however much waits.

Every statement runs with generic plans (as work connections do), so what is checked here is what workers get. Statistics
are taken with the tables empty, full, and half drained.
"""

import datetime as dt
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import fresh_database
import prepared
from prepared import Connection
from weft.db import connect, statements
from weft.queue import search

SQL = statements.load("weft.queue")
ORG = "00000000-0000-7000-8000-000000000001"
SOME = [str(uuid.UUID(int=n)) for n in range(1, 501)]
NOW = dt.datetime.now(dt.UTC)
MINUTE = dt.timedelta(minutes=1)
HOLD = {"node_id": SOME[0], "token": SOME[0], "lease": MINUTE, "limited": True}
MARKS = {"mark_urgency": [-1] * 50, "mark_run_at": [NOW] * 50, "mark_id": SOME[:50]}

HOT: dict[str, dict[str, Any]] = {
    "sign_of_dead": {"org_id": ORG, "most": 1000},
    "search_tasks": {"org_id": ORG, "low": SOME[0], "high": SOME[1], "take": 8},
    "which_ended": {"orgs": [ORG] * len(SOME), "ids": SOME},
    "lanes": {},
    "claim_plain": {
        "lanes": ["default"] * 50, "orgs": SOME[:50], "takes": [10] * 50, "kinds": ["mail"], **MARKS, **HOLD,
    },
    "claim_named": {
        "lane": "default", "org": ORG, "take": 50, "kinds": ["mail"], "mark_urgency": -1, "mark_run_at": NOW,
        "mark_id": SOME[0], **HOLD,
    },
    "claim_limited": {
        "lanes": ["default"] * 50, "orgs": SOME[:50], "takes": [1] * 50, "kinds": ["mail"], **MARKS, **HOLD,
    },
    "claim_counted": {
        "lane": "default", "org": ORG, "take": 50, "kinds": ["mail"], "mark_urgency": -1, "mark_run_at": NOW,
        "mark_id": SOME[0], **HOLD,
    },
    "claim_chosen": {"ids": SOME[:50], **HOLD},
    "special_candidates": {"lanes": ["default"] * 50, "orgs": SOME[:50], "kinds": ["mail"], "take": 50, **MARKS},
    "count_limits": {"names": ["default"], "orgs": SOME[:50]},
    "count_keys": {"orgs": SOME[:50], "keys": ["k"] * 50},
    "block": {"ids": SOME[:50]},
    "finish": {
        "ids": SOME, "tokens": SOME, "states": ["failed"] * 500, "reasons": [None] * 500, "results": ["{}"] * 500,
        "errors": [None] * 500, "started": [0.1] * 500, "expected": 500,
    },
    "complete": {
        "ids": SOME, "tokens": SOME, "results": [None] * 500, "started": [0.1] * 500, "expected": 500,
    },
    "complete_claimed": {
        "ids": SOME, "token": SOME[0], "results": [None] * 500, "started": [0.1] * 500, "expected": 500,
    },
    "finish_held": {
        "ids": SOME, "tokens": SOME, "states": ["failed"] * 500, "reasons": [None] * 500, "results": ["{}"] * 500,
        "errors": [None] * 500, "started": [0.1] * 500, "held": [],
    },
    "requeue": {
        "ids": SOME, "tokens": SOME, "delays": [1.0] * 500, "uncounted": [0] * 500, "lost": [0] * 500,
        "outcomes": ["failed"] * 500, "errors": ["{}"] * 500,
    },
    "ended_with": {"orgs": [ORG] * 500, "ids": SOME, "tokens": SOME},
    "held": {"ids": SOME},
    "unblock": {"orgs": [ORG] * 20, "keys": ["full"] * 20},
    "take_cancelled": {"take": 1000},
    "cancel_queued": {"ids": SOME},
    "promote": {"take": 1000},
    "stirs": {"calm": True, "cancel_grace": dt.timedelta(seconds=30), "margin": dt.timedelta(seconds=15)},
    "keys_with_room": {},
    "tasks_of_nodes": {"nodes": SOME[:3], "take": 1000},
    "nodes_with_tasks": {"nodes": SOME[:3]},
    "tasks_of_nobody": {"older": MINUTE, "take": 1000},
    "tasks_of_claims": {"tokens": SOME[:5]},
    "tasks_past_lease": {"take": 1000},
    "tasks_past_cancel": {"grace": MINUTE, "take": 1000},
    "cancelled_on": {"node_id": SOME[0], "grace": MINUTE},
    "report_progress": {
        "ids": SOME, "tokens": SOME, "progress": [1] * 500, "messages": [None] * 500, "started": [None] * 500,
    },
    "still_held": {"ids": SOME, "tokens": SOME},
    "write_logs": {
        "ids": SOME, "tokens": SOME, "at": [NOW] * 500, "levels": ["info"] * 500, "messages": ["m"] * 500,
        "fields": [None] * 500,
    },
    "get_task": {"id": SOME[0], "org_id": ORG},
    "get_ending": {"id": SOME[0], "org_id": ORG},
    "list_dead": {"org_id": ORG, "before": SOME[-1], "take": 100, "kind": None, "queue": None},
    "redrive": {"org_id": ORG, "ids": SOME[:100]},
    "discard_dead": {"org_id": ORG, "ids": SOME[:100]},
    "find": {"org_id": ORG, "take": 51, "walk": search.WALK, **search.arguments(search.Filter(kind="mail"))},
    "find_dead": {"org_id": ORG, "take": 51, "walk": search.WALK, **search.arguments(search.Filter(states=("dead",)))},
    "summaries": {"org_id": ORG, "ids": SOME[:50]},
    "queue_names": {"org_id": ORG, "after": "", "take": 51, "recent": 1000},
    "queue_counts": {"org_id": ORG, "names": ["default"], "cap": 10_000, "recent": 1000},
    "task_counts": {"org_id": ORG, "cap": 10_000, "places": 5000},
    "running_by_node": {"org_id": ORG},
    "sample_depths": {"places": 1000, "cap": 10_000},
    "lanes_of": {"org": ORG},
    "extend_leases": {
        "ids": SOME, "tokens": SOME, "progress": [1] * 500, "messages": [None] * 500, "started": [None] * 500,
        "lease": MINUTE,
    },
    "fetch_held": {"id": SOME[0], "token": SOME[0]},
    "tasks_of_claim_names": {"first": SOME[:5], "last": SOME[:5], "node_id": SOME[0], "take": 1000},
    "read_logs": {"task_id": SOME[0], "org_id": ORG, "after": 0, "take": 100},
    "explain": {"id": SOME[0], "org_id": ORG},
    "prune_org": {"org_id": ORG, "older": MINUTE, "take": 1000},
    "prune_dedupe_keys": {"take": 1000},
}  # fmt: skip

COLD = {
    # they write one row, or call a function that does
    "enqueue", "enqueue_many", "enqueue_keyed", "enqueue_simple", "enqueue_plain", "enqueue_many_plain",
    "cancel_intent", "spend_tokens",
    # they touch small tables or none
    "kind_is_served", "lock_limits", "lock_limits_first", "set_queue", "get_queue", "found_queue", "settings_of",
    "orgs_with_retention", "make_partitions", "drop_partitions", "wake", "go_along_indexes",
    "signing_keys", "first_signing_key", "retire_signing_keys", "forget_signing_keys",
    # a person asks, and what is asked for is everything of an org
    "count_running_as_limited", "count_late_as_limited", "limits_that_count",
    # they read the minutes before now by a block index, which is only worth it in a large table; or what was counted
    "count_minutes", "prune_minutes", "ended_by_step", "the_time", "depths_by_step", "prune_depths",
}  # fmt: skip
"""Statements without a plan to keep, and why."""

FILL = f"""
    -- nothing may plan by the order things happen to lie in
    insert into weft.tasks (id, org_id, kind, state, run_at, node_id, lease_token, claimed_at)
    select weft.uuid7(), case when n % 2 = 0 then '{ORG}' else md5((n % 50)::text)::uuid end, 'mail',
        case when n % 40 = 0 then 'running' else 'ready' end, now() - n * interval '1 ms',
        case when n % 40 = 0 then md5((n % 3)::text)::uuid end, case when n % 40 = 0 then gen_random_uuid() end,
        case when n % 40 = 0 then now() end
    from generate_series(1, 20000) as n;
    insert into weft.task_history (id, org_id, kind, queue, lane, payload, state, reason, urgency, attempt, uncounted,
        losses, created_at, run_at, finished_at)
    select weft.uuid7(), case when n % 2 = 0 then '{ORG}' else md5((n % 50)::text)::uuid end, 'mail', 'default', 'default',
        '{{}}', case when n % 100 = 0 then 'failed' else 'completed' end, case when n % 100 = 0 then 'dead' end, 50, 1, 0, 0,
        now(), now(), now()
    from generate_series(1, 20000) as n;
    insert into weft.task_logs (task_id, org_id, attempt, at, level, message)
    select weft.uuid7(), '{ORG}', 1, now(), 'info', 'm' from generate_series(1, 5000) as n;
    insert into weft.dedupe_keys (org_id, kind, dedupe_key, task_id, expires_at)
    select '{ORG}', 'mail', n::text, weft.uuid7(), now() + interval '1 day' from generate_series(1, 5000) as n;
"""

WAITING = f"""
    insert into weft.tasks (org_id, kind, state, run_at)
    select '{ORG}', 'mail', 'scheduled', now() + n * interval '1 second' from generate_series(1, 30000) as n;
    insert into weft.tasks (org_id, kind, state, plain, concurrency, concurrency_key)
    select '{ORG}', 'mail', 'blocked', false, 1, 'full' from generate_series(1, 20000) as n;
"""

DRAIN = "delete from weft.tasks where state in ('ready', 'running') and random() < 0.9"
ANALYZE = "analyze weft.tasks; analyze weft.task_history; analyze weft.task_logs; analyze weft.dedupe_keys"


@pytest.fixture(scope="module")
def plans_url(server_url: str, template: str) -> Iterator[str]:
    with fresh_database.made(server_url, template=template) as url:
        yield url


def _work(url: str) -> Connection:
    """A connection as workers have it."""
    return psycopg.connect(**connect.parameters(url, purpose="work"), autocommit=True, prepare_threshold=0)  # type: ignore[arg-type]


def _plan(connection: Connection, name: str, options: str = "", **values: Any) -> Any:
    return prepared.explain(connection, name, options=options, values=HOT[name] | values, text=SQL.texts[name])


def _nodes(plan: Any) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _read(node: dict[str, Any]) -> int:
    return int(node["Shared Hit Blocks"]) + int(node["Shared Read Blocks"])


LARGE = re.compile(r"tasks|task_history\w*|task_logs\w*|dedupe_keys")


def _walks(node: dict[str, Any]) -> bool:
    """Whether a large table is read from end to end, as it lies or along an index of all its rows."""
    if node["Node Type"] == "Seq Scan":
        return LARGE.fullmatch(node["Relation Name"]) is not None
    along_all = node.get("Index Name", "").endswith("_pkey") and LARGE.fullmatch(node.get("Relation Name", ""))
    return bool(along_all) and "Index Cond" not in node


def _scans(plan: Any) -> list[str]:
    return [f"{node['Node Type']} {node['Relation Name']}" for node in _nodes(plan["Plan"]) if _walks(node)]


def _check(url: str) -> None:
    with _work(url) as connection:
        assert connection.execute("show plan_cache_mode").fetchone() == ("force_generic_plan",)
        found = {name: scans for name in HOT if (scans := _scans(_plan(connection, name)))}
    assert found == {}


def _prepare(url: str, *scripts: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("alter table weft.tasks set (autovacuum_enabled = off)")
        for script in scripts:
            connection.execute(script.encode())


def test_every_statement_of_the_queue_is_hot_or_has_a_reason_not_to_be() -> None:
    assert set(SQL.texts) == set(HOT) | COLD and not set(HOT) & COLD


def test_no_hot_statement_scans_with_statistics_taken_empty(plans_url: str) -> None:
    _prepare(plans_url, ANALYZE)
    _check(plans_url)


def test_no_hot_statement_scans_with_statistics_taken_empty_and_tables_that_filled_up_since(plans_url: str) -> None:
    _prepare(plans_url, FILL)
    _check(plans_url)


def test_no_hot_statement_scans_with_statistics_taken_full(plans_url: str) -> None:
    _prepare(plans_url, WAITING, ANALYZE)
    _check(plans_url)


def test_no_hot_statement_scans_with_statistics_taken_mid_drain(plans_url: str) -> None:
    _prepare(plans_url, DRAIN, ANALYZE)
    _check(plans_url)


@pytest.mark.parametrize("rows", [0, 1, 2, 1000])
def test_a_batch_is_never_compared_task_by_task_whatever_the_table_held_when_it_was_counted(
    database_url: str, rows: int
) -> None:
    """With one row in the statistics a join of a thousand with a thousand was planned as a loop in a loop."""
    one = f"insert into weft.tasks (org_id, kind) select '{ORG}', 'mail' from generate_series(1, {rows})"
    _prepare(database_url, one, ANALYZE)
    with _work(database_url) as connection:
        plans = [_plan(connection, name) for name in ("complete", "complete_claimed")]
    loops = [node for plan in plans for node in _nodes(plan["Plan"]) if node["Node Type"] == "Nested Loop"]
    assert loops == [] and "hashed SubPlan" in json.dumps(plans[0])


def test_what_waits_for_its_time_or_a_full_key_costs_a_claim_nothing(database_url: str) -> None:
    mark = {"mark_urgency": [-1], "mark_run_at": [NOW], "mark_id": [SOME[0]]}
    one = {"orgs": [ORG], "lanes": ["default"], "takes": [100], **mark}

    def buffers(connection: Connection, name: str) -> int:
        plan = _plan(connection, name, ", analyze, buffers", **one)
        claim_index = [node for node in _nodes(plan["Plan"]) if node.get("Index Name") in ("tasks_ready", "tasks_special")]
        assert claim_index
        return sum(_read(node) for node in claim_index)

    _prepare(database_url, FILL, ANALYZE)
    with _work(database_url) as connection:
        before = {name: buffers(connection, name) for name in ("claim_plain", "special_candidates")}
        _prepare(database_url, WAITING, ANALYZE)
        after = {name: buffers(connection, name) for name in before}
    assert before["claim_plain"] > 0
    for name in before:
        assert after[name] <= before[name] * 1.2 + 10, f"{name}: {before[name]} buffers before, {after[name]} after"


def test_the_lanes_are_found_by_one_probe_each_however_deep_they_are(database_url: str) -> None:
    _prepare(database_url, FILL, WAITING, ANALYZE)
    with _work(database_url) as connection:
        plan = _plan(connection, "lanes", ", analyze, buffers")
    assert _read(plan["Plan"]) < 51 * 12


def test_a_strict_key_with_a_mountain_behind_it_is_not_walked(database_url: str) -> None:
    _prepare(database_url, WAITING, ANALYZE)
    with _work(database_url) as connection:
        for name in ("count_keys", "unblock"):
            plan = _plan(connection, name, ", analyze, buffers", orgs=[ORG], keys=["full"])
            assert _read(plan["Plan"]) < 100, f"{name}: {json.dumps(plan)}"
