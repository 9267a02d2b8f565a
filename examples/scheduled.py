"""Jobs: one that fires by the clock, one that fires once, one by hand: python examples/scheduled.py

With a worker of its own the cron job goes on: cd examples && weft worker scheduled:app
"""

import asyncio

from weft import App

app = App()


@app.cron("*/5 * * * *", timezone="Europe/Berlin", overlap="skip")
async def tidy(older_than: int = 30) -> str:
    return f"tidied what is older than {older_than} days"


@app.task
async def remind(who: str) -> str:
    return f"remember, {who}"


async def ended(job: str) -> str:
    """What the job's last execution answered."""
    while True:
        found = await app.jobs.executions(job, take=1)
        if found and found[0].status == "COMPLETED":
            return str(found[0].result)
        await asyncio.sleep(0.05)


async def main() -> None:
    async with app, app.worker():
        times = await app.jobs.preview("tidy", count=2)
        print("tidy fires next at", *(f"{at:%H:%M}" for at in times))
        await app.jobs.create("reminder", {"task": "remind", "args": {"who": "Ada"}}, delay="1s")
        print(await ended("reminder"), "→", (await app.jobs.get("reminder")).status)
        await app.jobs.pause("tidy")
        await app.jobs.trigger("tidy", {"args": {"older_than": 7}})
        print(await ended("tidy"))
        await app.jobs.delete("reminder")


if __name__ == "__main__":
    asyncio.run(main())
