"""Upkeep as a whole: the leader's chores run, nobody else's do."""

import asyncio
import datetime as dt

import pytest

from weft.base import config
from weft.cluster import nodes
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.upkeep import table
from weft.upkeep.upkeep import Upkeep


def a_pulse(database: Database) -> Pulse:
    return Pulse(database, node=nodes.here(version="test", roles=["scheduler"]))


def chores() -> "set[asyncio.Task[object]]":
    names = {f"weft {chore.name}" for chore in table.chores(node_id="", retention=None)}
    return {task for task in asyncio.all_tasks() if task.get_name() in names}


@pytest.mark.parametrize("name", [one.name for one in table.chores(node_id="", retention=dt.timedelta(days=1))])
async def test_every_chore_runs_on_an_empty_database(database: Database, name: str) -> None:
    [chore] = [one for one in table.chores(node_id="", retention=dt.timedelta(days=1)) if one.name == name]
    async with database.tx() as tx:
        assert chore.peek is None or await chore.peek(tx) is False
        assert await chore.once(tx) == 0


async def test_the_leader_does_the_chores_until_it_stops(database: Database) -> None:
    listener = await database.reserve()
    await listener.execute("listen weft_changes")
    pulse = a_pulse(database)
    await pulse.start()
    upkeep = asyncio.create_task(Upkeep(database, pulse).run())
    async with database.once() as tx:
        await tx.run("insert into weft.change_inbox (table_name, op, ids) values ('t', 'INSERT', '{}')")
    notes = [note async for note in listener.notifies(timeout=5, stop_after=1)]
    assert [note.channel for note in notes] == ["weft_changes"]
    running = chores()
    assert running
    await pulse.stop()
    await asyncio.wait_for(asyncio.wait(running), 5)
    assert not chores()
    upkeep.cancel()
    await listener.close()


async def test_the_lost_are_given_up_although_every_connection_is_taken(database_url: str) -> None:
    database = Database(config.Settings(database_url=database_url, pool_size=1))
    pulse = a_pulse(database)
    lost = nodes.here(version="test", lease=dt.timedelta(milliseconds=1))
    watcher = await database.reserve()
    async with database.once() as tx:
        await nodes.register(tx, node=lost, liveness=None)
    await pulse.start()
    async with database.once():
        upkeep = asyncio.create_task(Upkeep(database, pulse).run())
        async with asyncio.timeout(20):
            given_up = False
            while not given_up:
                found = await (await watcher.execute("select status from weft.nodes where id = %s", (lost.id,))).fetchone()
                given_up = found == ("dead",)
    await pulse.stop()
    upkeep.cancel()
    await watcher.close()
    await database.close()


async def test_told_to_end_while_it_ends_it_leaves_no_connection_open(database: Database) -> None:
    def pools() -> "set[asyncio.Task[object]]":
        return {task for task in asyncio.all_tasks() if task.get_name().startswith("pool-")}

    before = pools()
    pulse = a_pulse(database)
    await pulse.start()
    upkeep = asyncio.create_task(Upkeep(database, pulse).run())
    async with asyncio.timeout(20):
        while not pools() - before:  # liveness has a pool of its own
            await asyncio.sleep(0)
    upkeep.cancel()
    await asyncio.sleep(0)
    upkeep.cancel()
    await asyncio.wait([upkeep], timeout=20)
    assert upkeep.cancelled()
    await pulse.stop()
    assert pools() == before


async def test_a_standby_does_no_chores(database: Database) -> None:
    leader, standby = a_pulse(database), a_pulse(database)
    await leader.start()
    await standby.start()
    upkeep = asyncio.create_task(Upkeep(database, standby).run())
    heard = asyncio.Event()
    standby.on_beat.append(lambda _: heard.set())
    await asyncio.wait_for(heard.wait(), 5)
    assert not chores()
    await leader.stop()
    assert await asyncio.wait_for(standby.elected(), 1) == 2
    await standby.stop()
    upkeep.cancel()
