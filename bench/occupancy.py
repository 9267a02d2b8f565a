"""How many handlers run at the same time, counted by the handlers themselves and by nothing that Weft knows of.

A small file holds the numbers; a lock on the file makes every change of it one step for all processes.
"""

import fcntl
import os
import struct
import time
from dataclasses import dataclass

FORMAT = struct.Struct("qqqqq")


@dataclass
class Occupancy:
    """What the file says: handlers inside now, the most there ever were, how many have left, and when."""

    inside: int = 0
    highest: int = 0
    left: int = 0
    first_ns: int = 0
    last_ns: int = 0


def enter(path: str) -> None:
    """A handler begins."""
    _change(path, 1)


def leave(path: str) -> None:
    """A handler ends."""
    _change(path, -1)


def read(path: str) -> Occupancy:
    """Return the numbers; an empty file means that nobody has come yet."""
    with open(path, "rb") as file:
        content = file.read()
    return Occupancy(*FORMAT.unpack(content)) if content else Occupancy()


def _change(path: str, by: int) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        content = os.pread(descriptor, FORMAT.size, 0)
        now = Occupancy(*FORMAT.unpack(content)) if content else Occupancy(first_ns=time.monotonic_ns())
        now.inside += by
        now.highest = max(now.highest, now.inside)
        if by < 0:
            now.left += 1
            now.last_ns = time.monotonic_ns()
        os.pwrite(descriptor, FORMAT.pack(now.inside, now.highest, now.left, now.first_ns, now.last_ns), 0)
    finally:
        os.close(descriptor)
