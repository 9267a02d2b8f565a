"""The long tier: `python tests/chaos/drive.py --kills 300 --restarts 50 --freezes 50 --cuts 300 --tasks 300000`.

Episodes, each on a database of its own with workers of its own, under load, with one kind of fault; after each the
checker reads all three logs. Seeds are printed: `--seed` does the same again, as far as processes allow.
"""

import argparse
import asyncio
import dataclasses
import random
import signal
import statistics
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import cutting
import psycopg
from checker import Finding
from crowd import Crowd, ended, seasoned, until
from own_server import OwnServer
from witness import Witness

from weft import App
from weft.base import errors

LEASE = 2
WORKERS = 3
PER_EPISODE = 10


@dataclasses.dataclass
class Tally:
    """What was done, and what was found."""

    kills: int = 0
    restarts: int = 0
    freezes: int = 0
    cuts: int = 0
    tasks: int = 0
    exits: int = 0
    """Processes that ended by themselves."""
    findings: list[Finding] = dataclasses.field(default_factory=list)
    recoveries: list[float] = dataclasses.field(default_factory=list)

    def line(self) -> str:
        rules = Counter(one.rule for one in self.findings)
        known = ("lost", "double", "stale")
        others = ", ".join(f"{count} {rule}" for rule, count in rules.items() if rule not in known) or "0 other findings"
        p50 = statistics.median(self.recoveries) if self.recoveries else float("nan")
        worst = max(self.recoveries, default=float("nan"))
        return (
            f"chaos: {self.kills} kills, {self.restarts} restarts, {self.freezes} freezes, {self.cuts} cuts, "
            f"{self.tasks} tasks: {rules['lost']} lost, {rules['double']} double, {rules['stale']} stale accepted, "
            f"{others}, {self.exits} exits; recovery p50 {p50:.2f} s, max {worst:.2f} s"
        )


@dataclasses.dataclass
class Episode:
    """One database, its workers, a client, and the dice."""

    server: OwnServer
    witness: Witness
    crowd: Crowd
    app: App
    dice: random.Random
    tally: Tally
    tasks: int
    """How many to enqueue for each fault."""

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

    async def worker(self) -> asyncio.subprocess.Process:
        return await self.crowd.start("--no-lead", "--lease", str(LEASE), "--concurrency", "20")

    async def busy(self, process: asyncio.subprocess.Process) -> None:
        """Work for all, until this one has begun something of it."""
        before = self._begun(process)
        for _ in range(10):
            await self.load()
            try:
                await until(lambda: self._begun(process) > before, within=3)
                return
            except AssertionError:
                continue  # the others were quicker
        raise AssertionError(f"process {process.pid} never works")

    def _begun(self, process: asyncio.subprocess.Process) -> int:
        return sum(one.pid == process.pid for one in self.witness.ran())


async def kill(episode: Episode, workers: list[asyncio.subprocess.Process]) -> None:
    victim = workers.pop(episode.dice.randrange(len(workers)))
    await episode.busy(victim)
    episode.witness.harmed.add(victim.pid)
    killed = time.time()
    victim.kill()
    await ended(victim)
    episode.tally.kills += 1
    workers.append(await episode.worker())
    await episode.witness.all_ended()
    episode.tally.recoveries += recoveries(episode.witness, pid=victim.pid, at=killed)


async def freeze(episode: Episode, workers: list[asyncio.subprocess.Process]) -> None:
    """Stopped for longer than its lease, then let go on, with all it had in its hands."""
    victim = episode.dice.choice(workers)
    await episode.busy(victim)
    episode.witness.harmed.add(victim.pid)
    victim.send_signal(signal.SIGSTOP)
    try:
        await asyncio.sleep(LEASE * (1.2 + episode.dice.random()))
    finally:
        victim.send_signal(signal.SIGCONT)
    episode.tally.freezes += 1
    await episode.witness.all_ended()


async def restart(episode: Episode, workers: list[asyncio.subprocess.Process]) -> None:
    episode.witness.harmed |= {one.pid for one in workers}
    await episode.busy(workers[0])
    await episode.server.crash()
    await episode.server.start()
    episode.tally.restarts += 1
    await episode.witness.all_ended()


def recoveries(witness: Witness, *, pid: int, at: float) -> list[float]:
    """From a kill to the next start of each task that was in the hands of the killed."""
    lines = witness.ran()
    finished = {(one.task, one.attempt) for one in lines if one.what == "end"}
    found = []
    held = [one for one in lines if one.pid == pid and one.what == "start" and (one.task, one.attempt) not in finished]
    for task in {one.task for one in held}:
        again = [one.at - at for one in lines if one.task == task and one.what == "start" and one.at > at]
        found += [min(again)] if again else []
    return found


@asynccontextmanager
async def stage(server: OwnServer) -> AsyncIterator[Witness]:
    """A fresh database, watched."""
    name = f"chaos_{uuid.uuid4().hex[:12]}"
    with tempfile.TemporaryDirectory(prefix="weft-episode-") as folder:
        _as_owner(server, f"create database {name} template weft")
        witness = Witness(psycopg.conninfo.make_conninfo(server.url, dbname=name), folder=Path(folder))
        try:
            yield witness
        finally:
            witness.close()
            _as_owner(server, f"drop database if exists {name} with (force)")


def _as_owner(server: OwnServer, statement: str) -> None:
    # not on a connection that is kept: the server is restarted meanwhile
    with psycopg.connect(server.url, autocommit=True, dbname="postgres") as owner:
        owner.execute(statement.encode())


Fault = Callable[[Episode, list[asyncio.subprocess.Process]], Awaitable[None]]


async def play(server: OwnServer, tally: Tally, *, fault: Fault, times: int, tasks: int, seed: int) -> None:
    """So many faults of a kind, and what the checker says of it."""
    async with stage(server) as witness, App(database_url=witness.url) as app:
        crowd = Crowd(witness.url, witness.folder)
        try:
            if fault is kill:
                await seasoned(witness.url)
            leader = await crowd.start("--queues", "nothing")
            episode = Episode(server, witness, crowd, app, random.Random(seed), tally, tasks)
            workers = [await episode.worker() for _ in range(WORKERS)]
            if fault is restart:
                witness.harmed.add(leader.pid)
            for _ in range(times):
                await fault(episode, workers)
            tally.exits += sum(one.returncode is not None for one in (leader, *workers))
            found = await witness.findings()
            tally.findings += found
            tally.tasks += len(witness.asked)
        finally:
            await crowd.close()


async def cut(server: OwnServer, tally: Tally, *, times: int, seed: int) -> None:
    """Cuts in a random order, over and over."""
    dice = random.Random(seed)
    async with stage(server) as witness, cutting.scene(witness, witness.folder) as scene:
        for point in dice.sample(cutting.POINTS, k=min(times, len(cutting.POINTS))):
            await scene.suffer(point)
            tally.cuts += 1
        await witness.all_ended()
        tally.findings += await witness.findings()
        tally.tasks += len(witness.asked)


async def run(
    *, kills: int, restarts: int, freezes: int, cuts: int, tasks: int, seed: int, say: Callable[[str], None]
) -> Tally:
    """Everything, one episode after another."""
    dice = random.Random(seed)
    tally = Tally()
    faults = max(kills + restarts + freezes, 1)
    server = OwnServer(logical=True)
    plan: list[tuple[Fault, int]] = []
    # kills first: their recovery is measured on a server that was not restarted a moment ago
    for fault, total in ((kill, kills), (freeze, freezes), (restart, restarts)):
        plan += [(fault, min(PER_EPISODE, total - done)) for done in range(0, total, PER_EPISODE)]
    try:
        await server.start()
        for fault, times in plan:
            number = dice.randrange(1 << 30)
            await play(server, tally, fault=fault, times=times, tasks=tasks // faults, seed=number)
            say(f"seed {number}: {times} × {fault.__name__}; so far {tally.line()}")
        while tally.cuts < cuts:
            number = dice.randrange(1 << 30)
            await cut(server, tally, times=cuts - tally.cuts, seed=number)
            say(f"seed {number}: cuts; so far {tally.line()}")
    finally:
        await server.close()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 300), ("restarts", 50), ("freezes", 50), ("cuts", 300), ("tasks", 300_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    told = vars(parser.parse_args())
    print(f"seed {told['seed']}", flush=True)
    tally = asyncio.run(run(**told, say=lambda text: print(text, flush=True)))
    for one in tally.findings[:50]:
        print(one)
    print(tally.line())
    return 1 if tally.findings or tally.exits else 0


if __name__ == "__main__":
    sys.exit(main())
