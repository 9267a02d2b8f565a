"""How long a claim takes: `python -m bench.weft_claims COUNT SIZE` claims and prints each claim's milliseconds.

It drives the worker's own claimer, so the looks for other lanes and the forgotten marks, once a second, are in.
"""

import json
import sys
import time

import uvloop

from bench.weft_app import app, noop
from weft.base import ids
from weft.worker.buffer import Buffer
from weft.worker.claimer import Claimer
from weft.worker.serves import Serves


async def claims(count: int, size: int) -> None:
    """Claim `count` times about `size` tasks that nobody will run."""
    async with app:
        serves = Serves(node_id=str(ids.token()), kinds=[noop.kind], queues=frozenset(), capabilities=frozenset())
        database = await app.open()
        claimer = Claimer(database, serves=serves, buffer=Buffer(), room=lambda: size, soon=lambda: 0)
        await claimer.once()
        taken = []
        for _ in range(count):
            start = time.perf_counter()
            got = await claimer.once()
            taken.append((time.perf_counter() - start) * 1000)
            if not got:
                sys.exit("there was too little to claim")
    print(json.dumps(taken))


if __name__ == "__main__":
    uvloop.run(claims(*map(int, sys.argv[1:])))
