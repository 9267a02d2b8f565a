"""`app.lock`: a named lock, held while a block runs and extended meanwhile. The locks themselves are `cluster/locks.py`."""

import asyncio
import contextlib
import datetime as dt
import os
import socket
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from weft.base import durations, errors
from weft.cluster import locks
from weft.cluster.model import Lock
from weft.db.database import Database

Duration = dt.timedelta | float | str

_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5


@contextlib.asynccontextmanager
async def held(
    database: Database, name: str, *, expires: Duration, wait: Duration | None, owner: str | None,
    metadata: dict[str, Any] | None, org: uuid.UUID,
) -> AsyncIterator[Lock]:  # fmt: skip
    """See `App.lock`."""
    duration = durations.parse(expires, name="expires")
    patience = None if wait is None else durations.parse(wait, name="wait").total_seconds()
    began, pause = time.monotonic(), _FIRST_PAUSE
    while True:
        async with database.once() as tx:
            lock = await locks.acquire(
                tx, org_id=org, name=name, duration=duration, owner=owner or f"{socket.gethostname()}:{os.getpid()}",
                metadata=metadata,
            )  # fmt: skip
        if lock is not None:
            break
        if patience is not None and time.monotonic() - began >= patience:
            raise errors.Conflict(f"somebody else holds the lock {name!r}; it did not become free within {wait}", name=name)
        await asyncio.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    keeping = asyncio.create_task(_keep(database, lock, duration=duration, org=org))
    try:
        yield lock
    except BaseException:
        await _end(keeping)
        # what went wrong in the block is what its caller must hear of
        with contextlib.suppress(errors.WeftError):
            await _release(database, lock, org=org)
        raise
    await _end(keeping)
    await _release(database, lock, org=org)


async def _keep(database: Database, lock: Lock, *, duration: dt.timedelta, org: uuid.UUID) -> None:
    """Extends it until it is lost; a database that is away is asked again."""
    while True:
        await asyncio.sleep(duration.total_seconds() / 3)
        try:
            async with database.once() as tx:
                await locks.extend(tx, org_id=org, name=lock.name, token=lock.token, duration=duration)
        except errors.LockLost:
            return
        except errors.WeftError:
            continue


async def _end(keeping: "asyncio.Task[None]") -> None:
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


async def _release(database: Database, lock: Lock, *, org: uuid.UUID) -> None:
    async with database.once() as tx:
        await locks.release(tx, org_id=org, name=lock.name, token=lock.token)
