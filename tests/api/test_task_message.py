"""The queue message of seed 002: what of it is where."""

import json

from calling import Caller

import hands
from weft.db.database import Database
from weft.jobs import scheduler
from weft.sdk.retry import from_json

TASK_MESSAGE = json.loads("""
{
    "execution_id": "exec-12345",
    "job_id": "job-67890",
    "tenant_id": "tenant-abc",
    "priority": 5,
    "payload": {
        "endpoint": "https://api.example.com/process",
        "method": "POST",
        "body": {"batch_id": "batch-999"}
    },
    "timeout_seconds": 300,
    "attempt_number": 1,
    "max_attempts": 3,
    "retry_delay_seconds": 60,
    "scheduled_time": "2024-01-15T10:00:00Z",
    "enqueued_at": "2024-01-15T10:00:01Z",
    "correlation_id": "trace-abc123"
}
""")
"""The example of the seed's "Task Message Schema", as it stands there."""


async def test_seed_002_task_message(api: Caller, database: Database) -> None:
    """A message is a task: each of its fields has a column there (docs/reference/seeds.md)."""
    same = {name: TASK_MESSAGE[name] for name in ("payload", "priority", "timeout_seconds")}
    retry = {"max_attempts": TASK_MESSAGE["max_attempts"], "backoff_seconds": TASK_MESSAGE["retry_delay_seconds"]}
    wanted = {"name": "job", "job_type": "CRON", "cron_expression": "* * * * *", **same, "retry_config": retry}
    job = (await api.post("/v1/jobs", wanted)).json()
    at = "2024-01-15T10:00:00+00:00"
    async with database.tx() as tx:
        words = "next_run_time = %(at)s, due_at = weft.now(), misfire = 'catch_up', end_at = %(at)s"
        await tx.run(f"update weft.jobs set {words}", {"at": at})
        assert await scheduler.once(tx) == 1
        await tx.run("update weft.tasks set correlation_id = %(id)s", {"id": TASK_MESSAGE["correlation_id"]})
        [held] = await hands.claim_plain(tx, kinds=["http"])
        [row] = await tx.rows("select t.job_id, t.org_id, t.urgency, t.timeout, t.scheduled_for, t.created_at, e.id "
                              "from weft.tasks as t join weft.executions as e on e.id = t.id")  # fmt: skip
    policy = from_json(held.retry)
    assert policy is not None
    message = {
        "execution_id": str(row[6]), "job_id": str(row[0]), "tenant_id": str(row[1]), "priority": (100 - row[2]) // 11,
        "payload": json.loads(held.payload), "timeout_seconds": int(row[3].total_seconds()), "attempt_number": held.attempt,
        "max_attempts": held.max_attempts, "retry_delay_seconds": int(policy.delay(1, chance=0.5).total_seconds()),
        "scheduled_time": row[4].isoformat().replace("+00:00", "Z"), "correlation_id": held.correlation_id,
        "enqueued_at": row[5].isoformat().replace("+00:00", "Z"),
    }  # fmt: skip
    ours = {"execution_id": held.id, "job_id": job["job_id"], "tenant_id": held.org, "enqueued_at": message["enqueued_at"]}
    assert message.keys() == TASK_MESSAGE.keys()
    assert message | {"payload": TASK_MESSAGE["payload"]} == TASK_MESSAGE | ours
    # as the job has it; its task has what the handler of HTTP calls takes
    assert job["payload"] == TASK_MESSAGE["payload"]
    told = {"url": "https://api.example.com/process", "method": "POST", "body": {"batch_id": "batch-999"}}
    assert {name: message["payload"].get(name) for name in told} == told
