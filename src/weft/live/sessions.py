"""Sessions and subscriptions as rows: written by a server for all its sockets at once, swept when nobody holds them."""

import datetime as dt
import uuid
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from weft.db import statements
from weft.db.statements import Part
from weft.db.tx import Tx

SQL = statements.load("weft.live")

Status = Literal["connecting", "connected", "reconnecting", "disconnected"]
"""`connecting` is only seed 003's word: a row is made when the socket is open."""

SEEN = dt.timedelta(seconds=10)
"""How often a server says that it still has its sockets."""
UNSEEN = dt.timedelta(seconds=45)
"""After which a session is taken for an orphan."""
PATIENCE = dt.timedelta(minutes=2)
"""How long a session whose socket broke may come back."""
KEPT = dt.timedelta(hours=1)
BATCH = 1000

STIRS = Part(SQL.stirs, {"unseen": UNSEEN, "patience": PATIENCE, "kept": KEPT})


class New(NamedTuple):
    """A session to write."""

    id: uuid.UUID
    org: uuid.UUID
    actor: str


class Subscribed(NamedTuple):
    """A subscription to write."""

    id: uuid.UUID
    session: uuid.UUID
    name: str
    hash: str
    args: str


async def resumable(tx: Tx, id: uuid.UUID, *, org: uuid.UUID, actor: str) -> bool:
    """Whether this session is theirs to take up again."""
    return await tx.value(SQL.resumable, {"id": id, "org_id": org, "actor": actor}) is not None


async def open(tx: Tx, made: Sequence[New], *, node: uuid.UUID) -> None:
    """Writes sessions, or takes over those that come back; what they watched before is forgotten."""
    ids = [one.id for one in made]
    await tx.run(
        SQL.open_sessions,
        {"ids": ids, "orgs": [one.org for one in made], "actors": [one.actor for one in made], "node_id": node},
    )
    await tx.run(SQL.clear_subscriptions, {"sessions": ids})


async def end(tx: Tx, ended: Mapping[uuid.UUID, Status], *, node: uuid.UUID) -> None:
    """A session that left is over; of one whose socket broke the subscriptions stay, for it may come back."""
    await tx.run(SQL.end_sessions, {"ids": list(ended), "statuses": list(ended.values()), "node_id": node})
    if over := [id for id, status in ended.items() if status == "disconnected"]:
        await tx.run(SQL.clear_subscriptions, {"sessions": over})


async def seen(tx: Tx, silent: Mapping[uuid.UUID, dt.timedelta], *, node: uuid.UUID) -> None:
    """The sockets a server has, and for how long each has said nothing."""
    await tx.run(SQL.see_sessions, {"ids": list(silent), "silent": list(silent.values()), "node_id": node})


async def subscribe(tx: Tx, made: Sequence[Subscribed]) -> None:
    await tx.run(
        SQL.insert_subscriptions,
        {
            "ids": [one.id for one in made], "sessions": [one.session for one in made],
            "names": [one.name for one in made], "hashes": [one.hash for one in made], "args": [one.args for one in made],
        },
    )  # fmt: skip


async def unsubscribe(tx: Tx, ids: Sequence[uuid.UUID]) -> None:
    await tx.run(SQL.delete_subscriptions, {"ids": list(ids)})


async def sweep(tx: Tx, *, take: int = BATCH) -> int:
    """Orphans, then those that did not come back, then those that left long ago; answers how many rows changed."""
    orphans = await tx.run(SQL.orphan_sessions, {"unseen": UNSEEN, "take": take})
    given_up = int(await tx.value(SQL.give_up_sessions, {"patience": PATIENCE, "take": take}))
    return orphans + given_up + await tx.run(SQL.forget_sessions, {"kept": KEPT, "take": take})
