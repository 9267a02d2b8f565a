"""One limit, two real servers: together they let in no more than the bucket gives, whichever of them is asked."""

import asyncio
import contextlib
import re
from collections import Counter

import cli_process
import httpx2
import psycopg
from shell import Shell

RATE = 40
BURST = 2 * RATE
ASKED = 500


def now(url: str) -> float:
    """The database's clock, in seconds."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute("select extract(epoch from clock_timestamp())::float8").fetchone()
    assert row is not None
    return float(row[0])


async def test_two_servers_share_a_keys_limit(database_url: str) -> None:
    local = Shell(DATABASE_URL=database_url)
    key = (await local.json("key", "create", "flood", "--role", "reader"))["key"]
    env = {"DATABASE_URL": database_url, "WEFT_RATE_PER_KEY": str(RATE), "WEFT_RATE_PER_ORG": "100000"}
    async with contextlib.AsyncExitStack() as stack:
        addresses = []
        for _ in range(2):
            server = await stack.enter_async_context(
                cli_process.weft("server", "--port", "0", "--log-level", "warning", "--no-lead", env=env)
            )
            addresses.append(await _address(server, database_url, already=len(addresses)))
        client = await stack.enter_async_context(httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=30))
        began = now(database_url)
        statuses: Counter[int] = Counter()
        refusals = []

        async def ask(n: int) -> None:
            answer = await client.get(f"{addresses[n % 2]}/v1/queues")
            statuses[answer.status_code] += 1
            if answer.status_code == 429:
                refusals.append(answer)
            assert answer.headers["x-ratelimit-limit"] in (str(BURST), "200000")

        async with asyncio.timeout(120):
            for start in range(0, ASKED, 20):
                await asyncio.gather(*(ask(n) for n in range(start, start + 20)))
        elapsed = now(database_url) - began
    assert set(statuses) == {200, 429} and sum(statuses.values()) == ASKED, statuses
    assert statuses[200] <= BURST + RATE * elapsed, (statuses, elapsed)
    # and it is no less than what was there at first, but for what a server may hold back
    assert statuses[200] >= BURST - 2 * (BURST // 8), statuses
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refusals)
    assert all(answer.json()["error"]["code"] == "RATE_LIMITED" for answer in refusals)


async def _address(server: cli_process.Program, url: str, *, already: int) -> str:
    """Where a server listens: it is a node with its port."""
    for _ in range(2000):
        with psycopg.connect(url, autocommit=True) as connection:
            rows = connection.execute("select http_port from weft.nodes where http_port > 0 order by started_at").fetchall()
        if len(rows) > already and server.process.returncode is None:
            with contextlib.suppress(httpx2.TransportError):
                async with httpx2.AsyncClient() as client:
                    if (await client.get(f"http://127.0.0.1:{rows[-1][0]}/health")).status_code == 200:
                        return f"http://127.0.0.1:{rows[-1][0]}"
        await asyncio.sleep(0.02)
    raise AssertionError(f"it does not listen: {re.sub(r'weft_[A-Za-z0-9_-]+', 'weft_…', server.said)}")
