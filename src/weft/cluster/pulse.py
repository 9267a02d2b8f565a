"""`Pulse`: the one reserved connection of a node. It keeps the node alive and, of a candidate, tries to lead.

An idle standby costs one statement per beat; the first in line, the *heir*, looks twice a second whether the leader's place
is free while its node has work, so that somebody leads again soon after a crash. Between beats the socket is watched, so a
connection that breaks is noticed at once, not with the next beat. A beat without an answer is cut off. Whatever breaks,
leadership is lost first and everything else made anew. That a leader resigned, which makes a candidate beat at once, the hub
hears: a session that listens is woken for every notification of its database, whoever that is for, and a second one of each
process would stand in the way of the first.
"""

import asyncio
import contextlib
import dataclasses
import datetime as dt
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator

from weft.base import crash, errors, events
from weft.cluster import leaders, nodes
from weft.cluster.model import BeatAnswer, Node, Vitals
from weft.db.database import Database
from weft.db.notify import Hub
from weft.db.tx import Tx

log = logging.getLogger("weft.cluster.pulse")

EVERY = dt.timedelta(seconds=2.5)
EVERY_LEADING = dt.timedelta(seconds=1)
EVERY_HEIR = dt.timedelta(seconds=0.5)
_TERM_PAUSE = 0.1  # between tries for a term while a transaction of the old one is open
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0  # a new leader gives nodes that are not back yet upkeep.liveness.UNSEEN_PATIENCE


@dataclasses.dataclass
class _Link:
    """The connection while it lives."""

    tx: Tx
    socket: int
    liveness: int
    refused: bool = False
    """Somebody else led while it stood."""
    heir: bool = False
    """It holds the heir's lock."""


class Pulse:
    """Starts with a first beat, goes on by itself, stops cleanly. One who has the role `scheduler` is a candidate."""

    def __init__(
        self, database: Database, *, node: Node, every: dt.timedelta = EVERY, hub: Hub | None = None
    ) -> None:  # fmt: skip
        """Without a hub a candidate is not told that a leader resigned, and finds out as after a crash."""
        self.node = node
        self.term: int | None = None
        self.steady = False
        """Elected over a connection that outlived its forerunner: what took that one away did not break it."""
        self.last_beat = -float("inf")
        """When the last answered beat was sent, on the monotonic clock."""
        self.alone = False
        """No other node works, by the last beat's answer."""
        self.vitals: Callable[[], Vitals] = Vitals
        """Asked before each beat."""
        self.resting: Callable[[], bool] = lambda: False
        """Whether its node has found nothing to do lately: then an heir is in no hurry."""
        self.calm: Callable[[], bool] = lambda: False
        """Whether its node leads and nothing has happened lately: then it beats no more often than others."""
        self.on_beat: list[Callable[[BeatAnswer], None]] = []
        """Told after each answered beat. Must not block; `answer.revived` means: verify every lease you hold."""
        self._database = database
        self._every = every.total_seconds()
        self._patience = node.lease.total_seconds() / 3
        self._candidate = leaders.SCHEDULER in node.roles
        self._holding = False  # the leader's lock is this connection's
        self._draining = False
        self._forgotten = False
        self._stopping = False
        self._pause = 0.0  # before the next try to connect; only a beat that works resets it
        self._wake = asyncio.Event()
        self._hub = hub
        self._deaf: Callable[[], None] = lambda: None
        self._elected = asyncio.Event()
        self._deposed = asyncio.Event()
        self._deposed.set()
        self._task: asyncio.Task[None] | None = None

    @property
    def leading(self) -> bool:
        return self.term is not None

    async def start(self) -> None:
        """Connects, registers and beats once; raises if that does not work."""
        link = await self._open()
        try:
            await self._beat(link)
        except BaseException:
            await link.tx.connection.close()
            raise
        if self._candidate and self._hub is not None:
            self._deaf = self._hub.add("weft_leader", self._resigned)
        self._task = asyncio.create_task(self._run(link), name="weft pulse")

    async def stop(self) -> None:
        """Hands leadership over, takes the node out of the list, closes the connection."""
        self._stopping = True
        self._deaf()
        self._wake.set()
        if self._task is not None:
            await self._task
            self._task = None

    def drain(self) -> None:
        """Shows the others that this node takes no more work."""
        self._draining = True
        self._wake.set()

    async def elected(self) -> int:
        """Waits until this node leads; answers the term."""
        while self.term is None:
            await self._elected.wait()
        return self.term

    async def deposed(self) -> None:
        """Waits until this node does not lead."""
        await self._deposed.wait()

    async def _run(self, link: _Link) -> None:
        opened: _Link | None = link
        while opened is not None:
            try:
                await self._live(opened)
                return
            except errors.WeftError as error:
                log.warning("the pulse connection of node %s is lost: %s", self.node.id, error)
            finally:
                self._lose()
                await opened.tx.connection.close()
            opened = await self._reopen()

    async def _live(self, link: _Link) -> None:
        """Beats until told to stop, then leaves."""
        while not self._stopping:
            due = await self._rest(link)
            if not self._stopping and (due or await self._inherits(link)):
                await self._beat(link)
        with self._cutting(link):
            if self._holding:
                await leaders.resign(link.tx, role=leaders.SCHEDULER, node_id=self.node.id, term=self.term)
            self._lose()
            await nodes.retire(link.tx, node_id=self.node.id)

    async def _open(self) -> _Link:
        connection = await self._database.reserve()
        try:
            tx = Tx(connection)
            liveness = await nodes.open_session(tx, lease=self.node.lease)
            link = _Link(tx, connection.fileno(), liveness)
            await self._register(link)
        except BaseException:
            await connection.close()
            raise
        return link

    async def _reopen(self) -> _Link | None:
        """A new connection, tried for ever, at first without a pause; None when stopping."""
        while True:
            await self._woken(self._pause)
            if self._stopping:
                return None
            self._pause = min(max(self._pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
            try:
                async with asyncio.timeout(self.node.lease.total_seconds()):
                    link = await self._open()
                self._wake.set()  # the first beat is due now
                return link
            except (errors.WeftError, TimeoutError) as error:
                log.debug("cannot reach the database, next try in %.2f s: %s", self._pause, error)

    async def _register(self, link: _Link) -> None:
        status = await nodes.register(link.tx, node=self.node, liveness=link.liveness)
        # known before, and now new again: its row was swept away, so it had been given up
        self._forgotten = status == "starting" and self.last_beat > 0

    async def _beat(self, link: _Link) -> None:
        sent = time.monotonic()
        crash.point("beat: before")
        with self._cutting(link):
            answer = await self._say(link)
            crash.point("beat: answered")
            if answer.previous is None:
                await self._register(link)
                answer = await self._say(link)
            await self._lead(link, answer)
        self.last_beat = sent
        self._pause = 0.0
        answer = dataclasses.replace(answer, revived=answer.revived or self._forgotten)
        self._forgotten = False
        self._draining = self._draining or answer.drain
        self.alone = answer.alone
        for tell in list(self.on_beat):
            try:
                tell(answer)
            except Exception:
                log.exception("a listener of the beat failed")

    async def _say(self, link: _Link) -> BeatAnswer:
        return await nodes.beat(
            link.tx,
            node_id=self.node.id,
            vitals=self.vitals(),
            draining=self._draining,
            role=leaders.SCHEDULER,
            term=self.term,
            attempt=self._candidate and not self._holding,
            heir=link.heir,
        )

    async def _inherits(self, link: _Link) -> bool:
        """The heir's look, a statement that writes nothing."""
        with self._cutting(link):
            self._holding = await leaders.inherit(link.tx, role=leaders.SCHEDULER)
            link.heir = not self._holding
        return self._holding

    async def _lead(self, link: _Link, answer: BeatAnswer) -> None:
        """What a beat's answer means for leadership."""
        self._holding = self._holding or answer.elected
        link.heir = answer.heir
        link.refused = link.refused or not self._holding
        if self.term is not None and not answer.renewed:
            log.warning("term %s is not ours any more", self.term)
            term = self.term
            self._lose()
            await leaders.resign(link.tx, role=leaders.SCHEDULER, node_id=self.node.id, term=term)
        elif self._holding and self.term is None:
            self.term = await leaders.take(link.tx, role=leaders.SCHEDULER, node_id=self.node.id)
            if self.term is not None:
                crash.point("lead: term taken")
                log.info("node %s leads, term %s", self.node.id, self.term)
                self.steady = link.refused
                self._deposed.clear()
                self._elected.set()

    def _resigned(self, _payload: str | None) -> None:
        """The leader's place is free, or may be."""
        if self.term is None:
            self._wake.set()

    def _lose(self) -> None:
        self.term = None
        self._holding = False
        self._elected.clear()
        self._deposed.set()

    async def _rest(self, link: _Link) -> bool:
        """Until the next beat is due, or something happens on the connection, or somebody wakes us; not so long for an heir.
        Answers whether to beat."""
        if self.term is None:
            pause = _TERM_PAUSE if self._holding else self._every
        else:
            pause = self._every if self.calm() else EVERY_LEADING.total_seconds()
        loop = asyncio.get_running_loop()
        loop.add_reader(link.socket, self._wake.set)
        try:
            left = self.last_beat + pause - time.monotonic()
            looks = link.heir and not self._holding and not self.resting() and left > EVERY_HEIR.total_seconds()
            woken = await self._woken(EVERY_HEIR.total_seconds() if looks else left)
            return woken or not looks
        finally:
            loop.remove_reader(link.socket)

    async def _woken(self, longest: float) -> bool:
        try:
            return await events.came(self._wake, within=longest)
        finally:
            self._wake.clear()

    @contextlib.contextmanager
    def _cutting(self, link: _Link) -> Iterator[None]:
        """Shuts the socket if there is no answer in time: what waits on it then fails at once, however the server or
        the network hangs. Cancelling instead would wait for the server."""

        def cut() -> None:
            self._lose()
            with contextlib.suppress(OSError), socket.socket(fileno=os.dup(link.socket)) as peer:
                peer.shutdown(socket.SHUT_RDWR)

        timer = asyncio.get_running_loop().call_later(self._patience, cut)
        try:
            yield
        finally:
            timer.cancel()
