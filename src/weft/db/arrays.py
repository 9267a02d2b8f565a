"""PostgreSQL array literals, made in one go.

The driver builds arrays item by item in Python, which took a third of a worker's time per task; joining text does not.
"""

import datetime as dt
from collections.abc import Iterable, Sequence


def plain(values: Iterable[str]) -> str:
    """Of text that needs no quotes: ids, tokens, states."""
    return "{" + ",".join(values) + "}"


def floats(values: Sequence[float | None]) -> str:
    return "{" + ",".join(["NULL" if value is None else repr(value) for value in values]) + "}"


def moments(values: Sequence[dt.datetime | None]) -> str:
    return "{" + ",".join(["NULL" if value is None else value.isoformat() for value in values]) + "}"


def quoted(values: Sequence[str | None]) -> str | None:
    """Of any text or null. If all are null, null: `unnest` then answers null for each."""
    if not any(value is not None for value in values):
        return None
    return "{" + ",".join(["NULL" if value is None else _quote(value) for value in values]) + "}"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
