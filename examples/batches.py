"""One call for many tasks: each gets its own result, and may fail on its own."""

import asyncio
from typing import Any

from weft import App, TaskFailed

app = App()


@app.task(batch=50, max_attempts=1)
async def store(rows: list[dict[str, Any]]) -> list[Any]:
    print(f"a call with {'one row' if len(rows) == 1 else 'several rows'}")
    return [ValueError("no name") if not row["name"] else f"stored {row['name']}" for row in rows]


async def main() -> None:
    async with app:
        # enqueued before the worker starts, so that they wait together
        enqueued = await app.enqueue_many(store, [{"name": name} for name in ("ada", "", "grace")])
        async with app.worker():
            for one in enqueued:
                try:
                    print(await app.result(one.id, timeout=30))
                except TaskFailed as error:
                    print("failed:", (error.details["error"] or {})["message"])


if __name__ == "__main__":
    asyncio.run(main())
