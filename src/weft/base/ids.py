"""Ids: uuid7 everywhere (time-ordered). The database makes them; these helpers read and check them."""

import datetime as dt
import uuid
from collections.abc import Iterator

DEFAULT_ORG = uuid.UUID("00000000-0000-7000-8000-000000000001")
"""The org of everything that names none."""

EVERY_ORG = uuid.UUID(int=0)
"""Queue settings under this id speak for every org."""

NEWEST = uuid.UUID(int=(1 << 128) - 1)
"""After every id: where a list that goes backwards begins."""

# a UUID refuses to be changed, and takes its time over being made; its slots do neither
_set_int, _set_safe = vars(uuid.UUID)["int"].__set__, vars(uuid.UUID)["is_safe"].__set__


def token() -> uuid.UUID:
    """A random id nobody can guess: lease tokens, lock tokens, node ids."""
    return uuid.uuid4()


def floor(at: dt.datetime) -> uuid.UUID:
    """The smallest uuid7 of an instant."""
    milliseconds = int(at.timestamp() * 1000)
    return uuid.UUID(int=milliseconds << 80 | 0x7000 << 64 | 0x8000 << 48)


def made_at(id: uuid.UUID) -> dt.datetime:
    """The instant a uuid7 was made, to the millisecond."""
    return dt.datetime.fromtimestamp((id.int >> 80) / 1000, tz=dt.UTC)


def following(first: uuid.UUID, count: int) -> Iterator[uuid.UUID]:
    """A run of ids, each one more than the one before. As `UUID(int=…)` makes them, which takes several times as long."""
    make, unknown = uuid.UUID.__new__, uuid.SafeUUID.unknown
    for value in range(first.int, first.int + count):
        id = make(uuid.UUID)
        _set_int(id, value)
        _set_safe(id, unknown)
        yield id
