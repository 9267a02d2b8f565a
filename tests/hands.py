"""What tests do with the queue, in a word each: put, claim, end, look. Everything goes through Weft's own doors."""

import uuid
from collections.abc import Sequence
from typing import Any

from weft.base import ids
from weft.contrib.aiopslab import chores as aiopslab
from weft.db import statements
from weft.db.tx import Tx
from weft.queue import claim, enqueue, lanes, limits, new, tasks
from weft.queue.lanes import Take
from weft.queue.model import Claimed, TaskView
from weft.settle import outcome, settle
from weft.settle.settle import Settled
from weft.upkeep import sight

ORG = ids.DEFAULT_ORG
NODE = "11111111-1111-4111-8111-111111111111"


async def put(tx: Tx, kind: str = "mail", payload: dict[str, Any] | None = None, **options: Any) -> str:
    """Enqueues as `app.enqueue` does; answers the id."""
    arguments = new.arguments(kind, payload or {}, declared=None, options=options)  # type: ignore[arg-type]
    return str((await enqueue.one(tx, arguments)).id)


async def put_many(tx: Tx, count: int, kind: str = "mail", **options: Any) -> list[str]:
    common = new.common(kind, declared=None, options=options)  # type: ignore[arg-type]
    pieces = enqueue.chunks([{"n": n} for n in range(count)], dedupe_keys=None)
    return [str(one.id) for one in await enqueue.many(tx, common, pieces=pieces)]


async def new_org(tx: Tx, slug: str, *, weight: int = 1, max_concurrent: int | None = None) -> uuid.UUID:
    return uuid.UUID(str(await tx.value(
        "insert into weft.orgs (name, slug, weight, max_concurrent) "
        "values (%(slug)s, %(slug)s, %(weight)s, %(max)s) returning id",
        {"slug": slug, "weight": weight, "max": max_concurrent},
    )))  # fmt: skip


async def served(tx: Tx, *, queues: Sequence[str] = (), capabilities: Sequence[str] = ()) -> list[lanes.Lane]:
    """The lanes with work that a worker of these queues and capabilities may claim from."""
    return lanes.served(await claim.lanes(tx), queues=frozenset(queues), capabilities=frozenset(capabilities))


async def claim_plain(
    tx: Tx, want: int = 100, *, queues: Sequence[str] = (), capabilities: Sequence[str] = (),
    kinds: Sequence[str] = ("mail",), node: str = NODE,
) -> list[Claimed]:  # fmt: skip
    """The fast path of a worker: every unlimited lane it serves, each asked for its share."""
    mine = [lane for lane in await served(tx, queues=queues, capabilities=capabilities) if lane.plain and not lane.limited]
    shares = lanes.shares([lane.weight for lane in mine], want=want)
    takes = [Take(lane, share) for lane, share in zip(mine, shares, strict=True)]
    return await claim.plain(tx, node_id=node, token=str(ids.token()), kinds=list(kinds), takes=takes) if takes else []


async def claim_special(
    tx: Tx, want: int = 100, *, queues: Sequence[str] = (), capabilities: Sequence[str] = (),
    kinds: Sequence[str] = ("mail",), node: str = NODE, turn: int = 0, suspects: int = 1, crowded: bool = True,
) -> list[Claimed]:  # fmt: skip
    """The careful path: limited lanes, keys, suspects."""
    mine = await served(tx, queues=queues, capabilities=capabilities)
    special = [lane for lane in mine if not lane.plain or lane.limited]
    taken = await limits.claim(
        tx, node_id=node, token=str(ids.token()), kinds=list(kinds), lanes=special, want=want, turn=turn,
        suspects=suspects, crowded=crowded,
    )  # fmt: skip
    return taken.tasks


async def claim_one(tx: Tx, **options: Any) -> Claimed:
    """The one task there is to claim, whichever way."""
    [task] = await claim_plain(tx, **options) + await claim_special(tx, **options)
    return task


async def end(tx: Tx, held: Sequence[Claimed], how: outcome.How = "completed", **facts: Any) -> Settled:
    return await settle.settle(tx, [outcome.Outcome(task, how, **facts) for task in held])


async def look(tx: Tx, id: str, *, org: uuid.UUID = ORG) -> TaskView:
    return await tasks.get(tx, id=uuid.UUID(id), org=org)


async def states(tx: Tx, identifiers: Sequence[str]) -> list[str]:
    return [(await look(tx, id)).state for id in identifiers]


async def make_due(tx: Tx, *identifiers: str) -> None:
    """Time passes, for these tasks."""
    await tx.run(
        "update weft.tasks set run_at = weft.now() - interval '1 second' where id = any(%(ids)s::uuid[])",
        {"ids": list(identifiers)},
    )


async def count(tx: Tx, table: str = "tasks") -> int:
    return int(await tx.value(f"select count(*) from weft.{table}"))


async def lead(tx: Tx) -> None:
    """As if somebody led the scheduler, today and tomorrow."""
    await tx.run(
        "insert into weft.leaders (role, node_id, term, lease_until) "
        "values ('scheduler', %(node)s, 1, now() + interval '2 days') "
        "on conflict (role) do update set term = 1, lease_until = excluded.lease_until",
        {"node": NODE},
    )


async def stirs(tx: Tx, *, calm: bool = False) -> dict[str, float]:
    """Which chores the leader would see something for, and in how many seconds."""
    return await sight.look(tx, statements.union([*sight.PARTS, aiopslab.STIRS]), node_id=NODE, calm=calm)
