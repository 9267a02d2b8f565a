"""A process that stops in the middle of a transaction holds up nobody for good, with and without a pooler.

The pooler has one connection to the server: whoever stops with it stops everybody who works through the pooler. Each stop is
seen, and lasts until the others have done all the work.
"""

import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest
from crowd import Crowd, ended, rows, say, seasoned, until, value
from eyes import Eyes
from faults import GIVEN_UP
from witness import Witness

import bouncer
import nursery
from weft import App
from weft.base import config

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="NOT TESTED: stops are seen in /proc only")

NO_POOLER = pytest.mark.skipif(bouncer.PGBOUNCER is None, reason=f"NOT TESTED: frozen behind a pooler. {bouncer.REASON}")
# kills and freezes behind a pooler are in test_pooled.py too; at every point they are in `make chaos`
WAYS = ("direct", pytest.param("pooled", marks=[NO_POOLER, pytest.mark.long]))
WORKER = (
    "transaction: begun#8", "claim: answered", "limited claim: before commit", "settle: between statements",
    "asleep: said", "beat: answered#2",
)  # fmt: skip
RUNS = ("advance: decided", "advance: written")
LEADER = ("lead: before the term", "lead: term taken", "chore: sequencer", "chore: strays", "chore: liveness")
REVIVED = "select count(*) from weft.nodes where pid = %s and status = 'active'"


class Stage:
    """Everybody goes the same way to the database; the eyes go straight."""

    def __init__(self, witness: Witness, app: App, eyes: Eyes, *, crowd: Crowd, way: dict[str, str]) -> None:
        self.witness = witness
        self.app = app
        self.eyes = eyes
        self.given_up: dict[str, float] = {}
        """Point → seconds."""
        self._crowd = crowd
        self._way = way

    async def start(self, *options: str) -> nursery.Process:
        process = await self._crowd.start(*options, env=self._way)
        self.witness.harmed.add(process.pid)
        return process

    async def freeze(self, point: str, *options: str) -> nursery.Process:
        """One that has stopped at this point."""
        process = await self._crowd.freeze(point, "--lease", "2", *options, env=self._way)
        self.witness.harmed.add(process.pid)
        return process

    async def lost(self, victim: nursery.Process, point: str) -> None:
        """Waits until one that has stopped is given up."""
        stopped = time.monotonic()
        await self.eyes.until(GIVEN_UP, victim.pid)
        self.given_up[point] = time.monotonic() - stopped

    async def wake(self, victim: nursery.Process, *, starting: bool = False) -> None:
        """It goes on, as one of those who are well; or says that it cannot start, if it had not."""
        victim.send_signal(signal.SIGCONT)
        if starting:
            assert await ended(victim) == 1
        else:
            await self.eyes.until(REVIVED, victim.pid)

    def summary(self, way: str) -> str:
        times = ", ".join(f"{point} {seconds:.1f}" for point, seconds in self.given_up.items())
        return f"{way}, lease 2 s, given up after (s): {times}"


@contextlib.asynccontextmanager
async def staged(witness: Witness, way: str) -> AsyncIterator[Stage]:
    await seasoned(witness.url)
    with contextlib.ExitStack() as stack:
        url, environment = witness.url, {}
        settings = config.Settings(database_url=url)
        if way == "pooled":
            url = stack.enter_context(bouncer.pooled(witness.url, servers=1))
            environment = {"WEFT_POOLED": "1", "WEFT_DIRECT_URL": witness.url}
            settings = config.Settings(database_url=url, direct_url=witness.url, pooled=True)
        crowd = Crowd(url, witness.folder)
        try:
            async with App(settings=settings) as app, Eyes(witness.url) as eyes:
                yield Stage(witness, app, eyes, crowd=crowd, way=environment)
        finally:
            await crowd.close()


async def away(*processes: nursery.Process) -> None:
    for process in processes:
        if process.returncode is None:
            process.kill()
            await ended(process)


@pytest.mark.parametrize("way", WAYS)
async def test_a_worker_that_stops_at_any_point_is_given_up_and_others_do_its_work(
    witness: Witness, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with staged(witness, way) as stage:
        await stage.start("--queues", "nothing")  # leads
        for point in WORKER:
            await witness.enqueue(stage.app, 12)
            await witness.enqueue(stage.app, 3, fail=1)
            await witness.enqueue(stage.app, 2, concurrency_key="one by one", concurrency="strict")
            victim = await stage.freeze(point, "--no-lead")
            await stage.lost(victim, point)
            other = await stage.start("--no-lead")
            await witness.all_ended()
            await stage.wake(victim)
            await away(victim, other)
        assert await witness.findings() == []
        say(capsys, stage.summary(way))


@pytest.mark.parametrize("way", WAYS)
async def test_a_worker_that_stops_with_the_lock_of_a_run_does_not_keep_it_from_ending(
    witness: Witness, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [
        {"name": name, "payload": {"task": "checked", "args": {"k": name}}, "dependencies": before}
        for name, before in (("first", []), ("second", ["first"]), ("last", ["second"]))
    ]
    async with staged(witness, way) as stage:
        await stage.start("--queues", "nothing")  # leads
        await stage.app.dags.create({"name": "line", "tasks": tasks})
        for point in RUNS:
            await stage.app.dags.trigger("line")
            victim = await stage.freeze(point, "--no-lead")
            await stage.lost(victim, point)
            other = await stage.start("--no-lead")
            await stage.eyes.until("select not exists (select from weft.runs where finished_at is null)")
            await stage.wake(victim)
            await away(victim, other)
        ended_so = "select state, count(*)::integer from weft.runs group by state"
        assert rows(witness.url, ended_so) == [("completed", len(RUNS))]
        assert value(witness.url, "select count(*) from weft.task_history where state = 'completed'") == 3 * len(RUNS)
        say(capsys, stage.summary(way))


@pytest.mark.parametrize("way", WAYS)
async def test_a_leader_that_stops_in_a_term_of_its_own_is_followed_by_another(
    witness: Witness, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with staged(witness, way) as stage:
        for point in LEADER:
            await witness.enqueue(stage.app, 5)
            # who was killed the time before is there for the liveness chore
            victim = await stage.freeze(point)
            other = await stage.start()
            await stage.lost(victim, point)
            await witness.all_ended()
            await stage.wake(victim, starting=point == "lead: before the term")
            await away(other, victim)
        await until(lambda: value(witness.url, "select max(term) from weft.leaders") >= len(LEADER))
        assert await witness.findings() == []
        say(capsys, stage.summary(way))
