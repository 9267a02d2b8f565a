"""One pulse per node: it beats, it leads, and it comes back."""

import asyncio
import contextlib
import datetime as dt
import sys
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from weft.base import errors, ids
from weft.cluster import leaders, nodes
from weft.cluster.model import BeatAnswer, KnownNode, Node, Vitals
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.db.notify import Hub

PROCESS = Path(__file__).parent / "process.py"
NEVER = dt.timedelta(minutes=5)
SOON = dt.timedelta(seconds=0.05)


def a_node(*, roles: Sequence[str] = ("scheduler",), lease: dt.timedelta = dt.timedelta(seconds=10)) -> Node:
    return nodes.here(version="test", roles=roles, lease=lease)


@contextlib.asynccontextmanager
async def beating(
    database: Database, *, node: Node | None = None, every: dt.timedelta = SOON, hub: Hub | None = None
) -> AsyncIterator[Pulse]:  # fmt: skip
    pulse = Pulse(database, node=node or a_node(), every=every, hub=hub)
    await pulse.start()
    try:
        yield pulse
    finally:
        await pulse.stop()


@contextlib.asynccontextmanager
async def hearing(database: Database) -> AsyncIterator[Hub]:
    hub, heard = Hub(database), asyncio.Event()
    hub.add("weft_leader", lambda _payload: heard.set())
    running = asyncio.create_task(hub.run())
    try:
        await asyncio.wait_for(heard.wait(), 5)
        yield hub
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def answers(pulse: Pulse) -> "asyncio.Queue[BeatAnswer]":
    heard: asyncio.Queue[BeatAnswer] = asyncio.Queue()
    pulse.on_beat.append(heard.put_nowait)
    return heard


async def known(database: Database) -> dict[str, KnownNode]:
    async with database.once() as tx:
        return {one.node.id: one for one in await nodes.known(tx)}


async def liveness(database: Database, pulse: Pulse) -> int:
    async with database.once() as tx:
        key: int = await tx.value("select liveness from weft.nodes where id = %(id)s", {"id": pulse.node.id})
        return key


async def end_session(database: Database, pulse: Pulse) -> None:
    """What a crash looks like to the server: the session is gone."""
    ended = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = %(key)s::oid"
    key = await liveness(database, pulse)
    async with database.once() as tx:
        # only the role that logged in may end its sessions
        await tx.connection.execute("set role none")
        assert await tx.value(ended, {"key": key})
        await tx.connection.execute("set role weft_engine")


async def test_a_started_node_is_active(database: Database) -> None:
    async with beating(database) as pulse:
        mine = (await known(database))[pulse.node.id]
        assert mine.status == "active"
        assert mine.node == pulse.node
        assert time.monotonic() - pulse.last_beat < 10


async def test_of_two_candidates_one_leads(database: Database) -> None:
    async with beating(database) as first, beating(database) as second:
        heard = answers(second)
        for _ in range(3):
            await asyncio.wait_for(heard.get(), 5)
        assert first.leading and first.term == 1
        assert not second.leading and second.term is None


async def test_a_node_without_the_role_never_leads(database: Database) -> None:
    async with beating(database, node=a_node(roles=["worker"])) as pulse:
        heard = answers(pulse)
        for _ in range(3):
            await asyncio.wait_for(heard.get(), 5)
        assert not pulse.leading


async def test_a_leader_that_is_killed_is_followed_by_the_standby_within_three_seconds(database: Database) -> None:
    leader = await asyncio.create_subprocess_exec(
        sys.executable, str(PROCESS), await database.url(), "scheduler", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert leader.stdout is not None
        said = await asyncio.wait_for(leader.stdout.readline(), 20)
        assert said.split()[1] == b"True"
        async with beating(database, every=dt.timedelta(seconds=2)) as standby:
            assert not standby.leading
            leader.kill()
            assert await asyncio.wait_for(standby.elected(), 3) == 2
    finally:
        with contextlib.suppress(ProcessLookupError):
            leader.kill()
        await leader.wait()


async def test_a_leader_whose_connection_broke_notices_and_its_term_is_over(database: Database) -> None:
    async with beating(database, every=NEVER) as first, beating(database) as second:
        await end_session(database, first)
        await asyncio.wait_for(first.deposed(), 1)
        # whoever is quicker, the old leader with its new connection included
        elections = [asyncio.create_task(pulse.elected()) for pulse in (first, second)]
        done, pending = await asyncio.wait(elections, timeout=3, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [2]
        assert first.leading != second.leading
        for task in pending:
            task.cancel()
        with pytest.raises(errors.Conflict):
            async with database.tx() as tx:
                await leaders.fence(tx, role=leaders.SCHEDULER, term=1)


async def test_a_clean_stop_hands_over_at_once_by_notification(database: Database) -> None:
    lease = dt.timedelta(minutes=20)
    async with beating(database, node=a_node(lease=lease), every=NEVER) as standby_to_be:
        assert standby_to_be.leading
        hearer, candidate = hearing(database), a_node(lease=lease)
        async with hearer as hub, beating(database, node=candidate, every=NEVER, hub=hub) as standby:
            assert not standby.leading
            started = time.monotonic()
            await standby_to_be.stop()
            assert await asyncio.wait_for(standby.elected(), 5) == 2
            assert time.monotonic() - started < 0.5
            assert standby_to_be.node.id not in await known(database)


async def test_a_broken_connection_is_noticed_at_once_and_made_anew(database: Database) -> None:
    async with beating(database, node=a_node(roles=["worker"]), every=NEVER) as pulse:
        old = await liveness(database, pulse)
        heard = answers(pulse)
        await end_session(database, pulse)
        answer = await asyncio.wait_for(heard.get(), 5)
        assert answer.previous == "active" and not answer.revived
        assert await liveness(database, pulse) != old
        async with database.once() as tx:
            assert all(sign.absent is None for sign in await nodes.look(tx, quiet=dt.timedelta()))


async def test_a_node_that_was_given_up_learns_it_and_is_active_again(database: Database) -> None:
    async with beating(database) as pulse:
        heard = answers(pulse)
        async with database.once() as tx:
            await tx.run("update weft.nodes set status = 'dead'")
        async with asyncio.timeout(5):
            while not (await heard.get()).revived:
                pass
        assert not (await asyncio.wait_for(heard.get(), 5)).revived
        assert (await known(database))[pulse.node.id].status == "active"


async def test_a_node_that_was_forgotten_registers_again_and_learns_it(database: Database) -> None:
    async with beating(database) as pulse:
        heard = answers(pulse)
        async with database.once() as tx:
            await tx.run("delete from weft.nodes")
        async with asyncio.timeout(5):
            while not (await heard.get()).revived:
                pass
        assert pulse.node.id in await known(database)


async def test_a_beat_that_hangs_costs_leadership(database: Database) -> None:
    async with beating(database, node=a_node(lease=dt.timedelta(seconds=3))) as pulse:
        assert pulse.leading
        async with database.tx() as tx:
            await tx.run("select from weft.nodes for update")
            await asyncio.wait_for(pulse.deposed(), 4)
        assert await asyncio.wait_for(pulse.elected(), 10) == 2


async def test_a_leader_whose_term_was_taken_steps_back_and_may_be_elected_again(database: Database) -> None:
    async with beating(database) as pulse:
        async with database.once() as tx:
            await tx.run("update weft.leaders set term = 7")
        await asyncio.wait_for(pulse.deposed(), 3)
        assert await asyncio.wait_for(pulse.elected(), 3) == 8


async def test_a_draining_node_shows_it(database: Database) -> None:
    async with beating(database, node=a_node(roles=["worker"]), every=NEVER) as pulse:
        heard = answers(pulse)
        pulse.drain()
        await asyncio.wait_for(heard.get(), 5)
        assert (await known(database))[pulse.node.id].status == "draining"


async def test_a_node_that_is_told_to_drain_hears_it_and_stays_so(database: Database) -> None:
    async with beating(database, node=a_node(roles=["worker"])) as pulse:
        heard = answers(pulse)
        async with database.once() as tx:
            assert await nodes.drain(tx, id=uuid.UUID(pulse.node.id), org=ids.DEFAULT_ORG, shared=True)
            assert not await nodes.drain(tx, id=uuid.UUID(pulse.node.id), org=ids.DEFAULT_ORG, shared=True)
        async with asyncio.timeout(30):
            while not (await heard.get()).drain:
                pass
        assert (await known(database))[pulse.node.id].status == "draining"


async def test_a_session_that_says_nothing_for_a_lease_is_ended_by_the_server(database: Database) -> None:
    node = a_node(roles=["scheduler"], lease=dt.timedelta(seconds=0.2))
    async with beating(database, node=node, every=NEVER) as stopped:
        # every=NEVER is a process that is stopped: its lock must come free without it
        heard = answers(stopped)
        assert stopped.leading
        await asyncio.wait_for(stopped.deposed(), 1)
        assert (await asyncio.wait_for(heard.get(), 5)).previous == "active"


async def test_a_listener_that_fails_does_not_stop_the_beat(database: Database) -> None:
    async with beating(database) as pulse:

        def fail(_: BeatAnswer) -> None:
            raise RuntimeError("planted")

        pulse.on_beat.append(fail)
        heard = answers(pulse)
        for _ in range(2):
            await asyncio.wait_for(heard.get(), 5)


async def test_a_beat_that_never_works_is_tried_ever_more_rarely(database: Database) -> None:
    async with beating(database, node=a_node(roles=["worker"])) as pulse:
        tries: asyncio.Queue[float] = asyncio.Queue()

        def refuse() -> Vitals:
            tries.put_nowait(time.monotonic())
            raise errors.InvalidPayload("planted")

        pulse.vitals = refuse
        times = [await asyncio.wait_for(tries.get(), 5) for _ in range(6)]
        assert times[5] - times[4] > 0.3
        pulse.vitals = Vitals
        heard = answers(pulse)
        assert (await asyncio.wait_for(heard.get(), 5)).previous == "active"


async def test_the_first_in_line_leads_without_waiting_for_its_beat(database: Database) -> None:
    leader = await asyncio.create_subprocess_exec(
        sys.executable, str(PROCESS), await database.url(), "scheduler", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert leader.stdout is not None
        said = await asyncio.wait_for(leader.stdout.readline(), 30)
        assert said.split()[1] == b"True"
        patient = dt.timedelta(minutes=20)
        async with (
            beating(database, node=a_node(lease=patient), every=NEVER) as heir,
            beating(database, node=a_node(lease=patient), every=NEVER) as third,
        ):
            held = """
                select count(*)
                from pg_locks as l
                join pg_database as d
                    on d.oid = l.database
                where l.locktype = 'advisory' and l.classid = %(id)s::bigint::oid and l.granted
                    and d.datname = current_database()
            """
            async with database.once() as tx:
                assert await tx.value(held, {"id": leaders.LEADER_CLASS}) == 2
            leader.kill()
            assert await asyncio.wait_for(heir.elected(), 30) == 2
            assert heir.steady and not third.leading
            # it left the line: with its next beat the third one is the first
            heard = answers(third)
            third._wake.set()
            assert (await asyncio.wait_for(heard.get(), 30)).heir
    finally:
        with contextlib.suppress(ProcessLookupError):
            leader.kill()
        await leader.wait()


async def test_who_leads_over_a_new_connection_does_not_know_why_its_forerunner_left(database: Database) -> None:
    async with beating(database) as pulse:
        assert pulse.leading and not pulse.steady
        await end_session(database, pulse)
        await asyncio.wait_for(pulse.deposed(), 30)
        assert await asyncio.wait_for(pulse.elected(), 30) == 2
        assert not pulse.steady
