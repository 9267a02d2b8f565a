"""Runs that begin in a process with a worker: if it has nothing to do, what is ready at once is its own without a claim."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator

from weft.db.database import Database
from weft.db.tx import Tx
from weft.flows.advance import Hands
from weft.settle import rescue
from weft.worker.claimer import Claimer

Beginning = Callable[[], contextlib.AbstractAsyncContextManager[tuple[Tx, Hands | None]]]
"""A transaction in which a run begins, and who may have what is ready at once."""


class Eager:
    """The workers of this process, and what they are given."""

    def __init__(self) -> None:
        self._there: list[tuple[Claimer, asyncio.AbstractEventLoop]] = []

    @contextlib.contextmanager
    def working(self, taker: Claimer) -> Iterator[None]:
        """While it works."""
        one = (taker, asyncio.get_running_loop())
        self._there.append(one)
        try:
            yield
        finally:
            self._there.remove(one)

    @contextlib.asynccontextmanager
    async def beginning(self, database: Database) -> AsyncIterator[tuple[Tx, Hands | None]]:
        """A transaction in which a run begins, and who may have what is ready."""
        taker, hands = self._idle()
        try:
            async with database.tx() as tx:
                yield tx, hands
        except BaseException:
            # committed or not, nobody will run it
            if taker is not None and hands is not None and hands.given:
                taker.doubt(hands.token)
            raise
        if taker is None or hands is None or not hands.given:
            return
        if taker.stopped:
            async with database.tx() as tx:
                await rescue.unanswered(tx, tokens=[hands.token])
        else:
            taker.take(hands.given)

    def _idle(self) -> tuple[Claimer | None, Hands | None]:
        here = asyncio.get_running_loop()
        for taker, loop in self._there:
            if loop is here and (hands := taker.hands()) is not None:
                return taker, hands
        return None, None
