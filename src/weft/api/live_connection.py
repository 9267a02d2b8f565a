"""One client of `/v1/live`: hears its messages, holds its subscriptions, sends what there is, and cuts it off if it must.

    reader    messages ─▶ policy ─▶ subscribe, unsubscribe, ping
    sender    outbox ─▶ may they still see this? ─▶ socket; a send that takes too long ends the connection
    guard     every two seconds: does the credential still stand?
"""

import asyncio
import contextlib
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import assert_never

import msgspec

from weft.access import bucket
from weft.access.bucket import Limit
from weft.access.principal import Principal
from weft.api import live_watch, policy, standing
from weft.api.live_ledger import Ledger
from weft.api.live_subject import Subject
from weft.api.live_watch import Live
from weft.base import errors, ids, json
from weft.live import outbox, protocol
from weft.live.asking import Scope
from weft.live.outbox import Letter, Outbox
from weft.live.protocol import FromClient, FromServer, Ping, Subscribe, Unsubscribe
from weft.live.sessions import Subscribed

STALL = 10.0
"""Seconds that a client may take to read a message."""
_PACE = Limit(rate=20, burst=200)
"""Messages a second that one client may send, and at once."""
_AGAIN = 0.5


class Close(Exception):
    """Ends the connection, with a code of `protocol.CLOSED`."""

    def __init__(self, code: int) -> None:
        super().__init__(protocol.CLOSED[code])
        self.code = code


class Subscription:
    """What one client watches under one id."""

    def __init__(self, connection: "Connection", id: str, subject: Subject) -> None:
        self.id = id
        self.subject = subject
        self.row = ids.token()
        self.ended = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self._connection = connection

    def show(self, data: bytes, *, cursor: int, gap: bool, replaces: bool) -> None:
        self._connection.put(Letter(data, about=self.id, cursor=cursor, gap=gap), replace=replaces)

    def fail(self, error: errors.WeftError) -> None:
        self._connection.drop(self)
        self._connection.refuse(error, id=self.id)


class Connection:
    """Lives as long as its socket. `who` asks anew whom the credential stands for."""

    def __init__(
        self, live: Live, ledger: Ledger, *, who: Callable[[], Awaitable[Principal]], first: Principal, session: uuid.UUID,
        send: Callable[[str], Awaitable[None]], stall: float = STALL,
    ) -> None:  # fmt: skip
        self._live = live
        self._ledger = ledger
        self._who = who
        self._principal = first
        self._scope = Scope.of(first)
        self._session = session
        self._send = send
        self._stall = stall
        self._outbox = Outbox()
        self._subscriptions: dict[str, Subscription] = {}
        self._bucket = bucket.full(_PACE, at=time.monotonic())
        self._full = asyncio.Event()

    # what goes out

    def put(self, letter: Letter, *, replace: bool = False) -> None:
        """Never waits: who does not read is cut off, and nobody else notices."""
        try:
            self._outbox.put(letter, replace=replace)
        except outbox.Full:
            self._full.set()

    def tell(self, message: FromServer) -> None:
        self.put(Letter(json.dumps(message)))

    def refuse(self, error: errors.WeftError, *, id: str | None) -> None:
        self.tell(protocol.Failed(id=id, code=error.code, message=error.message))

    async def sending(self) -> None:
        """Sends until it cannot; each thing only to somebody who may still see it."""
        while True:
            letter = await self._outbox.take()
            body = letter.body
            if letter.about is not None:
                subscription = self._subscriptions.get(letter.about)
                if subscription is None or not await self._may_see(subscription):
                    continue
                body = json.dumps(
                    protocol.Data(id=letter.about, cursor=letter.cursor, gap=letter.gap, data=msgspec.Raw(letter.body))
                )
            try:
                async with asyncio.timeout(self._stall):
                    await self._send(body.decode())
            except TimeoutError:
                raise Close(4408) from None

    async def _may_see(self, subscription: Subscription) -> bool:
        try:
            await self.allowed(subscription.subject.action)
        except errors.Forbidden as error:
            subscription.fail(error)
            return False
        return True

    # what comes in

    async def hear(self, text: str | bytes) -> None:
        """One message. What is wrong with it is told; who goes on like that is cut off."""
        self._ledger.spoke(self._session)
        self._bucket, given = bucket.take(self._bucket, _PACE, want=1, at=time.monotonic())
        if not given:
            raise Close(4400)
        id: str | None = None
        try:
            message = protocol.read(text)
            id = getattr(message, "id", None)
            await self.allowed(protocol.ACTIONS[type(message)])
            await self._do(message)
        except errors.Unauthenticated:
            raise
        except errors.WeftError as error:
            self.refuse(error, id=id)

    async def _do(self, message: FromClient) -> None:
        match message:
            case Subscribe():
                await self._subscribe(message)
            case Unsubscribe():
                if (found := self._subscriptions.get(message.id)) is not None:
                    self.drop(found)
                self.tell(protocol.Unsubscribed(id=message.id))
            case Ping():
                self.tell(protocol.Pong())
            case _:
                assert_never(message)

    async def _subscribe(self, message: Subscribe) -> None:
        if message.id in self._subscriptions:
            raise errors.Conflict(f"there is a subscription {message.id!r} already; unsubscribe it first, or use another id")
        if len(self._subscriptions) >= protocol.MOST_SUBSCRIPTIONS:
            raise errors.Conflict(f"a connection has at most {protocol.MOST_SUBSCRIPTIONS} subscriptions; open another one")
        subject = self._live.subject(message.subject)
        await self.allowed(subject.action)
        args = subject.check(message.args)
        made = self._subscriptions[message.id] = Subscription(self, message.id, subject)
        hashed = live_watch.digest(subject, args, self._scope).hex()
        self._ledger.subscribe(
            Subscribed(made.row, self._session, subject.name, hashed, json.text(message.args, what="args"))
        )  # fmt: skip
        made.task = asyncio.create_task(self._hold(made, message), name="weft live subscription")

    async def _hold(self, subscription: Subscription, message: Subscribe) -> None:
        try:
            async with self._live.watching(
                subscription, who=self._principal, subject=subscription.subject, args=message.args, cursor=message.cursor
            ) as since:
                if since == "unchanged" and message.cursor is not None:
                    self.tell(protocol.Unchanged(id=subscription.id, cursor=message.cursor))
                await subscription.ended.wait()
        except errors.WeftError as error:
            subscription.fail(error)

    def drop(self, subscription: Subscription) -> None:
        """Nothing more is told of it."""
        if self._subscriptions.pop(subscription.id, None) is not None:
            self._outbox.forget(subscription.id)
            self._ledger.unsubscribe(subscription.row)
        subscription.ended.set()

    # whether it may go on

    async def allowed(self, action: str) -> None:
        """Unauthenticated if the credential does not stand as it did; Forbidden if it does not reach so far."""
        while True:
            try:
                who = await self._who()
                break
            except errors.DatabaseError:
                # nothing is told while nobody can say whether it may be
                await asyncio.sleep(_AGAIN)
        if Scope.of(who) != self._scope:
            raise errors.Unauthenticated("the credential's rights have changed; come back")
        policy.require(who, action)

    async def guarding(self) -> None:
        while True:
            await asyncio.sleep(standing.EVERY)
            await self.allowed("live.read")

    async def overflowing(self) -> None:
        await self._full.wait()
        raise Close(4408)

    async def close(self) -> None:
        tasks = [one.task for one in self._subscriptions.values() if one.task is not None]
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
        self._subscriptions.clear()
