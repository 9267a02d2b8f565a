"""Told to end while its connection breaks: the driver then raises the broken connection, not the cancellation."""

import asyncio
import contextlib
import tempfile
from pathlib import Path

import pytest
from crowd import until, value
from cutter import Cut, Cutter

from weft.base import config, errors
from weft.db.database import Database
from weft.db.notify import Hub

ASLEEP = "select count(*) from pg_stat_activity where query like 'select pg_sleep%%' and state = 'active'"


@pytest.mark.parametrize("transaction", [False, True])
async def test_a_loop_that_is_cancelled_while_its_connection_breaks_ends(database_url: str, transaction: bool) -> None:
    """As claimers, chores and reporters do it: whatever the database says, try again. One that does not hear that it was
    cancelled keeps whoever awaits its end waiting for ever."""
    with tempfile.TemporaryDirectory(prefix="weft-cancelled-") as folder:
        async with Cutter(database_url, folder=Path(folder)) as cutter:
            database = Database(config.Settings(database_url=cutter.url))

            async def loop() -> None:
                while True:
                    with contextlib.suppress(errors.WeftError):
                        async with database.tx() if transaction else database.once() as tx:
                            await tx.value("select pg_sleep(60)")

            looping = asyncio.create_task(loop())
            await until(lambda: value(database_url, ASLEEP) == 1, within=20)
            # nothing passes, so that the driver is still asking the server to stop the query when the connection breaks
            cutter.passing.clear()
            looping.cancel()
            await asyncio.sleep(0)
            await cutter.cut_all()
            cutter.passing.set()
            done, _ = await asyncio.wait([looping], timeout=20)
            while not looping.done():  # or else it keeps this test, too
                looping.cancel()
                await asyncio.wait([looping], timeout=1)
            await database.close()
    assert done and looping.cancelled(), "it goes on for ever"


async def test_a_hub_that_is_cancelled_while_its_connection_breaks_ends(database_url: str) -> None:
    with tempfile.TemporaryDirectory(prefix="weft-cancelled-") as folder:
        async with Cutter(database_url, folder=Path(folder)) as cutter:
            database = Database(config.Settings(database_url=cutter.url))
            hub = Hub(database)
            for moment in ("hearing", "asking"):
                if moment == "asking":
                    # it waits for the answer to its LISTEN, which does not come
                    cut = cutter.arm(Cut(statement="^listen", side="answer", stall=asyncio.Event()))
                running = asyncio.create_task(hub.run())
                await (until(lambda: hub.healthy, within=20) if moment == "hearing" else cut.happened())
                cutter.passing.clear()
                running.cancel()
                await asyncio.sleep(0)
                await cutter.cut_all()
                cutter.passing.set()
                done, _ = await asyncio.wait([running], timeout=20)
                while not running.done():
                    running.cancel()
                    await asyncio.wait([running], timeout=1)
                assert done and running.cancelled(), f"cancelled while {moment}, it goes on for ever"
            await database.close()


async def test_a_hub_that_cannot_listen_asks_less_and_less_often_and_hears_again(database_url: str) -> None:
    heard: list[str | None] = []
    with tempfile.TemporaryDirectory(prefix="weft-deaf-") as folder:
        async with Cutter(database_url, folder=Path(folder)) as cutter:
            cutter.forbidden = "^listen"
            database = Database(config.Settings(database_url=cutter.url))
            hub = Hub(database)
            hub.add("weft_wake", heard.append)
            running = asyncio.create_task(hub.run())
            await until(lambda: cutter.count == 4, within=20)  # 0.1, 0.2, 0.4 s
            assert not hub.healthy and heard == []
            cutter.forbidden = None
            await until(lambda: hub.healthy and heard == [None], within=20)
            running.cancel()
            await asyncio.wait([running], timeout=20)
            await database.close()
