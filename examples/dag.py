"""A DAG declared in Python, triggered and awaited; then one task of it fails and is run again: python examples/dag.py"""

import asyncio

from weft import App, TaskFailed, item, node

app = App()
broken = True


@app.task
async def extract(day: str) -> list[int]:
    return [1, 2, 3]


@app.task
async def square(n: int) -> int:
    return n * n


@app.task(max_attempts=1)
async def load(rows: list[int]) -> int:
    if broken:
        raise ConnectionError("the warehouse is away")
    return sum(rows)


@app.dag
def nightly(day="2026-01-15"):
    rows = extract(day=day)
    squares = node(square, foreach=rows, max_parallel=2)(n=item)
    return load(rows=squares)


async def main() -> None:
    global broken
    async with app, app.worker():
        run = await app.dags.trigger(nightly, {"day": "2026-01-16"}, key="2026-01-16")
        try:
            await app.runs.result(run.id, timeout=30)
        except TaskFailed as error:
            print(error)
        broken = False
        print("again:", await app.runs.rerun(run.id))
        print(await app.runs.result(run.id, timeout=30))
        for step in await app.runs.steps(run.id):
            print(step.node, step.state, step.output)


if __name__ == "__main__":
    asyncio.run(main())
