"""Faults under load: one database, its workers, a client that enqueues, and one kind of harm, over and over."""

import asyncio
import contextlib
import dataclasses
import random
import signal
import time
import uuid
from collections.abc import Awaitable, Callable

import psycopg
from crowd import Crowd, ended, seasoned, until
from eyes import Eyes
from own_server import OwnServer
from staging import stage
from tally import Tally
from witness import Witness

import nursery
from weft import App
from weft.base import errors

LEASE = 2
WORKERS = 3
REFUSED = "its outcome was refused"
GIVEN_UP = "select count(*) from weft.nodes where pid = %s and status = 'dead'"
FIRST_CLAIM = """
select extract(epoch from min(c.claimed_at))::double precision
from (select claimed_at from weft.tasks union all select claimed_at from weft.task_history) as c
where c.claimed_at > pg_postmaster_start_time()
"""


@dataclasses.dataclass
class Episode:
    """One database, its workers, a client, and the dice."""

    server: OwnServer
    witness: Witness
    crowd: Crowd
    app: App
    eyes: Eyes
    dice: random.Random
    tally: Tally
    tasks: int
    """How many to enqueue for each fault."""
    kills: list[tuple[int, float]] = dataclasses.field(default_factory=list)
    """Who was killed, and when."""

    async def load(self) -> None:
        """Some quick ones, some that take a while, some that fail first, some one after the other."""
        keys = [uuid.uuid4().hex for _ in range(self.tasks)]
        payloads = [{"k": key, "fail": int(self.dice.random() < 0.02)} for key in keys]
        for at in range(0, len(keys), 1000):
            some = keys[at : at + 1000]
            try:
                made = await self.app.enqueue_many("checked", payloads[at : at + 1000], check=False)
            except errors.WeftError as error:
                # the client, too, meets connections that a restart has broken
                for key in some:
                    self.witness.told(key, error=error)
            else:
                for key, one in zip(some, made, strict=True):
                    self.witness.told(key, task=one.id)
        await self.witness.enqueue(self.app, 6, seconds=0.4)
        await self.witness.enqueue(self.app, 3, concurrency_key="k", concurrency="strict")

    async def worker(self) -> nursery.Process:
        return await self.crowd.start("--no-lead", "--lease", str(LEASE), "--concurrency", "20")

    async def busy(self, process: nursery.Process) -> None:
        """Work for all, until this one has begun something of it."""
        before = self._begun(process)
        for _ in range(10):
            await self.load()
            with contextlib.suppress(AssertionError):  # the others were quicker
                await until(lambda: self._begun(process) > before, within=3)
                return
        raise AssertionError(f"process {process.pid} never works")

    def _begun(self, process: nursery.Process) -> int:
        self.witness.ran()
        return self.witness.begun[process.pid]


async def kill(episode: Episode, workers: list[nursery.Process]) -> None:
    victim = workers.pop(episode.dice.randrange(len(workers)))
    await episode.busy(victim)
    episode.witness.harmed.add(victim.pid)
    episode.kills.append((victim.pid, time.time()))
    victim.kill()
    episode.tally.kills += 1
    await ended(victim)
    workers.append(await episode.worker())
    # until somebody took what it held, or else one task might lose three workers and be given up, rightly
    await episode.eyes.until(GIVEN_UP, victim.pid)


async def freeze(episode: Episode, workers: list[nursery.Process]) -> None:
    """Stopped until it is given up, then let go on with all it had in its hands: at once, or when others have ended it."""
    victim = episode.dice.choice(workers)
    await episode.busy(victim)
    episode.witness.harmed.add(victim.pid)
    victim.send_signal(signal.SIGSTOP)
    try:
        await episode.eyes.until(GIVEN_UP, victim.pid)
        if episode.dice.random() < 0.5:
            await episode.witness.all_ended()
    finally:
        victim.send_signal(signal.SIGCONT)
    episode.tally.freezes += 1
    await episode.witness.all_ended()


async def restart(episode: Episode, workers: list[nursery.Process]) -> None:
    """An immediate stop, as a crash would be, and a start with recovery."""
    episode.witness.harmed |= {one.pid for one in workers}
    await episode.busy(episode.dice.choice(workers))
    await episode.server.crash()
    accepting = asyncio.create_task(accepts(episode.witness.url))
    await episode.server.start()
    accepted = await accepting
    episode.tally.restarts += 1
    await episode.witness.all_ended()
    # nothing was left to claim, perhaps
    first = await episode.eyes.until(FIRST_CLAIM, so=lambda _: True)
    if first is not None:
        episode.tally.back.seen.append(max(first - accepted, 0.0))


async def accepts(url: str) -> float:
    """When PostgreSQL answers again, on the clock of this machine, which is also its own."""
    deadline = time.monotonic() + 120
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(url, autocommit=True, connect_timeout=10) as connection:
                await connection.execute("select 1")
                return time.time()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "PostgreSQL does not come back"
        await asyncio.sleep(0.02)


Fault = Callable[[Episode, list[nursery.Process]], Awaitable[None]]


async def play(server: OwnServer, tally: Tally, *, fault: Fault, times: int, tasks: int, seed: int) -> None:
    """So many faults of a kind, and what the checker says of it."""
    async with stage(server) as witness, App(database_url=witness.url) as app, Eyes(witness.url) as eyes:
        crowd = Crowd(witness.url, witness.folder)
        try:
            if fault is kill:
                await seasoned(witness.url)
            episode = Episode(server, witness, crowd, app, eyes, random.Random(seed), tally, tasks)
            leader, *workers = await asyncio.gather(
                crowd.start("--queues", "nothing"), *(episode.worker() for _ in range(WORKERS))
            )
            if fault is restart:
                witness.harmed.add(leader.pid)
            for _ in range(times):
                await fault(episode, workers)
            await witness.all_ended()
            tally.exits += sum(one.returncode is not None for one in (leader, *workers))
            tally.findings += await witness.findings()
            tally.tasks += len(witness.asked)
            tally.stale_refused += (witness.folder / "stderr").read_text(errors="replace").count(REFUSED)
            for pid, at in episode.kills:
                tally.loaded.seen += recoveries(witness, pid=pid, at=at)
        finally:
            await crowd.close()


def recoveries(witness: Witness, *, pid: int, at: float) -> list[float]:
    """From a kill to the next start of each task that was in the hands of the killed."""
    lines = witness.ran()
    finished = {(one.task, one.attempt) for one in lines if one.what == "end"}
    held = {
        one.task for one in lines if one.pid == pid and one.what == "start" and (one.task, one.attempt) not in finished
    }
    again: dict[str, float] = {}
    for one in lines:
        if one.task in held and one.what == "start" and one.at > at:
            again.setdefault(one.task, one.at - at)
    return list(again.values())
