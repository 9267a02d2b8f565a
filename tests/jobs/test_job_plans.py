"""The scheduler's statements touch what is due and nothing else, with a hundred thousand jobs that are not."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import fresh_database
import prepared
from prepared import Connection
from weft.db import connect, statements

SQL = statements.load("weft.jobs")
ORG = "00000000-0000-7000-8000-000000000001"
DUE = 30

FILL = f"""
    insert into weft.jobs (org_id, name, job_type, cron_expression, payload, kind, args, next_run_time, due_at, status)
    select '{ORG}', 'job ' || n, 'CRON', '@daily', '{{}}', 'mail', '{{}}', t.at, t.at,
        'ACTIVE'
    from generate_series(1, 20000) as n
    cross join lateral (
        select now() + case when n <= {DUE} then interval '-1 hour' else n * interval '1 minute' end as at
    ) as t;
    insert into weft.jobs (org_id, name, job_type, cron_expression, payload, kind, args, status)
    select '{ORG}', 'paused ' || n, 'CRON', '@daily', '{{}}', 'mail', '{{}}', 'PAUSED' from generate_series(1, 5000) as n;
    analyze weft.jobs;
"""


@pytest.fixture(scope="module")
def jobs_url(server_url: str, template: str) -> Iterator[str]:
    with fresh_database.made(server_url, template=template) as url:
        with psycopg.connect(url, autocommit=True) as owner:
            owner.execute(FILL.encode())
        yield url


def work(url: str) -> Connection:
    return psycopg.connect(**connect.parameters(url, purpose="work"), autocommit=True, prepare_threshold=0)  # type: ignore[arg-type]


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def explain(url: str, name: str, /, **values: Any) -> list[dict[str, Any]]:
    with work(url) as connection:
        plan = prepared.explain(connection, name, options=", analyze, buffers", values=values, text=SQL.texts[name])
    return list(nodes(plan["Plan"]))


def test_the_due_query_reads_only_due_rows(jobs_url: str) -> None:
    found = explain(jobs_url, "due_jobs", take=2000)
    scans = [one for one in found if one.get("Relation Name") == "jobs"]
    assert [one["Index Name"] for one in scans] == ["jobs_due"]
    assert scans[0]["Actual Rows"] == DUE and scans[0].get("Rows Removed by Filter", 0) == 0
    assert found[0]["Shared Hit Blocks"] + found[0]["Shared Read Blocks"] < 10 * DUE + 50


def test_asking_for_the_next_one_reads_one_entry(jobs_url: str) -> None:
    found = explain(jobs_url, "stirs")
    assert [one["Actual Rows"] for one in found if one.get("Index Name") == "jobs_due"] == [1]


NAMED: dict[str, dict[str, Any]] = {
    "job_named": {"org_id": ORG, "name": "job 77"},
    "lock_job_named": {"org_id": ORG, "name": "job 77"},
    "jobs_by_name": {
        "org_id": ORG, "status": None, "job_type": None, "tag": None, "prefix": "job 77", "after_name": "", "take": 51,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_found_among_many(jobs_url: str, name: str) -> None:
    found = explain(jobs_url, name, **NAMED[name])
    assert "jobs_by_name" in [one.get("Index Name") for one in found]
    assert found[0]["Shared Hit Blocks"] + found[0]["Shared Read Blocks"] < 500


@pytest.mark.parametrize("name", ["dispatch", "advance", "set_aside", "busy_jobs", "read_jobs"])
def test_what_is_written_is_found_by_its_id(jobs_url: str, name: str) -> None:
    with psycopg.connect(jobs_url) as owner:
        ids = [str(row[0]) for row in owner.execute("select id from weft.jobs limit 500")]
    empty: list[None] = [None] * len(ids)
    times = ["2026-01-01T00:00:00Z"] * len(ids)
    values = {
        "ids": ids, "times": times, "keys": [""] * len(ids), "missed": empty, "skipped": empty, "trigger": "schedule",
        "backfill_id": None, "waiting": times, "due_at": times, "fired": times, "codes": ["c"] * len(ids),
        "messages": ["m"] * len(ids), "kinds": ["k"] * len(ids), "args": ["{}"] * len(ids), "secrets": [""] * len(ids),
        "retry": "{}", "retry_config": "{}",
    }  # fmt: skip
    with work(jobs_url) as connection:
        plan = prepared.explain(connection, name, options="", values=values, text=SQL.texts[name])
    assert [one["Relation Name"] for one in nodes(plan["Plan"]) if one["Node Type"] == "Seq Scan"] == []
