"""The engine of a worker that has the database: all leases hang on its node's beat."""

import datetime as dt
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence

from weft.access import keyring, secrets
from weft.access.keyring import Keyring
from weft.cluster.model import BeatAnswer, Vitals
from weft.cluster.pulse import Pulse
from weft.db.database import Database
from weft.db.notify import Hub
from weft.queue import lease
from weft.queue.lease import Progress
from weft.queue.model import Claimed
from weft.settle.outcome import Outcome
from weft.worker.buffer import Buffer
from weft.worker.claimer import Claimer
from weft.worker.courtesy import Courtesy
from weft.worker.reporter import DatabaseReporter
from weft.worker.serves import Serves

_CANCEL_GRACE = dt.timedelta(seconds=5)


class DatabaseEngine:
    """See `engine.Engine`."""

    def __init__(self, database: Database, *, hub: Hub, pulse: Pulse) -> None:
        self._database = database
        self._hub = hub
        self._pulse = pulse
        self._taker: Claimer | None = None
        self._ring: Keyring | None = None

    @property
    def taker(self) -> Claimer:
        """Who claims, once there is a worker."""
        assert self._taker is not None
        return self._taker

    @property
    def lease(self) -> float:
        return self._pulse.node.lease.total_seconds()

    def claimer(
        self, *, kinds: Sequence[str], queues: Sequence[str], capabilities: Sequence[str], concurrency: int,
        buffer: Buffer, room: Callable[[], int], soon: Callable[[], int], courtesy: Courtesy,
    ) -> Claimer:  # fmt: skip
        serves = Serves(
            node_id=self._pulse.node.id, kinds=list(kinds), queues=frozenset(queues), capabilities=frozenset(capabilities)
        )
        claimer = Claimer(self._database, serves=serves, buffer=buffer, room=room, soon=soon, courtesy=courtesy)
        claimer.hears = lambda: self._hub.healthy
        claimer.alone = lambda: self._pulse.alone
        self._pulse.resting = lambda: claimer.resting
        self._taker = claimer
        return claimer

    def serve(self, kinds: Sequence[str]) -> None:
        """More kinds, for the claims to come."""
        if self._taker is not None:
            self._taker.serve(kinds)

    def reporter(
        self, *, on_settled: Callable[[Sequence[Outcome]], None], on_lost: Callable[[Outcome], None],
        wake: Callable[[], None], courtesy: Courtesy,
    ) -> DatabaseReporter:  # fmt: skip
        return DatabaseReporter(
            self._database, on_settled=on_settled, on_lost=on_lost, wake=wake, courtesy=courtesy, taker=self._taker
        )

    def attend(
        self, *, nudge: Callable[[str | None], None], revived: Callable[[], None],
        handled: Callable[[], dict[str, list[int]]], busy: Callable[[], bool], drain: Callable[[], None],
    ) -> Callable[[], None]:  # fmt: skip
        def beaten(answer: BeatAnswer) -> None:
            if answer.revived:
                revived()
            if answer.drain:
                drain()

        self._pulse.vitals = lambda: Vitals(handled=handled(), busy=busy())
        self._pulse.on_beat.append(beaten)
        unlisten = self._hub.add("weft_wake", nudge)

        def leave() -> None:
            unlisten()
            self._pulse.on_beat.remove(beaten)

        return leave

    def lapsed(self, running: Mapping[str, object]) -> list[str]:
        return list(running) if time.monotonic() - self._pulse.last_beat > self.lease else []

    async def exchange(self, reports: Sequence[Progress]) -> dict[str, str]:
        held: set[str] = set()
        if reports:
            # by itself: what it has touched must not wait for the next question to be settled
            async with self._database.once() as tx:
                held = await lease.report_progress(tx, reports)
        async with self._database.once() as tx:
            cancelled = await lease.cancelled_on(tx, node_id=self._pulse.node.id, grace=_CANCEL_GRACE)
        lost = {one.task_id: "lease lost" for one in reports if one.task_id not in held}
        return {**{id: "cancelled" for id, _ in cancelled}, **lost}

    async def secrets(self, task: Claimed, names: Collection[str]) -> Mapping[str, str]:
        # read once: who changes the ring restarts its processes
        ring = self._ring = self._ring or keyring.load(self._database.settings)
        # the engine, because nobody who asks for a user may see a box; the org is the task's
        async with self._database.once() as tx:
            return await secrets.opened(tx, ring, org=uuid.UUID(task.org), names=names)

    async def still_held(self, attempts: Sequence[tuple[str, str]]) -> set[str]:
        async with self._database.once() as tx:
            return await lease.still_held(tx, attempts)
