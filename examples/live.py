"""A live query over a table of yours: its answer comes again whenever the table changed. python examples/live.py"""

import asyncio
from typing import Any

import psycopg

from weft import App
from weft.live.asking import Ask

app = App()


@app.query(tables=["parcels"])
async def parcels(ask: Ask, city: str) -> list[dict[str, Any]]:
    return await ask.rows("select count(*) as parcels from parcels where city = %(city)s", city=city)


async def main() -> None:
    async with app:
        url = await (await app.open()).url(owner=True)
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("drop table if exists parcels")
            await connection.execute("create table parcels (id integer generated always as identity, city text)")
            await connection.execute("select weft.enable_reactivity('parcels')")
            await connection.execute("grant select on parcels to weft_tenant")
            async for [found] in app.live("query:parcels", city="Oslo"):
                print("Oslo has", found["parcels"])
                if found["parcels"] == 2:
                    break
                await connection.execute("insert into parcels (city) values ('Oslo'), ('Bergen')")


if __name__ == "__main__":
    asyncio.run(main())
