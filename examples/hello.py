"""One task, enqueued, run and awaited: python examples/hello.py

The same file serves a worker of its own: cd examples && weft worker hello:app
"""

import asyncio

from weft import App, Context

app = App()


@app.task(max_attempts=5, timeout="30s")
async def send_email(ctx: Context, to: str) -> str:
    ctx.log("sending", to=to)
    return f"sent to {to}"


async def main() -> None:
    async with app, app.worker():
        enqueued = await app.enqueue(send_email, {"to": "ada@example.com"})
        print(await app.result(enqueued.id, timeout=30))
        for line in await app.logs(enqueued.id):
            print(line.level, line.message, line.fields)


if __name__ == "__main__":
    asyncio.run(main())
