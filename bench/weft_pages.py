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

from bench import archive_runs
from bench.peers import protocol
from bench.scenarios.pages import PATHS, SMALL, WATCHED
from bench.weft_program import targets
from weft.access.principal import Principal
from weft.api import live_subjects, server
from weft.base import config
from weft.db.database import Database
from weft.live.asking import Ask, Scope

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
    facts = dict(zip(("middle", "later", "correlation"), sample, strict=True)) | await _runs(database, large)
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
        for name, args in WATCHED.items():
            times.setdefault(f"look_{name}", []).append(await _look(database, large, name, args, facts))
            items[f"look_{name}"] = 1
    await database.close()
    print(json.dumps({"times": times, "items": items}))


async def _runs(database: Database, org: uuid.UUID) -> dict[str, str]:
    """A run among many, and two with many steps, made where there are none yet."""
    facts: dict[str, str] = {}
    async with _client(database, org) as client:
        facts["run"] = (await client.get("/v1/runs?state=completed&limit=1")).raise_for_status().json()["items"][0]["id"]
        for nodes in (2000, 10_000):
            name = f"large-{nodes}"
            found = (await client.get(f"/v1/runs?name={name}")).raise_for_status().json()["items"]
            if not found:
                (await client.post("/v1/dags", json=archive_runs.large(nodes))).raise_for_status()
                (await client.post(f"/v1/dags/{name}/trigger", json={})).raise_for_status()
                found = (await client.get(f"/v1/runs?name={name}")).raise_for_status().json()["items"]
            facts[f"large_{nodes}"] = found[0]["id"]
    return facts


async def _look(database: Database, org: uuid.UUID, name: str, args: dict[str, str], facts: dict[str, str]) -> float:
    subject = live_subjects.SUBJECTS[name]
    checked = subject.check({field: value.format(**facts) for field, value in args.items()})
    start = time.perf_counter()
    async with database.tx(org=org) as tx:
        await subject.read(Ask(tx, Scope(org, "admin"), checked))
    return (time.perf_counter() - start) * 1000


def _client(database: Database, org: uuid.UUID) -> httpx2.AsyncClient:
    local = Principal(org=org, actor="bench", role="admin")
    transport = httpx2.ASGITransport(app=server.build(database, local=local))
    return httpx2.AsyncClient(transport=transport, base_url="http://weft")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
