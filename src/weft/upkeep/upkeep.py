"""`Upkeep`: runs the table of chores while this node leads."""

import asyncio
import datetime as dt
from collections.abc import Sequence

from weft.cluster import leaders
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.db.notify import Hub
from weft.upkeep import chore, table
from weft.upkeep.chore import Chore


class Upkeep:
    """Waits to be elected, does the chores, stops them at once when deposed, waits again."""

    def __init__(
        self, database: Database, pulse: Pulse, *, retention: dt.timedelta | None = None, more: Sequence[Chore] = (),
        hub: Hub | None = None,
    ) -> None:  # fmt: skip
        self._database = database
        self._pulse = pulse
        self._retention = retention
        self._more = more
        self._hub = hub

    async def run(self) -> None:
        while True:
            term = await self._pulse.elected()
            await self._lead(term)

    async def _lead(self, term: int) -> None:
        pulse = self._pulse
        apart = await self._database.apart()
        running = [
            asyncio.create_task(
                chore.run(
                    one, database=apart if one.vital else self._database, role=leaders.SCHEDULER, term=term, hub=self._hub
                ),
                name=f"weft {one.name}",
            )
            for one in table.chores(
                node_id=pulse.node.id, retention=self._retention, more=self._more, steady=pulse.steady
            )
        ]
        try:
            await pulse.deposed()
        finally:
            for task in running:
                task.cancel()
            try:
                await asyncio.gather(*running, return_exceptions=True)
            finally:
                # also when it is told to end once more meanwhile: a pool that stays open can keep its process from ending
                await apart.close()
