"""`Upkeep`: runs the table of chores while this node leads."""

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence

from weft.cluster import leaders
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.db.notify import Hub
from weft.db.statements import Part
from weft.upkeep import chore, table
from weft.upkeep.chore import Chore
from weft.upkeep.sight import Sight


class Upkeep:
    """Waits to be elected, does the chores, stops them at once when deposed, waits again."""

    def __init__(
        self, database: Database, pulse: Pulse, *, retention: dt.timedelta | None = None, more: Sequence[Chore] = (),
        stirs: Sequence[Part] = (), hub: Hub | None = None, ready: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """`more` are the chores of applications on top, and `stirs` what they look for; `ready` is called when there may be
        work that nobody told this process of."""
        self._database = database
        self._pulse = pulse
        self._retention = retention
        self._more = more
        self._stirs = stirs
        self._hub = hub
        self._ready = ready
        self._sight: Sight | None = None
        pulse.calm = lambda: self.calm

    @property
    def calm(self) -> bool:
        """Whether this node leads, and nothing has happened for a while: then it looks for ready work too."""
        return self._sight is not None and self._sight.calm

    async def run(self) -> None:
        while True:
            term = await self._pulse.elected()
            await self._lead(term)

    async def _lead(self, term: int) -> None:
        apart = await self._database.apart()
        chores = self._chores()
        sight = self._sight = Sight(
            told=[one.name for one in chores if one.told],
            hears=lambda: self._hub is not None and self._hub.healthy,
            ready=self._ready,
        )
        deaf = self._hear(sight)
        looking = sight.run(apart, node_id=self._pulse.node.id, more=self._stirs)
        running = [
            asyncio.create_task(looking, name="weft sight"),
            *(
                asyncio.create_task(
                    chore.run(
                        one, database=apart if one.vital else self._database, role=leaders.SCHEDULER, term=term, sight=sight
                    ),
                    name=f"weft {one.name}",
                )
                for one in chores
            ),
        ]
        try:
            await self._pulse.deposed()
        finally:
            self._sight = None
            for task in running:
                task.cancel()
            for leave in deaf:
                leave()
            try:
                await asyncio.gather(*running, return_exceptions=True)
            finally:
                # also when it is told to end once more meanwhile: a pool that stays open can keep its process from ending
                await apart.close()

    def _chores(self) -> list[Chore]:
        pulse = self._pulse
        return table.chores(node_id=pulse.node.id, retention=self._retention, more=self._more, steady=pulse.steady)

    def _hear(self, sight: Sight) -> list[Callable[[], None]]:
        """Whatever is said of work or of what is due soon; answers how to stop that."""
        if self._hub is None:
            return []

        def soon(_payload: str | None) -> None:
            sight.happened()
            sight.ask(0)

        return [self._hub.add("weft_wake", lambda _payload: sight.happened()), self._hub.add("weft_jobs", soon)]
