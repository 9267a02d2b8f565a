"""How long recovery takes, measured apart from any load: a starved machine says nothing of the product.

    workers   kill -9 of a worker → each of its tasks starts elsewhere
    leaders   kill -9 of the leader → another one has the next term
    deafness  enqueue → start while LISTEN is dead, less the same with it alive
"""

import asyncio
import random
import statistics
import tempfile
import time
from pathlib import Path

from crowd import Crowd, ended, seasoned, until
from cutter import Cutter
from eyes import Eyes
from own_server import OwnServer
from staging import stage
from tally import Tally
from witness import Witness

import nursery
from weft import App

FOR_EVER = 3600
HANDS = 5
LISTENERS = "select pid from pg_stat_activity where query like 'listen%%weft_%%' and datname = current_database()"
LEADS = "select n.pid, l.term from weft.leaders as l join weft.nodes as n on n.id = l.node_id where l.term > 0"


async def workers(server: OwnServer, tally: Tally, *, times: int) -> None:
    """Each kill takes the one with the most in its hands; what it held ends with the next attempt."""
    async with stage(server) as witness, App(database_url=witness.url) as app:
        crowd = Crowd(witness.url, witness.folder)
        try:
            await seasoned(witness.url)
            leader = await crowd.start("--queues", "nothing")
            here = [await crowd.start("--no-lead") for _ in range(3)]
            done = 0
            while done < times or _held(witness, here):
                # the next one is ready before: starting a process is a load, too
                here.append(await crowd.start("--no-lead"))
                if done < times:
                    await witness.enqueue(app, HANDS, first=FOR_EVER)
                    await until(lambda: _all_begun(witness))
                victim = max(here, key=lambda one: len(_held(witness, [one])))
                here.remove(victim)
                await _kill(witness, tally, victim)
                done += 1
            await witness.all_ended()
            tally.exits += sum(one.returncode is not None for one in (leader, *here))
            tally.findings += await witness.findings()
            tally.tasks += len(witness.asked)
        finally:
            await crowd.close()


async def _kill(witness: Witness, tally: Tally, victim: nursery.Process) -> None:
    held = _held(witness, [victim])
    witness.harmed.add(victim.pid)
    killed = time.time()
    victim.kill()
    tally.kills += 1

    def again() -> dict[str, float]:
        return {one.task: one.at - killed for one in witness.ran() if one.task in held and one.attempt > 1}

    await until(lambda: held == again().keys())
    tally.recovery.seen += again().values()
    await ended(victim)


def _all_begun(witness: Witness) -> bool:
    return {one.task for one in witness.ran()} == {one.task for one in witness.asked}


def _held(witness: Witness, some: list[nursery.Process]) -> set[str]:
    """What these began for the first time and nobody has begun again."""
    pids = {one.pid for one in some}
    again = {one.task for one in witness.ran() if one.attempt > 1}
    return {one.task for one in witness.ran() if one.pid in pids and one.attempt == 1} - again


async def leaders(server: OwnServer, tally: Tally, *, times: int) -> None:
    """Two candidates; whoever leads is killed."""
    async with stage(server) as witness, Eyes(witness.url) as eyes:
        crowd = Crowd(witness.url, witness.folder)
        try:
            here = {one.pid: one for one in [await crowd.start("--queues", "nothing") for _ in range(2)]}
            for _ in range(times):
                await eyes.until(f"select count(*) from ({LEADS}) as l")
                [(pid, term)] = await eyes.rows(LEADS)
                witness.harmed.add(pid)
                killed = time.monotonic()
                victim = here.pop(pid)
                victim.kill()
                tally.kills += 1
                await eyes.until("select max(term) from weft.leaders", so=lambda now, old=term: now > old)
                tally.leader.seen.append(time.monotonic() - killed)
                await ended(victim)
                one = await crowd.start("--queues", "nothing")
                here[one.pid] = one
            tally.exits += sum(one.returncode is not None for one in here.values())
            tally.findings += await witness.findings()
        finally:
            await crowd.close()


async def deafness(server: OwnServer, tally: Tally, *, times: int, dice: random.Random) -> None:
    """A worker that sleeps and cannot listen: whenever it tries to, its connection is cut."""
    async with stage(server) as witness, App(database_url=witness.url) as app, Eyes(witness.url) as eyes:
        with tempfile.TemporaryDirectory(prefix="weft-deaf-") as folder:
            async with Cutter(witness.url, folder=Path(folder)) as cutter:
                crowd = Crowd(cutter.url, witness.folder)
                try:
                    await crowd.start()
                    hearing = [await _latency(witness, app, eyes, dice) for _ in range(times)]
                    cutter.forbidden = "^listen .?weft_wake"
                    await eyes.rows(f"select pg_terminate_backend(pid) from ({LISTENERS}) as l")
                    await until(lambda: cutter.count > 0)
                    deaf = [await _latency(witness, app, eyes, dice) for _ in range(times)]
                finally:
                    await crowd.close()
        tally.others += times
        tally.deaf.seen += [max(one - statistics.median(hearing), 0.0) for one in deaf]
        await witness.all_ended()
        tally.findings += await witness.findings()
        tally.tasks += len(witness.asked)


async def _latency(witness: Witness, app: App, eyes: Eyes, dice: random.Random) -> float:
    await eyes.until("select count(*) from weft.nodes where asleep")
    # anywhere between two polls: right after a task a worker looks once more
    await asyncio.sleep(dice.random() * 2)
    asked = time.time()
    [task] = await witness.enqueue(app, 1)
    await until(lambda: any(one.task == task for one in witness.ran()))
    return next(one.at for one in witness.ran() if one.task == task) - asked
