"""Your rows and your tasks in one transaction: both are there, or neither is."""

import asyncio

import psycopg

from weft import App

app = App()


@app.task
async def ship(order: int) -> str:
    return f"order {order} is on its way"


async def main() -> None:
    async with app, app.worker():
        # your own connection, as you have one already; here it is made from the app's database
        url = await (await app.open()).url(owner=True)
        async with await psycopg.AsyncConnection.connect(url) as connection:
            await connection.execute("create table if not exists orders (id integer generated always as identity)")
            await connection.commit()

            made = await connection.execute("insert into orders default values returning id")
            order = (await made.fetchone() or (0,))[0]
            enqueued = await app.enqueue(ship, {"order": order}, tx=connection)
            await connection.commit()
            print(await app.result(enqueued.id, timeout=30))

            forgotten = await app.enqueue(ship, {"order": 0}, tx=connection)
            await connection.rollback()
            print("rolled back:", await app.cancel(forgotten.id))


if __name__ == "__main__":
    asyncio.run(main())
