"""Tasks with any traits in any state, put straight into the tables, and moved between them as the kernel does."""

import dataclasses
import random
import uuid
from typing import Any

from weft.db.tx import Tx
from weft.queue import tasks

WAITING = ("scheduled", "blocked", "ready")
ENDED = {
    "completed": (None, "skipped"), "failed": ("dead", "lost", "refused"), "timed_out": ("dead", "refused"),
    "cancelled": ("requested", "discarded"),
}  # fmt: skip

LIVE = """
insert into weft.tasks (id, org_id, kind, queue, lane, state, plain, tags, correlation_id, run_id, job_id, parent_id,
    concurrency, concurrency_key, claimed_at, lease_token, run_at)
values (coalesce(%(id)s, weft.uuid7()), %(org)s, %(kind)s, %(queue)s, %(queue)s, %(state)s, %(state)s <> 'blocked', %(tags)s,
    %(correlation_id)s, %(run_id)s, %(job_id)s, %(parent_id)s, case when %(state)s = 'blocked' then 1 end,
    case when %(state)s = 'blocked' then 'k' end, case when %(state)s = 'running' then weft.now() end,
    case when %(state)s = 'running' then gen_random_uuid() end, weft.now() + interval '1 hour')
returning id
"""
FINISH = """
with gone as (
    delete from weft.tasks where id = %(id)s returning *
)
insert into weft.task_history (id, org_id, kind, queue, lane, payload, state, reason, urgency, attempt, uncounted, losses,
    created_at, run_at, finished_at, tags, correlation_id, run_id, job_id, parent_id, error)
select g.id, g.org_id, g.kind, g.queue, g.lane, g.payload, %(state)s, %(reason)s, g.urgency, 1, 0, 0, g.created_at, g.run_at,
    weft.now(), g.tags, g.correlation_id, g.run_id, g.job_id, g.parent_id,
    case when %(error_type)s::text is not null then jsonb_build_object('type', %(error_type)s::text, 'message', 'no') end
from gone as g
"""


@dataclasses.dataclass
class Made:
    """A task as the test knows it."""

    id: uuid.UUID
    kind: str
    queue: str
    tags: list[str]
    correlation_id: str | None
    run_id: uuid.UUID | None
    job_id: uuid.UUID | None
    parent_id: uuid.UUID | None
    state: str
    reason: str | None = None
    error_type: str | None = None

    @property
    def dead(self) -> bool:
        return self.reason in ("dead", "lost")


def related(dice: random.Random) -> uuid.UUID | None:
    return dice.choice([None, None, uuid.UUID(int=1), uuid.UUID(int=2)])


async def make(tx: Tx, org: uuid.UUID, dice: random.Random) -> Made:
    """A task with any traits in some state, by the dice; most wait or have completed."""
    state = dice.choice([*WAITING, "ready", "ready", "ready", "running", "completed", *ENDED])
    return await put(
        tx, org, state=state, reason=dice.choice(ENDED.get(state, (None,))),
        error_type=dice.choice(["ValueError", "OSError"]),
        kind=dice.choice("ab"), queue=dice.choice("xxxyz"), tags=dice.sample(["s", "t"], dice.randint(0, 2)),
        correlation_id=dice.choice([None, None, "c", "d"]), run_id=related(dice), job_id=related(dice),
        parent_id=related(dice),
    )  # fmt: skip


async def put(
    tx: Tx, org: uuid.UUID, *, state: str, reason: str | None = None, error_type: str | None = None, **traits: Any
) -> Made:
    """A task in this state; what has ended was running before."""
    live = "running" if state in ENDED else state
    made = Made(id=await tx.value(LIVE, {"id": None, "org": org, "state": live, **traits}), state=live, **traits)
    if state in ENDED:
        await finish(tx, made, state=state, reason=reason, error_type=error_type)
    return made


async def finish(tx: Tx, made: Made, *, state: str, reason: str | None, error_type: str | None) -> None:
    """Ends it: it leaves the one table for the other."""
    made.state = state
    made.reason = reason if reason in ENDED[state] else None
    made.error_type = error_type if state in ("failed", "timed_out") else None
    await tx.run(FINISH, {"id": made.id, "state": state, "reason": made.reason, "error_type": made.error_type})


async def move(tx: Tx, org: uuid.UUID, made: Made, dice: random.Random) -> None:
    """What may happen to a task next: it waits otherwise, runs, ends, or comes back from the dead."""
    if made.state in ENDED:
        if made.state != "completed":
            assert await tasks.redrive(tx, org=org, ids=[made.id], actor="test") == [made.id]
            made.state, made.reason, made.error_type = "ready", None, None
    elif dice.random() < 0.5:
        state = dice.choice(list(ENDED))
        await finish(tx, made, state=state, reason=dice.choice(ENDED[state]), error_type="OSError")
    else:
        made.state = dice.choice(["scheduled", "ready", "running"])
        await tx.run(
            "update weft.tasks set state = %(state)s, claimed_at = case when %(state)s = 'running' then weft.now() end, "
            "lease_token = case when %(state)s = 'running' then gen_random_uuid() end where id = %(id)s",
            {"id": made.id, "state": made.state},
        )
