"""Nodes: beats, and the signs of their absence."""

import asyncio
import datetime as dt

from weft.cluster import nodes
from weft.cluster.model import BeatAnswer, Node, Sign, Vitals
from weft.db.database import Database
from weft.db.tx import Tx

AT_ONCE = dt.timedelta()


async def registered(tx: Tx, *, liveness: int | None = None) -> Node:
    node = nodes.here(version="test", roles=["worker"], queues=["mail"], handlers=["send"])
    await nodes.register(tx, node=node, liveness=liveness)
    await nodes.beat(tx, node_id=node.id, vitals=Vitals())
    return node


async def sign_of(tx: Tx, node: Node, *, quiet: dt.timedelta = AT_ONCE) -> Sign:
    [sign] = [sign for sign in await nodes.look(tx, quiet=quiet) if sign.id == node.id]
    return sign


async def overdue(tx: Tx, node: Node) -> None:
    await tx.run("update weft.nodes set beat_at = weft.now() - lease * 2 where id = %(id)s", {"id": node.id})


async def status(tx: Tx, node: Node) -> str:
    return {one.node.id: one.status for one in await nodes.known(tx)}[node.id]


async def test_a_beat_answers_what_the_node_was_before(tx: Tx) -> None:
    node = nodes.here(version="test")
    assert await nodes.register(tx, node=node, liveness=None) == "starting"
    assert (await nodes.beat(tx, node_id=node.id, vitals=Vitals())).previous == "starting"
    answer = await nodes.beat(tx, node_id=node.id, vitals=Vitals())
    assert answer.previous == "active" and not answer.revived


async def test_a_beat_answers_whether_another_node_works(tx: Tx) -> None:
    node = await registered(tx)
    server = nodes.here(version="test", roles=["gateway"])
    await nodes.register(tx, node=server, liveness=None)
    assert (await nodes.beat(tx, node_id=node.id, vitals=Vitals())).alone
    other = await registered(tx)
    assert not (await nodes.beat(tx, node_id=node.id, vitals=Vitals())).alone
    await nodes.retire(tx, node_id=other.id)
    assert (await nodes.beat(tx, node_id=node.id, vitals=Vitals())).alone


async def test_a_beat_of_an_unknown_node_says_so(tx: Tx) -> None:
    answer = await nodes.beat(tx, node_id=nodes.here(version="test").id, vitals=Vitals())
    assert answer.previous is None and answer.revived


async def test_a_beat_without_vitals_leaves_what_is_stored(tx: Tx) -> None:
    node = await registered(tx)
    await nodes.beat(tx, node_id=node.id, vitals=Vitals(asleep=True, handled={"send": [3, 0]}))
    await nodes.beat(tx, node_id=node.id, vitals=Vitals())
    [stored] = await nodes.known(tx)
    assert stored.asleep and stored.handled == {"send": [3, 0]}
    await nodes.sleep(tx, node_id=node.id, asleep=False)
    [stored] = await nodes.known(tx)
    assert not stored.asleep


async def test_registering_again_keeps_the_status(tx: Tx) -> None:
    node = await registered(tx)
    await tx.run("update weft.nodes set status = 'dead'")
    assert await nodes.register(tx, node=node, liveness=5) == "dead"
    assert (await nodes.beat(tx, node_id=node.id, vitals=Vitals())).revived


async def test_a_node_is_absent_when_its_session_is_gone_and_not_before(database: Database) -> None:
    session = await database.reserve()
    key = await nodes.open_session(Tx(session), lease=dt.timedelta(minutes=1))
    async with database.tx() as tx:
        node = await registered(tx, liveness=key)
        assert await sign_of(tx, node) == Sign(id=node.id, overdue=False, absent=None, watched=True)
    pid = session.info.backend_pid
    await session.close()
    # each look by itself: who is there is read once per transaction, and one that saw it would see it for ever
    while True:
        async with database.once() as tx:
            if not await tx.value("select true from pg_stat_activity where pid = %(pid)s", {"pid": pid}):
                break
    async with database.tx() as tx:
        assert await sign_of(tx, node) == Sign(id=node.id, overdue=False, absent=key, watched=True)


async def test_absence_means_nothing_soon_after_the_server_started(tx: Tx) -> None:
    node = await registered(tx, liveness=1)
    assert (await sign_of(tx, node, quiet=dt.timedelta(days=36500))).absent is None


async def test_a_node_without_a_lock_is_never_absent_but_may_be_overdue(tx: Tx) -> None:
    node = await registered(tx)
    await overdue(tx, node)
    assert await sign_of(tx, node) == Sign(id=node.id, overdue=True, absent=None, watched=False)


async def test_a_lock_of_another_database_keeps_nobody_alive(database: Database) -> None:
    async with database.tx() as tx:
        node = await registered(tx, liveness=77)
        session = await database.reserve()
        # the same key in another space: one number instead of two
        await session.execute("select pg_advisory_lock(77)")
        assert (await sign_of(tx, node)).absent == 77
        await session.close()


async def test_giving_up_passes_over_who_came_back(tx: Tx) -> None:
    reconnected, beaten, absent, late = [await registered(tx, liveness=key) for key in (1, 2, 3, 4)]
    await overdue(tx, late)
    lost = [
        Sign(id=reconnected.id, overdue=False, absent=9, watched=True),
        Sign(id=beaten.id, overdue=True, absent=None, watched=True),
        Sign(id=absent.id, overdue=False, absent=3, watched=True),
        Sign(id=late.id, overdue=True, absent=None, watched=True),
    ]
    assert set(await nodes.mark_dead(tx, lost=lost)) == {absent.id, late.id}
    assert await status(tx, reconnected) == await status(tx, beaten) == "active"
    # again, for the next batch of their tasks
    assert set(await nodes.mark_dead(tx, lost=lost)) == {absent.id, late.id}


async def test_a_node_whose_row_somebody_holds_keeps_no_other_from_being_given_up(database: Database) -> None:
    async with database.tx() as tx:
        held, free = [await registered(tx) for _ in range(2)]
        await overdue(tx, held)
        await overdue(tx, free)
    lost = [Sign(id=node.id, overdue=True, absent=None, watched=False) for node in (held, free)]
    async with database.tx() as holder:
        await holder.run("select from weft.nodes where id = %(id)s for update", {"id": held.id})
        async with database.tx() as tx:
            assert await nodes.mark_dead(tx, lost=lost) == [free.id]
    async with database.tx() as tx:
        assert set(await nodes.mark_dead(tx, lost=lost)) == {held.id, free.id}


async def test_a_beat_during_a_rescue_waits_for_it_and_learns_of_it(database: Database) -> None:
    async with database.tx() as tx:
        node = await registered(tx)
        await overdue(tx, node)

    async def beat() -> BeatAnswer:
        async with database.tx() as tx:
            return await nodes.beat(tx, node_id=node.id, vitals=Vitals())

    async with database.tx() as rescue:
        lost = [Sign(id=node.id, overdue=True, absent=None, watched=False)]
        assert await nodes.mark_dead(rescue, lost=lost) == [node.id]
        beating = asyncio.create_task(beat())
        async with database.once() as tx, asyncio.timeout(5):
            while not await tx.value("select true from pg_locks where not granted and locktype = 'transactionid'"):
                pass
    assert (await asyncio.wait_for(beating, 5)).revived
    async with database.tx() as tx:
        assert await status(tx, node) == "active"


async def test_the_dead_are_forgotten_after_a_week(tx: Tx) -> None:
    old, new = await registered(tx), await registered(tx)
    await tx.run("update weft.nodes set status = 'dead'")
    await tx.run("update weft.nodes set beat_at = weft.now() - interval '8 days' where id = %(id)s", {"id": old.id})
    assert await nodes.sweep(tx) == 1
    assert [one.node.id for one in await nodes.known(tx)] == [new.id]
