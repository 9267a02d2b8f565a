"""What an agent that handles `Geocode` is to claim: every kind of that last part that a flow asks for.

Claims name their kinds exactly, so that the index does the work. New flows bring new kinds: asked for now and then.
"""

import asyncio
import dataclasses
import logging
from collections.abc import Collection

from weft.base import errors
from weft.cluster import nodes
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.flows import facets
from weft.worker.direct import DatabaseEngine

log = logging.getLogger("weft.worker")

_EVERY = 2.0


class Naming:
    """Runs until cancelled; has nothing to do where no handler has a short name."""

    def __init__(self, database: Database, engine: DatabaseEngine, pulse: Pulse, *, shorts: Collection[str]) -> None:
        self._database, self._engine, self._pulse, self._shorts = database, engine, pulse, shorts

    async def run(self) -> None:
        while self._shorts:
            try:
                await self.once()
            except errors.WeftError as error:
                log.warning("cannot ask which facets there are: %s", error)
            await asyncio.sleep(_EVERY)

    async def once(self) -> int:
        """Answers how many kinds are new."""
        known = self._pulse.node.handlers
        async with self._database.once() as tx:
            new = sorted(await facets.named(tx, self._shorts) - set(known))
            if new:
                await nodes.serve(tx, node_id=self._pulse.node.id, handlers=[*known, *new])
        if new:
            # a node that is registered again says the same
            self._pulse.node = dataclasses.replace(self._pulse.node, handlers=(*known, *new))
            self._engine.serve(new)
        return len(new)
