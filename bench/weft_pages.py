"""Asks Weft's API for pages, in process, and prints how long each took: `python -m bench.weft_pages CALLS`.

Every request goes the whole way: policy, validation, a transaction as the tenant, JSON. Only the network is left out.
The answers are printed too, in numbers: a page that is fast because it is empty should be seen to be so.
"""

import asyncio
import json
import sys
import time
import uuid

import httpx2

from bench.peers import protocol
from bench.scenarios.pages import PATHS, SMALL
from bench.weft_program import targets
from weft.access.principal import Principal
from weft.api import server
from weft.base import config
from weft.db.database import Database

SAMPLE = """
select to_char(weft.uuid7_time(h.id), 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
    to_char(weft.uuid7_time(h.id) + interval '1 day', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), h.correlation_id
from weft.task_history as h
where h.org_id = %(org)s and h.correlation_id is not null and h.id < weft.uuid7_floor(weft.now() - interval '60 days')
order by h.id desc
limit 1
"""


async def main(calls: int) -> None:
    database = Database(config.Settings(database_url=protocol.database_url()))
    await database.open()
    large, small = (target.org for target in targets()[:2])
    async with database.tx() as tx:
        sample = await tx.row(SAMPLE, {"org": large})
    assert sample is not None
    facts = dict(zip(("middle", "later", "correlation"), sample, strict=True))
    asked = [(name, large, path) for name, path in PATHS.items()]
    asked += [(f"small_{name}", small, PATHS[name]) for name in SMALL]
    times: dict[str, list[float]] = {name: [] for name, _, _ in asked}
    items: dict[str, int] = {}
    for _ in range(calls):
        for name, org, path in asked:
            async with _client(database, org) as client:
                start = time.perf_counter()
                answer = await client.get(path.format(**facts))
                times[name].append((time.perf_counter() - start) * 1000)
            found = answer.raise_for_status().json()
            items[name] = len(found["items"]) if "items" in found else len(found)
    await database.close()
    print(json.dumps({"times": times, "items": items}))


def _client(database: Database, org: uuid.UUID) -> httpx2.AsyncClient:
    local = Principal(org=org, actor="bench", role="admin")
    transport = httpx2.ASGITransport(app=server.build(database, local=local))
    return httpx2.AsyncClient(transport=transport, base_url="http://weft")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
