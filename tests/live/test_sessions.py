"""Sessions as rows: who comes back takes up their own, and orphans are swept."""

import datetime as dt
import uuid
from typing import Any

import hands
from weft.base import ids
from weft.db.tx import Tx
from weft.live import sessions
from weft.live.sessions import New, Subscribed

NODE, OTHER = uuid.uuid4(), uuid.uuid4()


async def rows(tx: Tx) -> dict[Any, str]:
    return {id: status for id, status in await tx.rows("select id, status from weft.live_sessions")}


async def watched(tx: Tx) -> int:
    return int(await tx.value("select count(*) from weft.live_subscriptions"))


async def opened(tx: Tx, *, node: uuid.UUID = NODE) -> uuid.UUID:
    id = uuid.uuid4()
    await sessions.open(tx, [New(id, ids.DEFAULT_ORG, "key:ada")], node=node)
    await sessions.subscribe(tx, [Subscribed(uuid.uuid4(), id, "counts", "h", "{}")])
    return id


async def aged(tx: Tx, by: dt.timedelta) -> None:
    await tx.run("update weft.live_sessions set seen_at = seen_at - %(by)s::interval", {"by": by})


async def test_a_session_that_leaves_is_over_and_one_that_breaks_may_come_back(tx: Tx) -> None:
    left, broke = await opened(tx), await opened(tx)
    await sessions.end(tx, {left: "disconnected", broke: "reconnecting"}, node=NODE)
    assert await rows(tx) == {left: "disconnected", broke: "reconnecting"} and await watched(tx) == 1
    assert await sessions.resumable(tx, broke, org=ids.DEFAULT_ORG, actor="key:ada")
    await sessions.open(tx, [New(broke, ids.DEFAULT_ORG, "key:ada")], node=OTHER)
    assert (await rows(tx))[broke] == "connected" and await watched(tx) == 0
    # the server it had before does not know yet, and ends nothing
    await sessions.end(tx, {broke: "disconnected"}, node=NODE)
    assert (await rows(tx))[broke] == "connected"


async def test_a_session_is_taken_up_by_its_own_only(tx: Tx) -> None:
    mine = await opened(tx)
    other = await hands.new_org(tx, "other")
    assert not await sessions.resumable(tx, mine, org=other, actor="key:ada")
    assert not await sessions.resumable(tx, mine, org=ids.DEFAULT_ORG, actor="key:bob")
    await sessions.open(tx, [New(mine, other, "key:ada")], node=OTHER)
    assert await tx.row("select org_id, node_id from weft.live_sessions") == (ids.DEFAULT_ORG, NODE)


async def test_orphans_are_swept_in_time_and_the_living_are_not(tx: Tx) -> None:
    orphan = await opened(tx)
    await aged(tx, sessions.UNSEEN + dt.timedelta(seconds=1))
    alive = await opened(tx)
    assert await sessions.sweep(tx) == 1
    assert await rows(tx) == {orphan: "reconnecting", alive: "connected"}
    await tx.run(
        "update weft.live_sessions set seen_at = seen_at - %(by)s::interval where id = %(id)s",
        {"by": sessions.PATIENCE + dt.timedelta(seconds=1), "id": orphan},
    )
    assert await sessions.sweep(tx) == 1
    assert await rows(tx) == {orphan: "disconnected", alive: "connected"} and await watched(tx) == 1
    await aged(tx, sessions.KEPT + dt.timedelta(seconds=1))
    await sessions.seen(tx, {alive: dt.timedelta(seconds=3)}, node=NODE)
    assert await sessions.sweep(tx) == 1
    assert await rows(tx) == {alive: "connected"} and await sessions.sweep(tx) == 0
