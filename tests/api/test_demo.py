"""Crashing a worker of the demo, and nowhere else."""

import httpx2
from calling import Caller, client, code

from weft.db.database import Database


class Crew:
    """What `weft dev` would give the server."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self.crashed = 0

    def crash(self) -> int | None:
        self.crashed += 1
        return self.pid


async def ask(database: Database, crew: Crew | None, key: str) -> tuple[bool, httpx2.Response]:
    async with client(database, demo=crew) as asking:
        head = {"authorization": f"Bearer {key}"}
        shown = (await asking.get("/v1/demo", headers=head)).json()
        return shown["crash"], await asking.post("/v1/demo/crash", headers=head)


async def test_a_worker_is_crashed_in_the_demo_only(api: Caller, database: Database) -> None:
    shown, answer = await ask(database, None, api.keys["admin"])
    assert not shown and code(answer) == (404, "NOT_FOUND")
    crew = Crew(4711)
    shown, answer = await ask(database, crew, api.keys["writer"])
    assert shown and answer.json()["pid"] == 4711 and crew.crashed == 1
    assert code((await ask(database, Crew(None), api.keys["writer"]))[1]) == (409, "CONFLICT")


async def test_who_may_only_read_crashes_nobody(api: Caller, database: Database) -> None:
    crew = Crew(4711)
    assert code((await ask(database, crew, api.keys["reader"]))[1]) == (403, "FORBIDDEN") and crew.crashed == 0
