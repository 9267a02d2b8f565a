"""What waits to be sent to one reader: bounded, and of each thing only the newest. Pure, but that one may wait for it."""

import asyncio
import dataclasses
from collections import OrderedDict

MOST_BYTES = 1024 * 1024
MOST_MESSAGES = 500
"""Answers and lines of logs; of everything else there is one at most."""


@dataclasses.dataclass
class Letter:
    """Something to be sent. `about`: the subscription, of which a newer letter takes the place of an older one."""

    body: bytes
    about: str | None = None
    cursor: int = 0
    gap: bool = False


class Full(Exception):
    """The reader does not read."""


class Outbox:
    """First in, first out; what is replaced keeps its place."""

    def __init__(self, *, most_bytes: int = MOST_BYTES, most_messages: int = MOST_MESSAGES) -> None:
        self._most_bytes = most_bytes
        self._most_messages = most_messages
        self._letters: OrderedDict[object, Letter] = OrderedDict()
        self._ready = asyncio.Event()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, letter: Letter, *, replace: bool = False) -> None:
        """Full if there is no room. `replace`: what is told now says all that was to be told about this before."""
        which: object = letter.about if replace and letter.about is not None else object()
        older = self._letters.get(which)
        if older is not None:
            self.bytes -= len(older.body)
            letter.gap = True
        self._letters[which] = letter
        self.bytes += len(letter.body)
        self._ready.set()
        if self.bytes > self._most_bytes or len(self._letters) > self._most_messages:
            raise Full

    def forget(self, about: str) -> None:
        """Nothing more is to be said of this subscription."""
        for which in [which for which, letter in self._letters.items() if letter.about == about]:
            self.bytes -= len(self._letters.pop(which).body)

    async def take(self) -> Letter:
        """The oldest, once there is one."""
        while not self._letters:
            self._ready.clear()
            await self._ready.wait()
        _, letter = self._letters.popitem(last=False)
        self.bytes -= len(letter.body)
        return letter
