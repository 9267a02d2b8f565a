"""The table of chores: what the leader does, how often, and how much at a time."""

import datetime as dt
from collections.abc import Awaitable, Callable, Sequence

from weft.access import idempotency, logins, rates
from weft.cluster import locks, nodes
from weft.db.tx import Tx
from weft.flows import awaiting, standstill, workflows
from weft.flows import chores as runs
from weft.flows.standstill import Standstill
from weft.jobs import backfill, scheduler
from weft.jobs import prune as forgetting
from weft.journal import audit, feed, outbox, sequence
from weft.live import sessions
from weft.queue import late, minutes, promote, prune
from weft.settle import rescue
from weft.upkeep.chore import Chore
from weft.upkeep.liveness import Liveness
from weft.upkeep.sender import Sender


def chores(
    *, node_id: str, retention: dt.timedelta | None, more: Sequence[Chore] = (), steady: bool = False
) -> list[Chore]:
    """Every chore, with fresh state: a term begins knowing nothing. `more`: those of applications on top."""
    liveness = Liveness(own_id=node_id, steady=steady)
    sender, claims, still = Sender(), late.LateClaims(), Standstill()
    table = [
        Chore(
            name="sequencer",
            every=_seconds(0.5),
            once=sequence.once,
            batch=sequence.BATCH,
            told=True,
            steady=True,  # who watches sequences too (api/live_feed.py), and each time is a commit that others wait for
        ),
        Chore(name="promoter", every=_seconds(0.5), once=promote.once, batch=promote.BATCH, told=True),
        Chore(name="unblocker", every=_seconds(2), once=promote.unblock, told=True),
        Chore(name="late claims", every=late.EVERY, peek=claims.peek, once=claims.once),
        Chore(
            name="liveness",
            every=liveness.every,
            peek=liveness.peek,
            once=liveness.once,
            batch=rescue.BATCH,
            vital=True,
        ),
        Chore(name="lapsed leases", every=_seconds(5), once=rescue.leases, batch=rescue.BATCH, told=True),
        Chore(name="strays", every=_seconds(5), once=rescue.strays, batch=rescue.BATCH),
        Chore(name="cancellations", every=_seconds(1), once=rescue.cancelled, batch=rescue.BATCH, told=True),
        Chore(name="feed trimmer", every=_seconds(30), once=feed.trim, batch=feed.BATCH - 1),
        Chore(name="lock sweeper", every=_seconds(300), once=locks.sweep, batch=locks.SWEEP_BATCH),
        Chore(name="node sweeper", every=_seconds(3600), once=nodes.sweep),
        Chore(name="org history pruner", every=_seconds(60), once=prune.orgs, batch=prune.BATCH),
        Chore(name="dedupe key pruner", every=_seconds(60), once=prune.dedupe_keys, batch=prune.BATCH),
        Chore(name="idempotency key pruner", every=_seconds(60), once=idempotency.prune, batch=idempotency.BATCH),
        Chore(name="partition maker", every=_seconds(3600), once=prune.partitions),
        Chore(name="minute counter", every=_seconds(10), once=minutes.once, told=True),
        Chore(name="minute pruner", every=_seconds(3600), once=minutes.prune, batch=minutes.BATCH),
        Chore(name="audit sealer", every=_seconds(5), once=audit.seal, batch=audit.BATCH, told=True),
        Chore(name="job scheduler", every=_seconds(0.16), once=scheduler.once, batch=scheduler.BATCH, told=True),
        Chore(
            name="backfiller",
            every=_seconds(5),
            once=backfill.Backfiller().once,
            batch=backfill.BATCH,
            told=True,
        ),
        Chore(name="execution pruner", every=_seconds(60), once=forgetting.Executions().once, batch=forgetting.BATCH),
        Chore(name="job pruner", every=_seconds(300), once=forgetting.jobs(retention), batch=forgetting.BATCH),
        Chore(name="session sweeper", every=_seconds(15), once=sessions.sweep, told=True),
        Chore(name="login pruner", every=_seconds(3600), once=logins.prune, batch=logins.BATCH),
        Chore(name="bucket sweeper", every=_seconds(300), once=rates.forget, batch=rates.BATCH),
        Chore(name="outbox", every=_seconds(2), once=sender.once, then=sender.send, batch=outbox.BATCH, told=True),
        Chore(name="outbox pruner", every=_seconds(300), once=outbox.prune, batch=outbox.BATCH),
        Chore(name="run sweeper", every=_seconds(2), once=runs.sweep, batch=runs.BATCH, told=True),
        Chore(name="run starter", every=_seconds(1), once=runs.admit, batch=runs.BATCH, told=True),
        Chore(name="workflow waker", every=_seconds(2), once=workflows.sweep, batch=workflows.BATCH, told=True),
        Chore(name="run deadlines", every=_seconds(1), once=runs.deadlines, batch=runs.BATCH, told=True),
        Chore(
            name="forsaken runs",
            every=_seconds(5),
            peek=awaiting.any_forsaken,
            once=awaiting.cancel_forsaken,
            batch=awaiting.BATCH,
        ),
        Chore(
            name="standstill",
            every=standstill.EVERY,
            peek=still.peek,
            once=still.once,
            batch=standstill.BATCH,
            steady=True,  # a page of what stands still is seen to at once, the next one is looked at in its turn
        ),
        Chore(name="run pruner", every=_seconds(60), once=runs.pruning(retention), batch=runs.BATCH),
        *more,
    ]
    if retention is not None:
        table.append(Chore(name="history pruner", every=_seconds(3600), once=_dropping(retention)))
    return table


def _dropping(older: dt.timedelta) -> Callable[[Tx], Awaitable[int]]:
    async def drop(tx: Tx) -> int:
        return len(await prune.history(tx, older=older))

    return drop


def _seconds(count: float) -> dt.timedelta:
    return dt.timedelta(seconds=count)
