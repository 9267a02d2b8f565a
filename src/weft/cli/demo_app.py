"""The demo of `weft dev` and `weft demo`: a small app whose tasks do what tasks do: work, fail and recover, wait, die.

It runs on the embedded PostgreSQL whatever DATABASE_URL says: nobody wants its tasks in a real database.
"""

import asyncio
import dataclasses
import datetime as dt
import itertools
import random
from typing import Any

from weft.app import App
from weft.base import config
from weft.base.errors import Discard
from weft.sdk.context import Context
from weft.sdk.dag import item, node
from weft.sdk.retry import Retry

app = App(settings=dataclasses.replace(config.load(), database_url=None, direct_url=None, pooled=False))

_NAMES = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald"]
_CITIES = ("Bergen", "London", "Cherrapunji")
_PACE = 1.5

HERE = ("default", "later", "burst")
"""The queues of the worker beside the database."""
FAR = "far"
"""The queue of the worker that works over HTTP."""


@app.task
async def hello(name: str) -> str:
    """Ends at once."""
    return f"Hello, {name}!"


@app.task(max_attempts=5, retry=Retry(backoff="fixed", base=dt.timedelta(seconds=1), jitter=0))
async def flaky(ctx: Context) -> str:
    """Fails twice, then succeeds."""
    if ctx.attempt < 3:
        raise ConnectionError(f"the other side is not there (attempt {ctx.attempt})")
    return f"worked on attempt {ctx.attempt}"


@app.task(timeout="1m")
async def report(ctx: Context, pages: int = 8) -> str:
    """Takes some seconds and shows how far it is."""
    for page in range(1, pages + 1):
        await asyncio.sleep(random.uniform(0.3, 0.9))
        ctx.progress(100 * page / pages, f"page {page} of {pages}")
        ctx.log(f"wrote page {page}", page=page)
    return f"{pages} pages"


@app.task(queue="later")
async def reminder(text: str) -> str:
    """Is scheduled a few seconds ahead."""
    return text


@app.cron("* * * * *", name="every minute", overlap="skip")
@app.task
async def tidy_up() -> str:
    """Comes every minute, by a job: weft jobs list."""
    return "all is tidy"


@app.dag(schedule="* * * * *")
def greetings(names: Any = _NAMES) -> Any:
    """Says hello to everybody at once, then writes a report about it: weft dag runs greetings."""
    said = node(hello, foreach=names)(name=item)
    return node(report, after=said)(pages=2)


@app.task(queue="burst", priority=20)
async def ping(number: int) -> int:
    """Comes by the hundred, behind everything else."""
    return number


@app.task
async def unwanted() -> None:
    """Decides that there is nothing to do."""
    raise Discard("there was nothing to do")


@app.task(max_attempts=2, retry=Retry(backoff="fixed", base=dt.timedelta(seconds=2), jitter=0))
async def doomed() -> None:
    """Fails every time, and ends on the dead letter list."""
    raise ValueError("this can never work")


@app.task(queue="far")
async def far_away(ctx: Context, city: str) -> str:
    """Is run by a worker that has no database, only the API's address and a key."""
    ctx.log("looking out of the window", city=city)
    return f"it is raining in {city}"


@app.task(queue="crash", timeout="5m")
async def careful(ctx: Context, steps: int = 10, pace: float = 0.3) -> str:
    """Works in steps, so that one can see where its worker was killed."""
    for step in range(1, steps + 1):
        await asyncio.sleep(pace)
        ctx.progress(100 * step / steps, f"step {step} of {steps}")
    return f"{steps} steps, attempt {ctx.attempt}"


async def produce() -> None:
    """Enqueues a little of everything until cancelled."""
    for turn in itertools.count():
        await app.enqueue(hello, {"name": _NAMES[turn % len(_NAMES)]})
        match turn % 20:
            case 0 | 10:
                await app.enqueue(flaky)
            case 1 | 4 | 6 | 8 | 12 | 15 | 18:
                await app.enqueue(report)
            case 3 | 13:
                await app.enqueue(reminder, {"text": "it is time"}, delay="6s")
            case 5:
                await app.enqueue_many(ping, [{"number": number} for number in range(300)])
            case 7:
                await app.enqueue(unwanted)
            case 9 | 17:
                await app.enqueue(far_away, {"city": _CITIES[turn % len(_CITIES)]})
            case 11:
                await app.enqueue(doomed)
            case _:
                pass
        await asyncio.sleep(_PACE)
