"""The demo of `weft dev` and `weft demo`: a small app whose tasks do what tasks do: work, fail and recover, wait, die.

It runs on the embedded PostgreSQL whatever DATABASE_URL says: nobody wants its tasks in a real database.
"""

import asyncio
import dataclasses
import datetime as dt
import itertools
import random
from typing import Any

from weft.agent import Agent
from weft.base import config
from weft.base.errors import Discard
from weft.sdk.context import Context
from weft.sdk.dag import item, node
from weft.sdk.retry import Retry

app = Agent(settings=dataclasses.replace(config.load(), database_url=None, direct_url=None, pooled=False))

_NAMES = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald"]
_CITIES = ("Bergen", "London", "Cherrapunji")
_TOPICS = (("tea", "coffee"), ("looms", "ships"), ("owls", "clocks"))
_ANSWERS = (True, None, False)
"""To whoever waits for approval; None leaves it to the clock."""
_PACE = 1.5

RESEARCH = """namespace demo {
    /** Asks an agent. */
    event facet Ask(topic: String) => (answer: String)
    /** Has an agent put answers together. */
    event facet Sum(answers: [String]) => (summary: String)

    /** Asks about two things at once, and sums up what is said.
     * @param first What to ask about
     * @param second And what else
     */
    workflow Research(first: String = "tea", second: String = "coffee") => (summary: String) andThen {
        one = Ask(topic = $.first)
        two = Ask(topic = $.second)
        s = Sum(answers = [one.answer, two.answer])
        yield Research(summary = s.summary)
    }
}
"""
"""An AFL program whose agent is this app."""

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


@app.step
async def release(order: str, result: str) -> None:
    """Undoes `reserve`, when the order is not approved or is cancelled."""


@app.step(compensate=release)  # type: ignore[untyped-decorator]
async def reserve(order: str) -> str:
    await asyncio.sleep(random.uniform(0.2, 1.0))
    return f"a place for {order}"


@app.step
async def ship(order: str, item: str) -> str:
    await asyncio.sleep(random.uniform(0.5, 2.0))
    return f"{item} shipped"


@app.workflow(signals=["approval"])  # type: ignore[untyped-decorator]
async def order(order: str, items: list[str]) -> list[str]:
    """A durable workflow: a place is reserved, somebody approves (or nobody objects), everything is shipped."""
    await reserve(order)
    app.set_state("waiting for approval")
    if not await app.wait_for("approval", timeout="15s", default=True):
        raise ValueError(f"{order} was not approved")
    app.set_state("shipping")
    return await app.gather(*[ship(order, item) for item in items])


@app.handles("demo.Ask")
async def ask(ctx: Context, topic: str) -> dict[str, str]:
    """The work of an event facet of the AFL program above: weft afl run Research."""
    ctx.log("thinking about it", topic=topic)
    await asyncio.sleep(random.uniform(1.0, 3.0))
    return {"answer": f"much was said about {topic}"}


@app.handles("demo.Sum")
async def sum_up(answers: list[str]) -> dict[str, str]:
    return {"summary": "; ".join(answers)}


@app.task(queue="crash", timeout="5m")
async def careful(ctx: Context, steps: int = 10, pace: float = 0.3) -> str:
    """Works in steps, so that one can see where its worker was killed."""
    for step in range(1, steps + 1):
        await asyncio.sleep(pace)
        ctx.progress(100 * step / steps, f"step {step} of {steps}")
    return f"{steps} steps, attempt {ctx.attempt}"


async def produce() -> None:
    """Enqueues and starts a little of everything until cancelled."""
    await app.flows.save(source=RESEARCH, name="research")
    for turn in itertools.count():
        await app.enqueue(hello, {"name": _NAMES[turn % len(_NAMES)]})
        match turn % 20:
            case 0 | 10:
                await app.enqueue(flaky)
            case 4 | 6 | 8 | 12 | 15 | 18:
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
            case 2 | 14:
                made = await app.start(order, f"o-{turn}", ["hat", "coat", "shoes"][: 1 + turn % 3])
                if (answer := _ANSWERS[turn // 10 % 3]) is not None:
                    await app.signal(made.id, "approval", answer)
            case _:  # 1, 16, 19
                first, second = _TOPICS[turn % len(_TOPICS)]
                await app.flows.start("research", "Research", {"first": first, "second": second})
        await asyncio.sleep(_PACE)
