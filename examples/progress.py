"""A long task says how far it is, and is cancelled half-way."""

import asyncio

from weft import App, Context, TaskCancelled

app = App()


@app.task(timeout="1m")
async def count(ctx: Context, to: int) -> int:
    for number in range(1, to + 1):
        ctx.progress(100 * number / to, f"at {number}")
        await asyncio.sleep(0.1)
    return to


async def main() -> None:
    async with app, app.worker():
        enqueued = await app.enqueue(count, {"to": 300})
        while (seen := await app.get(enqueued.id)).progress is None:
            await asyncio.sleep(0.1)
        print(f"{seen.progress} %: {seen.progress_message}")
        print(await app.cancel(enqueued.id))
        try:
            await app.result(enqueued.id, timeout=30)
        except TaskCancelled as error:
            print(error)


if __name__ == "__main__":
    asyncio.run(main())
