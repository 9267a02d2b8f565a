"""The connection is cut while a transactional step commits: its effect is there once, whoever knows of it."""

import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from crowd import rows, until, value
from cutter import PLACES, SIDES, Cut, Cutter

from weft import App

POINTS = [(side, place) for side in SIDES for place in PLACES]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-cuts-") as made:
        yield Path(made)


async def test_a_transaction_whose_commit_is_cut_off_takes_effect_once(database_url: str, folder: Path) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create table effects (n integer)")
        connection.execute("grant all on effects to weft_engine")
    cuts: dict[int, Cut] = {}
    async with Cutter(database_url, folder=folder) as cutter, App(database_url=cutter.url) as app:

        @app.transaction(retries=0)
        async def write(conn: Any, n: int) -> int:
            await conn.execute("insert into effects values (%s)", (n,))
            if n not in cuts:
                # nobody else commits meanwhile: the next to come is ours
                side, place = POINTS[n]
                cuts[n] = cutter.arm(Cut(statement="(?i)^commit", side=side, place=place))
            return n

        @app.workflow
        async def writes() -> list[int]:
            return [await write(n) for n in range(len(POINTS))]

        async with app.worker(concurrency=1, roles=["worker"]):
            async with App(database_url=database_url) as safe:
                run: uuid.UUID = (await safe.start("writes")).id
            ended = f"select count(*) from weft.runs where id = '{run}' and finished_at is not null"
            await until(lambda: value(database_url, ended), within=120)
    assert all(cut.fired.is_set() for cut in cuts.values())
    assert rows(database_url, "select state, output::text from weft.runs") == [("completed", "[0, 1, 2, 3, 4, 5]")]
    assert rows(database_url, "select n from effects order by n") == [(n,) for n in range(len(POINTS))]
