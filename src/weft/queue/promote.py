"""Letting work into the claim index: what has become due, and what was blocked and has room."""

from weft.db import statements
from weft.db.tx import Tx
from weft.queue import finish, orphans

SQL = statements.load("weft.queue")

BATCH = 1000


async def once(tx: Tx) -> int:
    """Makes due tasks ready and wakes the workers of their queues."""
    ready = await tx.rows(SQL.promote, {"take": BATCH})
    if ready:
        await orphans.wake(tx, queues=[queue for queue, _ in ready])
    return sum(count for _, count in ready)


async def unblock(tx: Tx) -> int:
    """Sweeps keys that have blocked work and room: an enqueue that saw a runner which ended meanwhile waits here."""
    keys = [(org, key) for org, key in await tx.rows(SQL.keys_with_room)]
    if not keys:
        return 0
    queues = await finish.unblock(tx, keys)
    if queues:
        await orphans.wake(tx, queues=sorted(set(queues)))
    return len(queues)
