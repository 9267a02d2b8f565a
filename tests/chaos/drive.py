"""The long tier: `make chaos ARGS="--kills 300 --restarts 50 --freezes 50 --cuts 400 --tasks 300000"`.

Episodes, each on a database of its own with workers of its own, with one kind of fault; after each the checker reads all
three logs. Recovery is measured first, on a server that was not restarted a moment ago and without load. Seeds are
printed: `--seed` does the same again, as far as processes allow.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cutting
import cutting_migration
import faults
import recovery
from own_server import OwnServer
from staging import stage
from tally import Tally

PER_EPISODE = 10
CUTS_PER_EPISODE = 44
QUIET_KILLS = 1 / 3
"""Of the kills, those whose recovery is measured without load."""


async def cut(server: OwnServer, tally: Tally, *, points: list[cutting.Point]) -> None:
    """Cuts, one after the other."""
    async with stage(server) as witness, cutting.scene(witness, witness.folder) as scene:
        for point in points:
            await scene.suffer(point)
            tally.cuts += 1
        await witness.all_ended()
        tally.findings += await witness.findings()
        tally.tasks += len(witness.asked)


async def cut_migration(server: OwnServer, tally: Tally, *, at_most: int) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-cuts-") as folder:
        cuts, _ = await cutting_migration.cut_everywhere(server.url, Path(folder), at_most=at_most)
    tally.cuts += cuts


async def run(
    *, kills: int, restarts: int, freezes: int, cuts: int, tasks: int, seed: int, say: Callable[[str], None]
) -> Tally:
    """Everything, one episode after another."""
    began = time.monotonic()
    dice = random.Random(seed)
    tally = Tally()
    server = OwnServer(logical=True)

    def so_far(what: str) -> None:
        say(f"{time.monotonic() - began:5.0f} s  {what}; so far {tally.line()}")

    try:
        await server.start()
        quiet = int(kills * QUIET_KILLS)
        if quiet:
            await recovery.workers(server, tally, times=quiet)
            so_far("kills without load")
            await recovery.leaders(server, tally, times=quiet // 5)
            so_far("kills of the leader")
            await recovery.deafness(server, tally, times=quiet // 5, dice=dice)
            so_far("deafness")
        share = tasks // max(kills - tally.kills + restarts + freezes, 1)
        plan: list[tuple[faults.Fault, int]] = []
        for fault, total in ((faults.kill, kills - tally.kills), (faults.freeze, freezes), (faults.restart, restarts)):
            plan += [(fault, min(PER_EPISODE, total - done)) for done in range(0, total, PER_EPISODE)]
        for fault, times in plan:
            number = dice.randrange(1 << 30)
            await faults.play(server, tally, fault=fault, times=times, tasks=share, seed=number)
            so_far(f"seed {number}: {times} × {fault.__name__}")
        if cuts:
            await cut_migration(server, tally, at_most=cuts // 2)
            so_far("cuts of the migration")
        points = dice.sample(cutting.EVERY_POINT, k=min(len(cutting.EVERY_POINT), max(cuts - tally.cuts, 0)))
        for at in range(0, len(points), CUTS_PER_EPISODE):
            await cut(server, tally, points=points[at : at + CUTS_PER_EPISODE])
            so_far("cuts")
    finally:
        await server.close()
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kills", 300), ("restarts", 50), ("freezes", 50), ("cuts", 400), ("tasks", 300_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    told = vars(parser.parse_args())
    print(f"seed {told['seed']}", flush=True)
    tally = asyncio.run(run(**told, say=lambda text: print(text, flush=True)))
    for one in tally.findings[:50]:
        print(one)
    for text in tally.slow:
        print(f"SLOW {text}")
    print(tally.line())
    # times are told, not judged: they are this machine's as much as ours
    return 1 if tally.findings or tally.exits else 0


if __name__ == "__main__":
    sys.exit(main())
