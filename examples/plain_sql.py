"""Enqueue from plain SQL, as any language can: a worker runs it all the same."""

import asyncio

import psycopg

from weft import App

app = App()


@app.task
async def greet(name: str) -> str:
    return f"Hello, {name}!"


async def main() -> None:
    async with app, app.worker():
        url = await (await app.open()).url(owner=True)
        async with await psycopg.AsyncConnection.connect(url) as connection:
            made = await connection.execute("select weft.enqueue('greet', '{\"name\": \"SQL\"}', priority => 80)")
            (id,) = await made.fetchone() or (None,)
        print(await app.result(id, timeout=30))


if __name__ == "__main__":
    asyncio.run(main())
