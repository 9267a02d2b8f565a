"""Whether the process lives, and whether it can work."""


import psycopg
from calling import Caller

from weft.base.version import VERSION


async def test_anybody_may_ask_whether_the_process_is_alive(api: Caller) -> None:
    answer = await api.get("/health", role=None)
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": VERSION}


async def test_a_server_with_its_database_is_ready(api: Caller) -> None:
    answer = await api.get("/ready", role=None)
    assert (answer.status_code, answer.json()) == (200, {"status": "ready", "missing": []})


async def test_a_server_on_an_old_schema_says_what_is_missing(api: Caller, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("delete from weft.migrations where name <> '0001_kernel'")
        connection.execute("update weft.migrations set name = '0000_before'")
    answer = await api.get("/ready", role=None)
    assert answer.status_code == 503
    [missing] = answer.json()["missing"]
    assert "0000_before" in missing and "upgrade Weft" in missing
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("delete from weft.migrations")
    [missing, *_] = (await api.get("/ready", role=None)).json()["missing"]
    assert "0001_kernel" in missing and "weft migrate up" in missing
