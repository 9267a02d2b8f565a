"""Rescue: attempts whose worker is gone, whose lease ran out, or who were asked to end and did not.

A loss is not a failure: it uses up no attempt, but three of them end the task, so that one which kills its workers
cannot go on for ever. Every function is `once`: a bounded batch in the caller's transaction, answers how many.
"""

import datetime as dt
import uuid
from collections.abc import Sequence
from typing import Literal

from weft.base import json
from weft.db.tx import Tx
from weft.flows import advance, workflows
from weft.queue import finish, orphans
from weft.settle.outcome import Held, Outcome
from weft.settle.settle import Settled, settle

BATCH = 1000
CANCEL_GRACE = dt.timedelta(seconds=30)
"""How long after a cancellation a running task is ended by force, although its worker still beats."""

STIRS = orphans.stirs(cancel_grace=CANCEL_GRACE)


async def nodes(tx: Tx, ids: Sequence[str]) -> int:
    """Takes the tasks of dead nodes away from them."""
    if not ids:
        return 0
    return await _end(tx, await orphans.of_nodes(tx, nodes=ids, take=BATCH), how="lost", why="its worker died")


async def left(tx: Tx, ids: Sequence[str]) -> list[str]:
    """Dead nodes of which something could not be taken yet."""
    return await orphans.left(tx, nodes=ids) if ids else []


async def leases(tx: Tx) -> int:
    """Takes tasks of HTTP workers whose own lease ran out."""
    return await _end(tx, await orphans.past_lease(tx, take=BATCH), how="lost", why="its lease ran out")


async def strays(tx: Tx) -> int:
    """Takes tasks that run on a node nobody knows."""
    older = dt.timedelta(seconds=15)
    return await _end(tx, await orphans.of_nobody(tx, older=older, take=BATCH), how="lost", why="its worker is unknown")


async def unanswered(tx: Tx, *, tokens: Sequence[str]) -> int:
    """Gives back what claims took whose answer never arrived. No loss: nobody ever began it."""
    held = await orphans.held(tx, ids=await orphans.of_claims(tx, tokens=tokens))
    await settle(tx, [Outcome(Held(*row), "released") for row in held])
    return len(held)


async def cancelled(tx: Tx) -> int:
    """Ends what was asked to end: queued tasks at once, running ones after the grace time."""
    queued = await cancel(tx, ids=await orphans.cancelled(tx, take=BATCH))
    stubborn = await orphans.past_cancel(tx, grace=CANCEL_GRACE, take=BATCH)
    return len(queued) + await _end(tx, stubborn, how="cancelled", why="it did not end when asked to")


async def cancel(tx: Tx, *, ids: Sequence[str]) -> list[str]:
    """Ends queued tasks and lets the next of their concurrency keys in; answers the ids that were ended."""
    if not ids:
        return []
    gone = await finish.cancel_queued(tx, ids)
    if gone:
        await workflows.abandon(tx, gone)
    if runs := sorted({one.run for one in gone if one.run is not None}):
        await advance.advance(tx, runs)
    if keys := sorted({(one.org, one.key) for one in gone if one.key is not None}):
        queues = await finish.unblock(tx, keys)
        await orphans.wake(tx, queues=sorted(set(queues)))
    return [one.id for one in gone]


async def cancel_one(tx: Tx, *, id: uuid.UUID, org: uuid.UUID) -> str:
    """Ends a queued task at once, tells a running one. Answers as `weft.cancel` does."""
    answer = await orphans.ask_to_cancel(tx, id=id, org=org)
    if answer == "cancelled":
        await cancel(tx, ids=[str(id)])
    return answer


async def _end(tx: Tx, ids: Sequence[str], *, how: Literal["lost", "cancelled"], why: str) -> int:
    if not ids:
        return 0
    error = json.text({"type": "Lost" if how == "lost" else "Cancelled", "message": why}, what="error")
    held = await orphans.held(tx, ids=ids)
    outcomes = [Outcome(Held(*row), how, error=error) for row in held]
    settled: Settled = await settle(tx, outcomes)
    if settled.wake:
        await orphans.wake(tx, queues=settled.wake)
    return len(outcomes)
