"""The table of chores: what the leader does, how often, and how much at a time."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence

from weft.access import idempotency, logins, rates
from weft.cluster import locks, nodes
from weft.db.tx import Tx
from weft.flows import awaiting, workflows
from weft.flows import chores as runs
from weft.jobs import backfill, scheduler
from weft.jobs import prune as forgetting
from weft.journal import audit, feed, outbox, sequence
from weft.live import sessions
from weft.queue import late, minutes, promote, prune
from weft.settle import rescue
from weft.upkeep.chore import Chore
from weft.upkeep.liveness import Liveness
from weft.upkeep.sender import Sender

_PROMOTER_RESTS = 0.5

JOBS = "weft_jobs"
"""Where it is told that a job is due soon."""


def chores(
    *, node_id: str, retention: dt.timedelta | None, more: Sequence[Chore] = (), steady: bool = False
) -> list[Chore]:
    """Every chore, with fresh state: a term begins knowing nothing. `more`: those of applications on top."""
    liveness = Liveness(own_id=node_id, steady=steady)
    due, sender, firing, claims = _Due(), Sender(), scheduler.Scheduler(), late.LateClaims()
    table = [
        Chore(
            name="sequencer",
            every=_seconds(0.5),
            peek=sequence.waiting,
            once=sequence.once,
            batch=sequence.BATCH,
            steady=True,  # who watches sequences too (api/live_feed.py), and each time is a commit that others wait for
        ),
        Chore(name="promoter", every=due.every, peek=due.peek, once=promote.once, batch=promote.BATCH),
        Chore(name="unblocker", every=_seconds(2), once=promote.unblock),
        Chore(name="late claims", every=late.EVERY, peek=claims.peek, once=claims.once),
        Chore(
            name="liveness",
            every=liveness.every,
            peek=liveness.peek,
            once=liveness.once,
            batch=rescue.BATCH,
            vital=True,
        ),
        Chore(name="lapsed leases", every=_seconds(5), once=rescue.leases, batch=rescue.BATCH),
        Chore(name="strays", every=_seconds(5), once=rescue.strays, batch=rescue.BATCH),
        Chore(name="cancellations", every=_seconds(1), once=rescue.cancelled, batch=rescue.BATCH),
        Chore(name="feed trimmer", every=_seconds(30), once=feed.trim, batch=feed.BATCH - 1),
        Chore(name="lock sweeper", every=_seconds(300), once=locks.sweep, batch=locks.SWEEP_BATCH),
        Chore(name="node sweeper", every=_seconds(3600), once=nodes.sweep),
        Chore(name="org history pruner", every=_seconds(60), once=prune.orgs, batch=prune.BATCH),
        Chore(name="dedupe key pruner", every=_seconds(60), once=prune.dedupe_keys, batch=prune.BATCH),
        Chore(name="idempotency key pruner", every=_seconds(60), once=idempotency.prune, batch=idempotency.BATCH),
        Chore(name="partition maker", every=_seconds(3600), once=prune.partitions),
        Chore(name="minute counter", every=_seconds(10), peek=minutes.waiting, once=minutes.once),
        Chore(name="minute pruner", every=_seconds(3600), once=minutes.prune, batch=minutes.BATCH),
        Chore(name="audit sealer", every=_seconds(5), peek=audit.unsealed, once=audit.seal, batch=audit.BATCH),
        Chore(name="job scheduler", every=firing.every, peek=firing.peek, once=firing.once, wake=JOBS),
        Chore(
            name="backfiller",
            every=_seconds(5),
            peek=backfill.any_running,
            once=backfill.Backfiller().once,
            batch=backfill.BATCH,
            wake=JOBS,
        ),
        Chore(name="execution pruner", every=_seconds(60), once=forgetting.Executions().once, batch=forgetting.BATCH),
        Chore(name="job pruner", every=_seconds(300), once=forgetting.jobs(retention), batch=forgetting.BATCH),
        Chore(name="session sweeper", every=_seconds(15), once=sessions.sweep),
        Chore(name="login pruner", every=_seconds(3600), once=logins.prune, batch=logins.BATCH),
        Chore(name="bucket sweeper", every=_seconds(300), once=rates.forget, batch=rates.BATCH),
        Chore(name="outbox", every=_seconds(2), peek=outbox.waiting, once=sender.once, then=sender.send, batch=outbox.BATCH),
        Chore(name="outbox pruner", every=_seconds(300), once=outbox.prune, batch=outbox.BATCH),
        Chore(name="run sweeper", every=_seconds(2), peek=runs.told, once=runs.sweep, batch=runs.BATCH),
        Chore(name="run starter", every=_seconds(1), peek=runs.waiting, once=runs.admit, batch=runs.BATCH),
        Chore(name="workflow waker", every=_seconds(2), once=workflows.sweep, batch=workflows.BATCH),
        Chore(name="run deadlines", every=_seconds(1), peek=runs.late, once=runs.deadlines, batch=runs.BATCH),
        Chore(
            name="forsaken runs",
            every=_seconds(5),
            peek=awaiting.any_forsaken,
            once=awaiting.cancel_forsaken,
            batch=awaiting.BATCH,
        ),
        Chore(name="run pruner", every=_seconds(60), once=runs.pruning(retention), batch=runs.BATCH),
        *more,
    ]
    if retention is not None:
        table.append(Chore(name="history pruner", every=_seconds(3600), once=_dropping(retention)))
    return table


class _Due:
    """When the next scheduled task is due: the promoter looks then, or sooner for those that come in between."""

    def __init__(self) -> None:
        self._next: float | None = None

    def every(self) -> dt.timedelta:
        soonest = _PROMOTER_RESTS if self._next is None else min(max(self._next, 0.01), _PROMOTER_RESTS)
        return _seconds(soonest)

    async def peek(self, tx: Tx) -> bool:
        self._next = await promote.next_due(tx)
        return self._next is not None and self._next <= 0


def _dropping(older: dt.timedelta) -> Callable[[Tx], Awaitable[int]]:
    async def drop(tx: Tx) -> int:
        return len(await prune.history(tx, older=older))

    return drop


def _seconds(count: float) -> dt.timedelta:
    return dt.timedelta(seconds=count)
