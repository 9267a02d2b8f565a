"""A durable workflow: an order is paid, approved and shipped; one that nobody approves is paid back."""

import asyncio

from weft import App

app = App()


@app.step
async def refund(order: str, result: str) -> None:
    print(f"{order}: refunded {result}")


@app.step(retries=3, compensate=refund)
async def charge(order: str, cents: int) -> str:
    return f"payment of {cents}"


@app.step
async def ship(order: str, item: str) -> str:
    return f"{item} shipped"


@app.workflow(signals=["approval"])
async def checkout(order: str, cents: int, items: list[str]) -> list[str]:
    await charge(order, cents)
    if not await app.wait_for("approval", timeout="2d", default=False):
        raise ValueError("not approved")
    return await app.gather(*[ship(order, item) for item in items])


async def main() -> None:
    async with app, app.worker():
        good = await app.start(checkout, "o-1", 500, ["hat", "coat"], key="o-1")
        bad = await app.start(checkout, "o-2", 700, ["shoes"], key="o-2")
        await app.signal(good.id, "approval", True)
        await app.signal(bad.id, "approval", False)
        print("o-1:", await app.runs.result(good.id, timeout="30s"))
        while (run := await app.runs.get(bad.id)).state != "compensated":
            await asyncio.sleep(0.05)
        print("o-2:", run.state, "because", (run.error or {})["message"])


if __name__ == "__main__":
    asyncio.run(main())
