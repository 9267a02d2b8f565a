"""`crash_everywhere`, on workflows that are right and on one that is not."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest

from weft import App
from weft.base import errors
from weft.testing.crashes import crash_everywhere


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            await connection.execute("create table effects (run text, what text, n integer)")
            await connection.execute("grant all on effects to weft_engine")
        yield made


def effects(app: App) -> Any:
    async def done(run: uuid.UUID) -> Any:
        async with app.tx() as tx:
            return await tx.rows("select what, n from effects where run = %(run)s order by what, n", {"run": str(run)})

    return done


def declare(app: App, *, broken: bool = False) -> Any:
    @app.transaction
    async def write(conn: Any, run: str, what: str, n: int) -> int:
        await conn.execute("insert into effects values (%s, %s, %s)", (run, what, n))
        return n

    @app.transaction
    async def unwrite(conn: Any, run: str, what: str, n: int) -> None:
        await conn.execute("insert into effects values (%s, %s, %s)", (run, f"un{what}", n))

    @app.transaction(compensate=unwrite)
    async def take(conn: Any, run: str, what: str, n: int) -> int:
        await conn.execute("insert into effects values (%s, %s, %s)", (run, what, n))
        return n

    @app.step
    async def decide(n: int) -> bool:
        return n > 2

    @app.workflow
    async def order(n: int) -> list[Any]:
        run = app.run_id()
        first = await take(run, "charge", n)
        await app.sleep("2d")
        approved = await app.wait_for("approval", timeout="3d")
        parts = await app.gather(*[write(run, "ship", one) for one in range(n)], limit=2)
        if await decide(n):
            raise errors.StepFailed("too many")
        return [first, approved, parts]

    counts: list[int] = []

    @app.workflow
    async def careless() -> int:
        counts.append(1)
        await decide(1)
        await decide(2)
        return len(counts)

    return careless if broken else order


async def test_a_workflow_comes_out_the_same_wherever_it_crashes(app: App) -> None:
    order = declare(app)
    found = await crash_everywhere(app, order, 2, signals=[("approval", "yes")], effects=effects(app))
    assert (found.came.state, found.came.output) == ("completed", [2, "yes", [0, 1]])
    assert found.places >= 8 and found.came.effects == [("charge", 2), ("ship", 0), ("ship", 1)]


async def test_what_it_did_is_undone_once_wherever_it_crashes(app: App) -> None:
    order = declare(app)
    found = await crash_everywhere(app, order, 3, signals=[("approval", "yes")], effects=effects(app))
    assert (found.came.state, found.came.undone) == ("compensated", ["1"])
    assert ("uncharge", 3) in found.came.effects


async def test_a_workflow_that_remembers_by_itself_is_found_out(app: App) -> None:
    with pytest.raises(AssertionError, match="place 1"):
        await crash_everywhere(app, declare(app, broken=True))
