"""What goes into workflows and steps, and what comes out, has the type that is written there; after a replay, too."""

import dataclasses
import datetime as dt
import decimal
import enum
import uuid
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from weft import App
from weft.base import errors
from weft.testing.clock import Clock
from weft.testing.inline import run_pending


class Size(enum.Enum):
    small = "s"
    large = "l"


class Model:
    """As a model of pydantic is written and read; Weft asks for no more than these two."""

    def __init__(self, n: int) -> None:
        self.n = n

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        assert mode == "json"
        return {"n": self.n}

    @classmethod
    def model_validate(cls, value: Any) -> "Model":
        if not isinstance(value["n"], int):
            raise ValueError("n is a number")
        return cls(value["n"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and other.n == self.n


class Item(msgspec.Struct, frozen=True):
    name: str
    price: decimal.Decimal


@dataclasses.dataclass
class Order:
    id: uuid.UUID
    items: list[Item]
    at: dt.datetime
    due: dt.date
    size: Size
    wait: dt.timedelta
    model: Model


ORDER = Order(
    uuid.UUID(int=7), [Item("hat", decimal.Decimal("9.99"))], dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC),
    dt.date(2026, 2, 1), Size.large, dt.timedelta(hours=2), Model(3),
)  # fmt: skip


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


async def test_types_survive_arguments_results_signals_and_replay(app: App) -> None:
    seen: list[Any] = []

    @app.step
    async def same(order: Order) -> Order:
        assert order == ORDER
        return order

    @app.step
    async def model(order: Order) -> Model:
        return order.model

    @app.step
    async def parts(order: Order) -> tuple[Size, set[int], dict[str, dt.date] | None]:
        return order.size, {1, 2}, {"due": order.due}

    @app.workflow
    async def typed(order: Order) -> Order:
        seen.append((await same(order), await model(order), await parts(order)))
        seen.append(await app.wait_for("item", type=Item))
        await app.sleep(order.wait)
        return order

    clock = await Clock.install(app)
    run = await app.start(typed, ORDER)
    await run_pending(app)
    await app.signal(run.id, "item", Item("coat", decimal.Decimal("1.5")))
    await run_pending(app)
    await clock.advance(dt.timedelta(hours=3))
    await run_pending(app)
    kept = (ORDER, Model(3), (Size.large, {1, 2}, {"due": dt.date(2026, 2, 1)}))
    item = Item("coat", decimal.Decimal("1.5"))
    assert seen == [kept, kept, item, kept, item]
    output = await app.runs.result(run.id, timeout=30)
    assert msgspec.convert(output, Order, dec_hook=lambda kind, value: kind.model_validate(value)) == ORDER


async def test_what_does_not_fit_is_refused_before_anything_is_started(app: App) -> None:
    @app.workflow
    async def typed(model: Model) -> None: ...

    with pytest.raises(errors.InvalidPayload, match="n is a number"):
        await app.start(typed, arguments={"model": {"n": "three"}})
    with pytest.raises(errors.InvalidPayload, match="cannot be written as JSON"):
        await app.start(typed, object())
    assert await app.runs.list() == []
