"""`server` and `locks`: who is there, and who holds what."""

import datetime as dt
import os
import socket
import uuid as uuids
from collections.abc import Sequence
from typing import Any

import msgspec

from weft.afl.records import LockDefinition, LockMetaData, ServerDefinition
from weft.base import errors, ids, json
from weft.base.version import VERSION
from weft.cluster import locks, nodes
from weft.cluster.model import Lock, Node
from weft.db import statements
from weft.services.link import Link, id_of, must_be

SQL = statements.load("weft.services")

_LEASE = dt.timedelta(minutes=2)
"""How long after its last ping a server that was saved here is given up."""

_STATUSES = {"startup": "starting", "running": "active", "shutdown": "draining", "error": "dead"}


class Servers:
    """Our own processes are here by themselves; others may be saved."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_by_id(self, uuid: str) -> ServerDefinition | None:
        return self._link.one(SQL.servers, {"uuid": uuid, "state": None}, type=ServerDefinition)

    def get_by_state(self, state: str) -> Sequence[ServerDefinition]:
        return self._link.read(SQL.servers, {"uuid": None, "state": state}, type=ServerDefinition)

    def save(self, server: ServerDefinition) -> None:
        """Makes a server of the org known; it is given up two minutes after its last ping."""
        self._link.run(self._save(server))

    def update_ping(self, uuid: str, ping_time: int) -> None:
        """It is alive. A time in the future counts as now."""
        self._link.run(self._ping(uuid, ping_time))

    async def _save(self, server: ServerDefinition) -> None:
        status = _STATUSES.get(server.state)
        if status is None:
            raise errors.InvalidInput(f"a server cannot be {server.state!r}; it can be {', '.join(_STATUSES)}")
        id = id_of(server.uuid) or ids.token()
        node = Node(
            id=str(id), org=str(self._link.org), hostname=server.server_name,
            ip_address=server.server_ips[0] if server.server_ips else "", pid=0, version=VERSION, roles=("worker",),
            queues=tuple(server.topics), handlers=tuple(server.handlers), lease=_LEASE,
        )  # fmt: skip
        about = {
            "server_group": server.server_group, "service_name": server.service_name, "manager": server.manager,
            "server_ips": server.server_ips,
        }  # fmt: skip
        counts = {one.handler: [one.handled, one.not_handled] for one in server.handled} or None
        async with self._link.writing() as tx:
            await nodes.register(tx, node=node, liveness=None)
            done = await tx.run(SQL.describe_server, {
                "id": id, "org_id": self._link.org, "server": json.text(about, what="the server"), "status": status,
                "handled": None if counts is None else json.text(counts, what="handled"),
                "error": None if server.error is None else json.text(server.error, what="error"),
            })  # fmt: skip
            if not done:
                raise errors.Conflict(f"{id} is a node of the cluster; it says itself how it is")
        server.uuid = str(id)

    async def _ping(self, uuid: str, ping_time: int) -> None:
        id = must_be(uuid, what="server")
        async with self._link.writing() as tx:
            if not await tx.run(SQL.ping_server, {"id": id, "org_id": self._link.org, "time": ping_time}):
                raise errors.NotFound(f"there is no server {uuid} that was saved here")


class Locks:
    """Named locks. Without a token only those are released and extended that were taken here."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._taken: dict[str, uuids.UUID] = {}

    def acquire(self, key: str, duration_ms: int, meta: LockMetaData | None = None) -> bool:
        return self._link.run(self._acquire(key, duration_ms, meta))

    def release(self, key: str, *, token: str | None = None) -> bool:
        return self._link.run(self._release(key, self._token(key, token)))

    def check(self, key: str) -> LockDefinition | None:
        found = self._link.run(self._check(key))
        if found is None:
            return None
        meta = msgspec.convert(found.metadata, LockMetaData) if found.metadata else None
        return LockDefinition(key, _milliseconds(found.acquired_at), _milliseconds(found.expires_at), meta)

    def extend(self, key: str, duration_ms: int, *, token: str | None = None) -> bool:
        return self._link.run(self._extend(key, duration_ms, self._token(key, token)))

    def token(self, key: str) -> str | None:
        """What another process needs to release or extend a lock that was taken here."""
        found = self._taken.get(key)
        return None if found is None else str(found)

    def _token(self, key: str, given: str | None) -> uuids.UUID | None:
        return self._taken.get(key) if given is None else must_be(given, what="lock with the token")

    async def _acquire(self, key: str, duration_ms: int, meta: LockMetaData | None) -> bool:
        said: dict[str, Any] = {name: one for name, one in msgspec.to_builtins(meta or {}).items() if one is not None}
        async with self._link.writing() as tx:
            found = await locks.acquire(
                tx, org_id=self._link.org, name=key, duration=dt.timedelta(milliseconds=duration_ms),
                owner=f"dao:{socket.gethostname()}:{os.getpid()}", metadata=said,
            )  # fmt: skip
        if found is not None:
            self._taken[key] = found.token
        return found is not None

    async def _release(self, key: str, token: uuids.UUID | None) -> bool:
        if token is None:
            return False
        async with self._link.writing() as tx:
            try:
                await locks.release(tx, org_id=self._link.org, name=key, token=token)
            except errors.LockLost:
                return False
            finally:
                self._taken.pop(key, None)
        return True

    async def _check(self, key: str) -> Lock | None:
        async with self._link.writing() as tx:
            return await locks.check(tx, org_id=self._link.org, name=key)

    async def _extend(self, key: str, duration_ms: int, token: uuids.UUID | None) -> bool:
        if token is None:
            return False
        async with self._link.writing() as tx:
            try:
                await locks.extend(
                    tx, org_id=self._link.org, name=key, token=token, duration=dt.timedelta(milliseconds=duration_ms)
                )
            except errors.LockLost:
                return False
        return True


def _milliseconds(at: dt.datetime) -> int:
    return int(at.timestamp() * 1000)
