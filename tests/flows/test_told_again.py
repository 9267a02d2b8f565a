"""What workflow code is told when it is run again is what it was told the first time: times, orders of keys, numbers."""

import asyncio
import json as plain_json
import uuid
from collections.abc import AsyncIterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft import App
from weft.base import json
from weft.queue.model import Claimed
from weft.testing.inline import run_pending

ANSWER = {"long name": 1, "b": 1e16, "a": -0.0, "é": {"zz": 1e300, "z": [1.5, 2.0, 1e-7]}, "": None}
"""jsonb orders keys by their length, and knows no exponents."""


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def test_code_that_is_run_again_sees_the_same_times_and_the_same_answers(app: App) -> None:
    seen: list[list[str]] = []

    @app.step
    async def asks():  # type: ignore[no-untyped-def]
        return ANSWER

    @app.transaction
    async def writes(conn: Any) -> dict[str, int]:
        return {"bb": 1, "c": 2}

    @app.workflow
    async def looks() -> None:
        seen.append(told := [])
        for step in (asks, writes):
            told.append(app.now().isoformat())
            told.append(repr(await step()))
        told.append(app.now().isoformat())

        async def branch(n: int) -> None:
            await asks()
            told.append(f"{n}: {app.now().isoformat()}")

        # their steps end in the same moment
        await app.gather(*[branch(n) for n in range(3)])
        told.append(app.now().isoformat())
        await app.sleep(0.001)
        told.append(app.now().isoformat())
        told.append(repr(await app.wait_for("go")))
        told.append(app.now().isoformat())
        await app.wait_for("go")

    run = (await app.start(looks)).id
    await run_pending(app)
    await app.signal(run, "go", ANSWER)
    await run_pending(app)
    await app.signal(run, "go")
    await run_pending(app)
    assert (await app.runs.get(run)).state == "completed"
    assert len(seen) >= 3 and all(told == seen[-1][: len(told)] for told in seen)


numbers = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False))
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=5)),
    max_leaves=12,
)


def test_json_as_stored_is_what_the_database_gives_back(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:

        @settings(max_examples=30, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(values, max_size=40))
        def same(many: list[Any]) -> None:
            written = [json.text(one) for one in [*many, ANSWER]]
            asked = "select t::jsonb::text from unnest(%s::text[]) with ordinality as u (t, n) order by n"
            rows = connection.execute(asked, [written])
            for before, (stored,) in zip(written, rows.fetchall(), strict=True):
                again, told = json.loads(stored), json.loads(json.as_stored(before))
                assert plain_json.dumps(again) == plain_json.dumps(told), before

        same()


async def test_a_cancellation_that_comes_while_a_transaction_commits_undoes_it_too(app: App, database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        await connection.execute("create table effects (what text)")
        await connection.execute("grant all on effects to weft_engine")

    @app.transaction
    async def put_back(conn: Any) -> None:
        await conn.execute("insert into effects values ('put back')")

    @app.transaction(compensate=put_back)
    async def take(conn: Any, run: str) -> None:
        await conn.execute("insert into effects values ('taken')")
        await app.runs.cancel(uuid.UUID(run))

    @app.workflow
    async def takes() -> None:
        await take(app.run_id())
        await app.wait_for("never")

    async def fault(place: str, task: Claimed) -> None:
        if place == "before a transaction's commit":
            # long enough for the worker to hear that the run is to end, which comes to it every half second
            await asyncio.sleep(1.2)

    run = (await app.start(takes)).id
    await run_pending(app, fault=fault)
    found = await app.runs.get(run)
    async with app.tx() as tx:
        effects = [row[0] for row in await tx.rows("select what from effects order by what desc")]
    assert (found.state, effects) == ("compensated", ["taken", "put back"])
