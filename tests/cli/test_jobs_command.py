"""weft jobs: in process and against a real server process, with the same answers."""

from collections.abc import AsyncIterator

import pytest
import shell
from shell import Shell


@pytest.fixture(params=["here", "server"])
async def either(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[Shell]:
    if request.param == "here":
        yield Shell(DATABASE_URL=database_url)
    else:
        async with shell.served(database_url) as remote:
            yield remote


async def test_a_job_from_create_to_delete(either: Shell) -> None:
    made = await either.json(
        "jobs", "create", "nightly", "--cron", "0 2 1 1 *", "--tz", "Europe/Berlin", "--task", "report",
        "--args", '{"n": 1}', "--tag", "a", "--max-attempts", "5", "--timeout", "1h", "--misfire", "skip",
        "--overlap", "queue", "--priority", "7",
    )  # fmt: skip
    assert (made["status"], made["timeout_seconds"], made["retry_config"]["max_attempts"]) == ("ACTIVE", 3600, 5)
    code, said = await either("jobs")
    assert code == 0 and "nightly" in said and "0 2 1 1 *" in said
    assert [one["name"] for one in await either.json("jobs", "list", "--tag", "a", "--status", "ACTIVE")] == ["nightly"]
    assert await either.json("jobs", "list", "--name", "x") == []
    code, said = await either("jobs", "create", "nightly", "--delay", "1h", "--task", "t")
    assert (code, "there is a job named 'nightly' already" in said) == (1, True)
    shown = await either.json("jobs", "show", "nightly")
    assert len(shown["next_times"]) == 3 and shown["words"].startswith("at 02:00") and shown["executions"] == []
    code, said = await either("jobs", "show", "nightly")
    assert code == 0 and made["job_id"] in said and "no executions" in said
    changed = await either.json("jobs", "update", "nightly", "--cron", "0 3 1 1 *", "--args", '{"n": 2}')
    assert (changed["version"], changed["payload"]["args"], changed["cron_expression"]) == (2, {"n": 2}, "0 3 1 1 *")
    assert (await either("jobs", "pause", "nightly"))[1] == "nightly is PAUSED\n"
    assert (await either("jobs", "resume", made["job_id"]))[1].startswith("nightly is ACTIVE, next at")
    code, said = await either("jobs", "preview", "nightly", "--count", "2")
    assert code == 0 and "at 03:00, on day 1 of the month" in said and "(Europe/Berlin)" in said
    code, id = await either("jobs", "trigger", "nightly", "--idempotency-key", "k", "--payload", '{"args": {"m": 3}}')
    assert code == 0 and (await either("jobs", "trigger", "nightly", "--idempotency-key", "k"))[1] == id
    [listed] = await either.json("jobs", "executions", "nightly")
    assert (listed["execution_id"], listed["status"]) == (id.strip(), "QUEUED")
    assert (await either.json("tasks", "show", id.strip()))["payload"] == {"n": 2, "m": 3}
    assert (await either.json("jobs", "execution", id.strip()))["job_name"] == "nightly"
    code, said = await either("jobs", "executions", "nightly", "--status", "QUEUED")
    assert code == 0 and id.strip() in said
    assert await either("jobs", "logs", id.strip()) == (0, "")
    assert await either("jobs", "cancel", id.strip()) == (0, "cancelled\n")
    # nothing of it fires by itself while somebody looks
    await either("jobs", "pause", "nightly")
    await either("jobs", "update", "nightly", "--cron", "0 3 * * *")
    back = await either.json("jobs", "backfill", "nightly", "--from", "30d", "--to", "1d", "--max-active", "2")
    assert (back["status"], back["max_active"]) == ("RUNNING", 2)
    assert await either("jobs", "cancel-backfill", back["backfill_id"]) == (0, f"{back['backfill_id']} is CANCELLED\n")
    assert [one["backfill_id"] for one in await either.json("jobs", "backfills", "nightly")] == [back["backfill_id"]]
    code, said = await either("jobs", "backfills", "nightly")
    assert code == 0 and back["backfill_id"] in said and "cancelled" in said
    assert await either("jobs", "delete", "nightly") == (0, "deleted nightly\n")
    assert await either("jobs", "show", "nightly") == (
        1, "weft: there is no job named 'nightly'; weft jobs list shows those there are\n",
    )  # fmt: skip


async def test_jobs_that_are_no_cron(either: Shell) -> None:
    once = await either.json("jobs", "create", "once", "--at", "2100-01-01T09:00Z", "--task", "t")
    assert (once["job_type"], once["next_run_time"]) == ("ONE_TIME", "2100-01-01T09:00:00Z")
    soon = await either.json("jobs", "create", "soon", "--delay", "10m", "--payload", '{"endpoint": "https://x.org"}')
    assert (soon["job_type"], soon["delay_seconds"], soon["run_at"]) == ("DELAYED", 600.0, soon["next_run_time"])


WORDS = (
    "--start", "2090-01-01T00:00Z", "--end", "2099-01-01T00:00Z", "--misfire", "catch_up", "--catch-up-limit", "7",
    "--backoff", "10s", "--backoff-multiplier", "3", "--max-attempts", "5", "--timeout", "1h", "--jitter", "30s",
    "--priority", "8", "--queue", "slow", "--overlap", "skip", "--tag", "b",
)  # fmt: skip


async def test_all_that_a_job_can_be_told_can_be_said_when_it_is_made_and_later(either: Shell) -> None:
    told = {
        "start_at": "2090-01-01T00:00:00Z", "end_at": "2099-01-01T00:00:00Z", "misfire": "catch_up", "catch_up_limit": 7,
        "timeout_seconds": 3600, "jitter_seconds": 30, "priority": 8, "queue": "slow", "overlap": "skip", "tags": ["b"],
        "retry_config": {"max_attempts": 5, "backoff_seconds": 10, "backoff_multiplier": 3},
    }  # fmt: skip
    made = await either.json("jobs", "create", "a", "--cron", "0 2 1 1 *", "--task", "t", *WORDS)
    assert {name: made[name] for name in told} == told
    await either.json("jobs", "create", "b", "--cron", "0 2 1 1 *", "--tz", "Europe/Berlin", "--task", "t", "--tag", "a")
    changed = await either.json("jobs", "update", "b", *WORDS)
    assert {name: changed[name] for name in told} == told and changed["timezone"] == "Europe/Berlin"
    again = await either.json("jobs", "update", "b", "--name", "c", "--backoff", "20s", "--tz", "UTC")
    assert (again["name"], again["timezone"]) == ("c", "UTC")
    assert again["retry_config"] == {"max_attempts": 5, "backoff_seconds": 20, "backoff_multiplier": 3}
    once = await either.json("jobs", "update", "c", "--at", "2095-01-01T09:00Z")
    assert (once["job_type"], once["run_at"], once["cron_expression"]) == ("ONE_TIME", "2095-01-01T09:00:00Z", None)
    back = await either.json("jobs", "update", "c", "--cron", "0 3 1 1 *")
    assert (back["job_type"], back["cron_expression"], back["run_at"]) == ("CRON", "0 3 1 1 *", None)
