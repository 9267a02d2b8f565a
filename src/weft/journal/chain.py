"""The chain of an org's journal: each entry is hashed together with all before it. Pure.

    hash 0 = sha-256("weft journal" org)      hash n = sha-256(hash n-1, n, entry n)

An entry that was changed, taken out, put in or moved does not fit its hash. Whoever can write every row can also compute
every hash anew: against that, keep the head (`weft audit verify` prints it) where they cannot write.
"""

import dataclasses
import datetime as dt
import hashlib
from collections.abc import Iterator, Sequence
from typing import Literal

from weft.base import json

Fault = Literal["changed", "missing", "cut off", "beyond the end", "backdated", "another chain"]

Content = tuple[str | None, ...]
"""What is hashed of an entry, in the order of the statement that reads it: id, org, time, actor and so on."""

_TIME = 2
_LATE = 3600.0
"""Seconds by which an entry may be older than the one sealed before it: transactions take their time."""


@dataclasses.dataclass(frozen=True)
class Head:
    """How far a chain goes."""

    number: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.number}:{self.hash.hex()}"


@dataclasses.dataclass(frozen=True)
class Link:
    """A sealed entry."""

    number: int
    hash: bytes
    content: Content


@dataclasses.dataclass(frozen=True)
class Finding:
    """What is wrong with a chain, and where."""

    number: int
    fault: Fault
    words: str


def root(org: str) -> Head:
    return Head(0, hashlib.sha256(b"weft journal\0" + org.encode()).digest())


def after(head: Head, content: Content) -> Head:
    """The head when this entry is added."""
    number = head.number + 1
    return Head(number, hashlib.sha256(head.hash + json.dumps([number, *content])).digest())


def check(before: Head, links: Sequence[Link], *, newest: str | None = None) -> Iterator[Finding]:
    """What is wrong with entries that follow `before`. `newest`: the latest time that any entry before them has."""
    for link in links:
        if link.number != before.number + 1:
            yield Finding(before.number + 1, "missing", _missing(before.number + 1, link.number - 1))
        elif after(before, link.content).hash != link.hash:
            yield Finding(link.number, "changed", "its content, place or neighbour is not what was sealed")
        at = link.content[_TIME] or ""
        if newest is not None and _seconds(newest) - _seconds(at) > _LATE:
            yield Finding(link.number, "backdated", f"it says {at}Z, but what was sealed before it happened at {newest}Z")
        newest = at if newest is None else max(newest, at)
        # from what is stored, so that one fault is told once
        before = Head(link.number, link.hash)


def check_end(last: Head, head: Head | None) -> Iterator[Finding]:
    """Whether a chain ends where it should."""
    if head is None:
        if last.number:
            yield Finding(last.number, "beyond the end", "there are sealed entries, but the chain's end is not kept")
    elif head.number > last.number:
        yield Finding(last.number + 1, "cut off", _missing(last.number + 1, head.number))
    elif head.number < last.number:
        yield Finding(head.number + 1, "beyond the end", "it was numbered by somebody else than the sealer")
    elif head.hash != last.hash:
        yield Finding(head.number, "changed", "the end of the chain is not what was sealed")


def newest(links: Sequence[Link]) -> str | None:
    return max((link.content[_TIME] or "" for link in links), default=None)


def _missing(first: int, last: int) -> str:
    return f"entry {first} is not there" if first == last else f"entries {first} to {last} are not there"


def _seconds(written: str) -> float:
    return dt.datetime.fromisoformat(written).replace(tzinfo=dt.UTC).timestamp()
