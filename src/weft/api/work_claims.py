"""Claims of HTTP workers: the lanes they may take from, and waiting for work without holding a connection.

What is known of lanes is shared by all who can do the same, and is a hint, as in `worker/claimer.py`: marks skip what
was taken, and a look once a second finds the rest. A worker that has found nothing for a second is said to be asleep,
so that whoever enqueues notifies; many that wait share one look.
"""

import asyncio
import dataclasses
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from weft.cluster import nodes
from weft.cluster.model import Node, Vitals
from weft.cluster.wakefulness import HEAVY, Wakefulness
from weft.db.database import Database
from weft.db.notify import Hub
from weft.queue import claim, lanes, limits, remote, wake
from weft.queue.lanes import Lane, Mark, Take
from weft.queue.model import Claimed
from weft.settle import remote as settling

BEAT_EVERY = 10.0
NODE_LEASE = dt.timedelta(seconds=120)
"""Longer than any wait and any heartbeat: an HTTP worker says nothing between them."""

_LOOK_EVERY = 1.0
_FORGET_AFTER = 600.0


@dataclasses.dataclass(frozen=True)
class Wish:
    """What can be done: whoever can do the same shares what is known."""

    org: str
    kinds: tuple[str, ...]
    queues: frozenset[str]
    capabilities: frozenset[str]


@dataclasses.dataclass
class View:
    """What is known of the lanes that a wish may take from."""

    looked: float = -float("inf")
    plain: dict[str, Take] = dataclasses.field(default_factory=dict)
    special: list[Lane] = dataclasses.field(default_factory=list)
    turn: int = 0
    used: float = 0.0
    looking: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)


@dataclasses.dataclass
class Present:
    """A worker that asked lately."""

    node: Node
    wakefulness: Wakefulness = dataclasses.field(default_factory=Wakefulness)
    draining: bool = False
    """It was told to take no more, or said so: it gets nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """One claim."""

    node: Node
    wish: Wish
    limit: int
    idle: int
    claim_id: str | None
    wait: float


class Claims:
    """One per server. `left` ends when the client has gone: nothing must be claimed for nobody."""

    def __init__(self, database: Database, *, hub: Hub | None, closed: asyncio.Event) -> None:
        self._database = database
        self._hub = hub
        self._closed = closed
        self._views: dict[Wish, View] = {}
        self._present: dict[str, Present] = {}
        self._beaten: dict[str, float] = {}
        self._waiting: dict[asyncio.Event, Wish] = {}
        if hub is not None:
            hub.add("weft_wake", self.nudge)

    def nudge(self, payload: str | None = None) -> None:
        """There may be work: where and whose, a notification says."""
        hint = wake.parse(payload) if payload is not None else None
        for event, wish in self._waiting.items():
            if hint is None or (hint.org in (None, wish.org) and (not wish.queues or hint.queue in wish.queues)):
                event.set()

    def freed(self, org: str) -> None:
        """Attempts of this org have ended: whoever waits for a place under a limit may have one now."""
        for event, wish in self._waiting.items():
            if wish.org == org and (view := self._views.get(wish)) is not None and view.special:
                event.set()

    async def claim(self, asked: Asked, *, left: Callable[[], Awaitable[None]] | None = None) -> list[Claimed]:
        """Tasks for a worker, waiting for them if there are none."""
        present = await self.seen(asked.node)
        deadline = time.monotonic() + asked.wait
        leaving = asyncio.ensure_future(left()) if left is not None else None
        event = asyncio.Event()
        self._waiting[event] = asked.wish
        since = time.monotonic()
        try:
            while True:
                event.clear()
                tasks = [] if present.draining else await self._take_whole(asked, since=since)
                now = time.monotonic()
                if len(tasks) >= HEAVY and present.wakefulness.heavy(now):
                    await self._say(present, asleep=False)
                if leaving is not None and leaving.done():
                    await self.take_back(tasks)
                    return []
                if tasks or now >= deadline or self._closed.is_set():
                    return tasks
                nudged = await self._rest(present, event, leaving, longest=deadline - now)
                # by itself a look of a second ago will do: many that wait share it
                since = time.monotonic() - (0.0 if nudged else _LOOK_EVERY)
        finally:
            del self._waiting[event]
            if leaving is not None:
                leaving.cancel()

    async def _take_whole(self, asked: Asked, *, since: float) -> list[Claimed]:
        """Not to be cut off half-way: what was claimed and nobody knows of would have to wait for its lease to end."""
        taking = asyncio.ensure_future(self._take(asked, since=since))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            await self.take_back(await taking)
            raise

    async def give_back(self, node: Node, claim_ids: Sequence[str]) -> None:
        """What these claims took, whose answers never arrived."""
        async with self._database.tx() as tx:
            taken = await remote.of_claims(tx, node=node.id, claims=claim_ids)
            await settling.release(tx, taken)
        if taken:
            self._forget_marks(node.org)

    async def seen(self, node: Node) -> Present:
        """Makes a worker known to the cluster, and keeps it so."""
        now = time.monotonic()
        present = self._present.get(node.id)
        if present is None or present.node != node:
            async with self._database.once() as tx:
                await nodes.register(tx, node=node, liveness=None)
            self._forget(now)
            present = self._present[node.id] = Present(node)
            self._beaten.pop(node.id, None)
        await self.beat(node.id)
        return present

    async def beat(self, node_id: str, *, draining: bool = False) -> None:
        """A sign of life, written down now and then."""
        now = time.monotonic()
        if now - self._beaten.get(node_id, -BEAT_EVERY) < BEAT_EVERY and not draining:
            return
        self._beaten[node_id] = now
        async with self._database.once() as tx:
            answer = await nodes.beat(tx, node_id=node_id, draining=draining, vitals=Vitals())
        if (present := self._present.get(node_id)) is not None:
            present.draining = draining or answer.drain
        if answer.previous is None:
            # swept away while it was silent: its next claim makes it known again
            self._present.pop(node_id, None)

    def heed(self, node_id: str) -> None:
        """Something was said of a worker that its next sign of life should learn. Elsewhere it does within BEAT_EVERY."""
        self._beaten.pop(node_id, None)

    async def gone(self, node_id: str) -> None:
        """A worker that leaves."""
        self._present.pop(node_id, None)
        self._beaten.pop(node_id, None)
        async with self._database.once() as tx:
            await nodes.retire(tx, node_id=node_id)

    async def _take(self, asked: Asked, *, since: float) -> list[Claimed]:
        """What there is, known or found by a look that began no earlier than `since`."""
        view = self._views.setdefault(asked.wish, View())
        view.used = time.monotonic()
        await self._look(asked.wish, view, since=view.used - _LOOK_EVERY)
        tasks = await self._take_known(asked, view)
        if tasks or view.looked >= since:
            return tasks
        await self._look(asked.wish, view, since=since)
        return await self._take_known(asked, view)

    async def _look(self, wish: Wish, view: View, *, since: float) -> None:
        """Finds every lane with ready work and forgets the marks, unless that was done since."""
        async with view.looking:
            if view.looked >= since:
                return
            began = time.monotonic()
            async with self._database.once() as tx:
                found = await claim.lanes_of(tx, org=wish.org)
            view.looked = began
        mine = lanes.served(found, queues=wish.queues, capabilities=wish.capabilities)
        plain, view.special = lanes.divide(mine)
        view.plain = {lane.lane: Take(lane, 0) for lane in plain}

    async def _take_known(self, asked: Asked, view: View) -> list[Claimed]:
        view.turn += 1
        tasks: list[Claimed] = []
        if view.special and asked.idle:
            # beside a flood of plain work half of the places, so that neither waits for the other
            want = asked.idle if not view.plain else max(1, asked.idle // 2)
            tasks = await self._take_special(asked, view, want=min(want, asked.limit))
            if any(task.losses for task in tasks):
                # it may take its worker down: not with others in its hands
                return tasks
        if view.plain and len(tasks) < asked.limit:
            tasks += await self._take_plain(asked, view, want=asked.limit - len(tasks))
        return tasks

    async def _take_special(self, asked: Asked, view: View, *, want: int) -> list[Claimed]:
        async with self._database.tx() as tx:
            taken = await limits.claim(
                tx, node_id=asked.node.id, token=self._token(asked), kinds=list(asked.wish.kinds), lanes=view.special,
                want=want, turn=view.turn, lease=remote.LEASE,
            )  # fmt: skip
        return taken.tasks

    async def _take_plain(self, asked: Asked, view: View, *, want: int) -> list[Claimed]:
        known = list(view.plain.values())
        shares = lanes.shares([1] * len(known), want=want, turn=view.turn)
        takes = [Take(one.lane, share, one.mark) for one, share in zip(known, shares, strict=True) if share]
        async with self._database.once() as tx:
            tasks = await claim.plain(
                tx, node_id=asked.node.id, token=self._token(asked), kinds=list(asked.wish.kinds), takes=takes,
                lease=remote.LEASE,
            )  # fmt: skip
        last = {task.lane: task for task in tasks}
        for take in takes:
            name = take.lane.lane
            if name in last:
                task = last[name]
                view.plain[name] = Take(take.lane, 0, Mark(task.urgency, task.run_at, task.id))
            else:
                view.plain.pop(name, None)
        return tasks

    def _token(self, asked: Asked) -> str:
        return remote.lease_token(node=asked.node.id, claim=asked.claim_id)

    async def take_back(self, tasks: Sequence[Claimed]) -> None:
        """What was claimed for somebody who does not get it."""
        if tasks:
            async with self._database.tx() as tx:
                await settling.release(tx, [task.id for task in tasks])
            self._forget_marks(tasks[0].org)

    def _forget_marks(self, org: str | None) -> None:
        """What was given back lies before them."""
        for wish, view in self._views.items():
            if wish.org == org:
                view.looked = -float("inf")

    async def _rest(
        self, present: Present, event: asyncio.Event, leaving: "asyncio.Future[Any] | None", *, longest: float
    ) -> bool:
        """Until there may be work, the client leaves, or it is time to look again; answers whether there may be work."""
        if present.wakefulness.rested(time.monotonic()) and not present.wakefulness.asleep:
            await self._say(present, asleep=True)
            return True  # whoever enqueued before could not know: look once more
        pause = present.wakefulness.poll(hears=self._hub is not None and self._hub.healthy)
        waiting = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._closed.wait())]
        try:
            everything = {*waiting, leaving} if leaving is not None else {*waiting}
            await asyncio.wait(everything, timeout=min(pause, longest), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        return event.is_set()

    async def _say(self, present: Present, *, asleep: bool) -> None:
        async with self._database.once() as tx:
            await nodes.sleep(tx, node_id=present.node.id, asleep=asleep)
        present.wakefulness.asleep = asleep

    def _forget(self, now: float) -> None:
        for id, beaten in list(self._beaten.items()):
            if now - beaten > _FORGET_AFTER:
                del self._beaten[id]
                self._present.pop(id, None)
        for wish, view in list(self._views.items()):
            if now - view.used > _FORGET_AFTER:
                del self._views[wish]


def node(*, org: str, worker: str, wish: Wish, concurrency: int, version: str) -> Node:
    """An HTTP worker as the cluster knows it."""
    return Node(
        id=remote.node_id(org=org, worker=worker), org=org, hostname=worker, ip_address="", pid=0, version=version,
        roles=("worker",), queues=tuple(sorted(wish.queues)), handlers=wish.kinds,
        capabilities=tuple(sorted(wish.capabilities)), concurrency=concurrency, lease=NODE_LEASE,
    )  # fmt: skip
