"""A node in a process of its own, to be killed: `python process.py URL ROLE…` says one line when it has beaten."""

import asyncio
import datetime as dt
import sys

from weft.base import config
from weft.cluster import nodes
from weft.cluster.pulse import Pulse
from weft.db.database import Database


async def main(url: str, *roles: str) -> None:
    database = Database(config.Settings(database_url=url))
    node = nodes.here(version="test", roles=roles, lease=dt.timedelta(minutes=1))
    pulse = Pulse(database, node=node)
    await pulse.start()
    print(node.id, pulse.leading, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
