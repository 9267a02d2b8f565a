"""Whether a credential still stands while a request takes its time: waits and streams must not outlive it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

from weft.base import errors

Still = Callable[[], Awaitable[None]]
"""Unauthenticated or Forbidden once the credential of a request does not open this any more; within a second of that."""

EVERY = 2.0
"""Seconds between two looks while a stream is open."""


async def always() -> None:
    """For whoever needs no credential."""


async def pieces(stream: AsyncIterator[bytes], still: Still, *, every: float = EVERY) -> AsyncIterator[bytes]:
    """The pieces of a stream, until there are no more or whoever reads them may not any more."""
    loop = asyncio.get_running_loop()
    looked = loop.time()
    coming: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(stream, None))
            await asyncio.wait({coming}, timeout=max(0.0, looked + every - loop.time()))
            if loop.time() - looked >= every:
                await still()
                looked = loop.time()
            if coming.done():
                piece, coming = coming.result(), None
                if piece is None:
                    return
                yield piece
    except (errors.Unauthenticated, errors.Forbidden):
        return
    finally:
        if coming is not None:
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await coming
        if isinstance(stream, AsyncGenerator):
            await stream.aclose()
