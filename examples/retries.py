"""What a handler can say about failing: retry, later, not at all. And what becomes of a task that died."""

import asyncio
from datetime import timedelta

from weft import App, Context, Discard, Retry, RetryLater, TaskFailed

app = App()
SOON = Retry(backoff="fixed", base=timedelta(milliseconds=100), jitter=0)


@app.task(max_attempts=5, retry=SOON)
async def flaky(ctx: Context) -> str:
    if ctx.attempt < 3:
        raise ConnectionError("try again")
    return f"worked on attempt {ctx.attempt}"


@app.task(max_attempts=2)
async def polite(ctx: Context) -> str:
    if ctx.attempt == 1:
        raise RetryLater(timedelta(milliseconds=200), "the server said so")
    return "waited as asked"


@app.task(fail_on=ValueError)
async def hopeless() -> None:
    raise ValueError("no retry will help")


@app.task
async def unneeded() -> None:
    raise Discard("somebody else did it")


async def main() -> None:
    async with app, app.worker():
        for task in (flaky, polite, hopeless, unneeded):
            enqueued = await app.enqueue(task)
            try:
                print(task.kind, "→", await app.result(enqueued.id, timeout=30))
            except TaskFailed as error:
                print(task.kind, "→", error)


if __name__ == "__main__":
    asyncio.run(main())
