"""One customer's tasks strictly one after another, in order; customers beside each other."""

import asyncio

from weft import App

app = App()
done: list[str] = []


@app.task
async def apply(customer: str, change: int) -> None:
    await asyncio.sleep(0.02)
    done.append(f"{customer}{change}")


async def main() -> None:
    async with app, app.worker():
        enqueued = [
            await app.enqueue(
                apply, {"customer": name, "change": number}, concurrency_key=f"customer {name}", concurrency="strict"
            )
            for number in range(5)
            for name in ("a", "b")
        ]
        for one in enqueued:
            await app.result(one.id, timeout=30)
    for name in ("a", "b"):
        print(" ".join(one for one in done if one.startswith(name)))


if __name__ == "__main__":
    asyncio.run(main())
