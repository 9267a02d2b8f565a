"""What a function takes, as JSON schema."""

import dataclasses
import datetime as dt
from typing import Any, Literal

from weft.sdk import schema
from weft.sdk.context import Context


@dataclasses.dataclass
class Address:
    street: str
    number: int = 1


def test_arguments_are_described_by_their_types_and_defaults() -> None:
    def order(
        ctx: Context, id: str, items: list[str], to: Address, cents: int = 5, mode: Literal["full", "delta"] = "full",
        note: str | None = None, after: dt.timedelta = dt.timedelta(minutes=1),
    ) -> None:  # fmt: skip
        """Ships an
        order.

        And more.
        """

    found = schema.of(order)
    assert found is not None
    assert found["required"] == ["id", "items", "to"] and found["description"] == "Ships an order."
    shapes = found["properties"]
    assert list(shapes) == ["id", "items", "to", "cents", "mode", "note", "after"]
    assert shapes["items"] == {"type": "array", "items": {"type": "string"}}
    assert (shapes["cents"], shapes["mode"]["enum"]) == ({"type": "integer", "default": 5}, ["delta", "full"])
    assert shapes["to"] == {"$ref": "#/$defs/Address"} and "street" in found["$defs"]["Address"]["properties"]
    assert (shapes["note"]["default"], shapes["after"]["default"]) == (None, "PT60S")


def test_what_is_not_said_or_cannot_be_is_open() -> None:
    class Odd:
        pass

    def plain(a, b: Any, c: Odd) -> None:  # type: ignore[no-untyped-def]
        pass

    def anything(**rest: int) -> None:
        pass

    found = schema.of(plain)
    assert found is not None and found["properties"] == {"a": {}, "b": {}, "c": {}}
    assert schema.of(anything) is None
