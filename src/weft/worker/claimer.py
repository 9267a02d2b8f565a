"""The claimer: keeps the buffer filled, fairly, with as few statements as it can.

Lanes it has seen lately are *warm*: every claim asks all of them at once. A wake-up names the lane, and then that one
alone is asked. Once a second, or more often while nobody notifies it, a *look* finds lanes it does not know. With nothing
to do it sleeps until a wake-up or the poll. Unless very many tasks come in, its node row says that it is asleep, and then
enqueues notify.

    plain   ── bulk claims into the buffer, as long as there is room; a second one if there is much (`beside.py`)
    scout   ── while there is a flood: what wake-ups name, and a few of those who have nothing in the buffer (`scout.py`)
    special ── work under limits and keys, which takes several statements (`special.py`)
"""

import asyncio
import dataclasses
import logging
import time
from collections.abc import Callable, Sequence

from weft.base import crash, errors, ids
from weft.cluster import nodes
from weft.cluster.wakefulness import HEAVY, Wakefulness
from weft.db.database import Database
from weft.flows.advance import Hands
from weft.queue import claim, lanes, wake
from weft.queue.lanes import Lane, Take
from weft.queue.model import Claimed
from weft.settle import rescue
from weft.settle.outcome import Outcome
from weft.worker.beside import Beside
from weft.worker.buffer import Buffer
from weft.worker.courtesy import Courtesy
from weft.worker.scout import Scout
from weft.worker.serves import Serves
from weft.worker.special import Special
from weft.worker.warm import BATCH, Place, WarmLanes, bite, portion

log = logging.getLogger("weft.worker")

_LOOK_EVERY = 1.0
_LOOK_AWAKE = 0.2
"""While nobody notifies us: what a lane that we do not know waits, at most."""
_LOOK_RARELY = 30.0
_LOOK_SHARE = 20
"""A look may cost this part of the time between two."""
_LOOK_CHEAP = 0.05
_WAIT_FOR_ROOM = 0.02
_POLL_BUSY = 0.002


class Claimer:
    """Runs until cancelled."""

    def __init__(
        self, database: Database, *, serves: Serves, buffer: Buffer, room: Callable[[], int], soon: Callable[[], int],
        courtesy: Courtesy | None = None,
    ) -> None:  # fmt: skip
        self._database = database
        self._serves = serves
        self._buffer = buffer
        self._courtesy = courtesy or Courtesy()
        self._beside = Beside(room=room, claim=self._claim_bulk, useful=lambda: self.alone() and not self._courtesy.due)
        self._room = self._beside.room
        self._soon = soon
        self._kinds = frozenset(serves.kinds)
        self._warm = WarmLanes()
        self._unnamed = self._look_now = False  # something else told us to look, or to look at all lanes
        self._looked = self._look_cost = self._forgot = 0.0
        self._hungry = True  # the last bulk claim found nothing
        self._nudged = asyncio.Event()
        self._flood = self._courtesy.flood
        self._wakefulness = Wakefulness()
        self.hears: Callable[[], bool] = lambda: True
        self.alone: Callable[[], bool] = lambda: True
        self.relieved: Callable[[], bool] = lambda: False
        self._claims = 0
        self._doubtful: list[str] = []
        self.stopped = False
        self.special = Special(database, serves=lambda: self._serves, buffer=buffer, soon=soon, doubt=self.doubt)
        self._scout = Scout(
            warm=self._warm, buffer=buffer, flood=self._flood, soon=soon, hungry=lambda: self._hungry,
            claim=lambda takes, now: self._claim(takes, now, fresh=True, told=True), found_more=self.nudge,
            hears=lambda: self.asleep and self.hears(), found_special=self._tell_special,
        )  # fmt: skip

    @property
    def asleep(self) -> bool:
        """Whether enqueues notify us."""
        return self._wakefulness.asleep

    @property
    def claims(self) -> int:
        """How many statements it has asked."""
        return self._claims + self.special.claims

    @property
    def resting(self) -> bool:
        """Whether there is little to do."""
        return self.asleep and not self._flood.is_set()

    def serve(self, kinds: Sequence[str]) -> None:
        """More kinds than it was made for."""
        self._serves = dataclasses.replace(self._serves, kinds=[*self._serves.kinds, *kinds])
        self._kinds = frozenset(self._serves.kinds)
        self._look_now = self._unnamed = True
        self._nudged.set()
        self.special.tell()

    def nudge(self, payload: str | None = None) -> None:
        """There may be work: a notification that says where, a freed runner, a task that became ready again."""
        hint = None
        if payload is not None:
            self._wakefulness.heard(time.monotonic())
            hint = wake.parse(payload)
        if hint is None or hint.org is None:
            if hint is None or not self._serves.queues or hint.queue in self._serves.queues:
                self._unnamed = True
                # rescued, due or unblocked work, perhaps of another kind than the flood we are in: see what there is
                self._look_now = self._look_now or hint is not None
                self._nudged.set()
        elif lanes.served([Lane(hint.lane, hint.org, plain=True)], **self._serves.lanes):
            self._scout.named.add((hint.lane, hint.org))
            if self._flood.is_set():
                self._scout.tell()
            else:
                self._nudged.set()

    def settled(self, outcomes: Sequence[Outcome]) -> None:
        """These attempts are over."""
        self.special.settled(outcomes)

    def hands(self) -> Hands | None:
        """What a run that goes on may give us if runners wait for work and find none: as much as a claim might bring."""
        if self.stopped or self._buffer.idle <= 0 or self._soon() < 0:
            return None
        return Hands(
            node_id=self._serves.node_id, token=str(ids.token()), kinds=self._kinds,
            room=max(self._buffer.idle, min(self._room(), BATCH)),
            serves=lambda lane: bool(lanes.served([Lane(lane, "", plain=True)], **self._serves.lanes)),
        )  # fmt: skip

    def take(self, tasks: Sequence[Claimed]) -> None:
        """Tasks that are ours without a claim."""
        self._buffer.put(tasks)

    def doubt(self, token: str) -> None:
        """What may have become ours with this token is given back."""
        self._doubtful.append(token)
        self._nudged.set()

    def stop(self) -> None:
        """Ends `run` after the round it is in: a claim that is cut off may have been made."""
        self.stopped = True
        self._nudged.set()

    async def run(self) -> None:
        parts = (self._run_plain, self.special.run, self._scout.run, self._beside.run)
        loops = [asyncio.create_task(part()) for part in parts]
        try:
            # one that breaks ends them all: without it some work would wait until somebody looks why
            await asyncio.wait(loops, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            for one in loops:
                one.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
        for one in loops:
            if not one.cancelled():
                one.result()

    async def more_like(self, first: Claimed, *, at_most: int) -> list[Claimed]:
        """Claims more of the same kind for a batch handler that is about to be called."""
        if first.losses or first.concurrency_key is not None or self.stopped:
            return []
        take = Take(Lane(first.lane, first.org, plain=True), at_most)
        try:
            return await self._take([take], kinds=[first.kind])
        except errors.WeftError as error:
            log.warning("cannot claim more for a batch: %s", error)
            return []

    async def clear_doubts(self) -> None:
        """Gives back what was claimed by claims that got no answer: nobody runs it, and our beat would keep it ours."""
        doubtful = list(self._doubtful)
        if doubtful:
            async with self._database.tx() as tx:
                await rescue.unanswered(tx, tokens=doubtful)
            self._doubtful = self._doubtful[len(doubtful) :]

    async def _run_plain(self) -> None:
        while not self.stopped:
            if self._doubtful:
                await self.clear_doubts()
            got = await self.once()
            if await self._note(got):
                # said that we sleep: whoever enqueued before could not know, so look once more
                self._unnamed = True
                continue
            if self._room() <= 0:
                await self._wait(_WAIT_FOR_ROOM)
            elif not (got and self._warm.more):
                await self._wait(self._pause(got))
        # the others, who wait for these, are to end as well
        self.special.stop()
        self._scout.stop()
        self._beside.stop()

    async def once(self) -> int:
        """One round: claim what wake-ups told of, else from all warm lanes, else look for others. Answers how many."""
        self._nudged.clear()
        # in a flood these are the scout's
        named = set() if self._flood.is_set() else self._scout.take_named()
        unnamed, self._unnamed = self._unnamed, False
        now = time.monotonic()
        look_now, self._look_now = self._look_now, False
        hearing = self.asleep and (self.hears() or not self._flood.is_set())
        often = _LOOK_EVERY if hearing else _LOOK_AWAKE
        every = min(max(often, _LOOK_SHARE * self._look_cost), _LOOK_RARELY)
        soon = self._look_cost < _LOOK_CHEAP or now - self._looked >= every / 4
        if self._look_cost >= _LOOK_CHEAP and now - self._forgot >= _LOOK_EVERY:
            self._forgot = now
            self._warm.forget(_LOOK_CHEAP / self._look_cost)
        told = await self._claim_named(named, now) if named else 0
        if ((look_now and soon) or now - self._looked >= every) and (self._warm or self.special.lanes):
            forget = look_now or self.asleep or now - self._forgot >= _LOOK_EVERY
            got = await self._claim_plain() if await self._look(now, forget=forget) else -1
            if got == 0 and not forget and soon:  # what the look saw is before the marks
                self._warm.forget(1.0)
                got = await self._claim_plain()
            return told + max(got, 0)
        if told and not unnamed:
            return told
        got = await self._claim_plain()
        if got == 0 and self._room() > 0 and soon and await self._look(now):
            got = await self._claim_plain()
        return told + got

    async def claim_special(self) -> int:
        """Limited work, keyed work and suspects."""
        return await self.special.claim()

    async def thoroughly(self) -> int:
        """Whatever is there for us, from the beginning of every lane, whatever that costs: for who ends if it is nothing."""
        await self._look(time.monotonic())
        self._warm.forget(1.0)
        self.special.forget()
        return await self._claim_plain() + await self.claim_special()

    async def _look(self, now: float, *, forget: bool = True) -> bool:
        """Finds every lane with ready work, and forgets the marks, if wanted; answers whether there is work for a claim.

        It walks over all that is dead in the claim index, as claims without marks do: where an old transaction keeps that
        from being vacuumed, looks are rare and marks are forgotten a few at a time."""
        began = time.monotonic()
        async with self._database.once() as tx:
            found = await claim.lanes(tx)
        self._claims += 1
        self._looked = now
        self._look_cost = time.monotonic() - began
        mine = lanes.served(found, **self._serves.lanes)
        plain, self.special.lanes = lanes.divide(mine)
        if self.special.lanes:
            self.special.tell()
        forget = forget and self._look_cost < _LOOK_CHEAP
        if forget:
            self._forgot = now
            self.special.forget()
        self._warm.found(plain, special=self.special.lanes, now=now, forget=forget)
        return bool(plain)

    async def _claim_named(self, named: set[Place], now: float) -> int:
        """What wake-ups told of, before any look. Limited lanes are left to the special loop, which counts."""
        if named & self._warm.special:
            self._tell_special(named)
        room = bite(min(self._room(), BATCH), hungry=self._hungry)
        if room <= 0:
            return 0
        got = await self._claim(self._warm.named(named - self._warm.limited, room=room, now=now), now, told=True)
        self._hungry = not got
        return got + len(named & self._warm.special)

    def _tell_special(self, named: set[Place]) -> None:
        self.special.tell(self._warm.limits(named, beside=self.special.lanes))

    async def _claim_plain(self) -> int:
        room = self._courtesy.portion(bite(portion(self._room()), hungry=self._hungry))
        if room <= 0:
            return 0
        self._hungry = not (got := await self._claim_bulk(room))
        return got

    async def _claim_bulk(self, count: int) -> int:
        async with self._courtesy.bulk():
            with self._beside.asking(count):
                # a task in a bulk claim waits for the whole of it: those with little to do are left to the scout
                return await self._claim(self._warm.shares(count, only_deep=self._flood.is_set()), time.monotonic())

    async def _claim(self, takes: Sequence[Take], now: float, *, fresh: bool = False, told: bool = False) -> int:
        if not takes:
            return 0
        tasks = await self._take(takes, kinds=self._serves.kinds, told=told)
        if self._warm.took(takes, tasks, now=now):
            self._courtesy.came(now)
        self._buffer.put(tasks, fresh=fresh)
        return len(tasks)

    async def _take(self, takes: Sequence[Take], *, kinds: Sequence[str], told: bool = False) -> list[Claimed]:
        token, node_id = str(ids.token()), self._serves.node_id
        self._claims += 1
        try:
            # in the way of somebody who waits a statement is not planned anew
            async with self._database.once(knowing=claim.NAMED if told else None) as tx:
                return await claim.plain(tx, node_id=node_id, token=token, kinds=kinds, takes=takes, told=told)
        except BaseException:
            self._doubtful.append(token)
            raise

    async def _note(self, got: int) -> bool:
        """Keeps the word in the node row true. Answers whether it has just said that it sleeps."""
        now = time.monotonic()
        if got >= HEAVY or self._room() <= 0:
            self._flood.set()
        if self._wakefulness.much(got, now) or self._room() <= 0:
            # a flood is no reason to hear of nothing, but to be told of each of very many is
            if self._wakefulness.heavy(now) and self._wakefulness.disturbed(now):
                await self._say(asleep=False)
            elif not self.asleep and self._wakefulness.undisturbed(now):
                await self._say(asleep=True)
                self._look_now = True
                return True
        elif self._wakefulness.rested(now):
            self._flood.clear()
            if not self.asleep:
                await self._say(asleep=True)
                return True
        return False

    async def _say(self, *, asleep: bool) -> None:
        async with self._database.once() as tx:
            await nodes.sleep(tx, node_id=self._serves.node_id, asleep=asleep)
            crash.point("asleep: said")
        self._wakefulness.asleep = asleep

    def _pause(self, got: int) -> float:
        poll = self._wakefulness.poll(hears=self.hears(), relieved=self.relieved())
        return _POLL_BUSY if got and not self.asleep else poll

    async def _wait(self, longest: float) -> None:
        if self._scout.named and not self._flood.is_set():
            return  # the scout has left us some
        # it says itself that the time is over: to give up waiting would take longer, and is in the way of each wake-up
        over = asyncio.get_running_loop().call_later(longest, self._nudged.set)
        try:
            await self._nudged.wait()
        finally:
            over.cancel()
