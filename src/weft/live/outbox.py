"""What waits to be sent to one reader: bounded, and of each thing only the newest. Pure, but that one may wait for it."""

import asyncio
import dataclasses
from collections import OrderedDict

MOST_BYTES = 1024 * 1024
MOST_MESSAGES = 500
"""Of answers and lines of logs. Of everything else there is one letter at most, shared by all who get the same."""


@dataclasses.dataclass
class Letter:
    """Something to be sent. `about`: the subscription, of which a newer letter takes the place of an older one."""

    body: bytes
    about: str | None = None
    cursor: int = 0
    gap: bool = False
    replaced: bool = False
    """A newer one takes its place, so that it need not be counted."""


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
        self.messages = 0

    def __len__(self) -> int:
        return len(self._letters)

    def put(self, letter: Letter, *, replace: bool = False) -> None:
        """Full if there is no room. `replace`: what is told now says all that was to be told about this before."""
        letter.replaced = replace
        if replace:
            if letter.about in self._letters:
                letter.gap = True
            self._letters[letter.about] = letter
        else:
            self._letters[object()] = letter
            self.bytes += len(letter.body)
            self.messages += 1
        self._ready.set()
        if self.bytes > self._most_bytes or self.messages > self._most_messages:
            raise Full

    def forget(self, about: str) -> None:
        """Nothing more is to be said of this subscription."""
        for which in [which for which, letter in self._letters.items() if letter.about == about]:
            self._out(self._letters.pop(which))

    async def take(self) -> Letter:
        """The oldest, once there is one."""
        while not self._letters:
            self._ready.clear()
            await self._ready.wait()
        _, letter = self._letters.popitem(last=False)
        self._out(letter)
        return letter

    def _out(self, letter: Letter) -> None:
        if not letter.replaced:
            self.bytes -= len(letter.body)
            self.messages -= 1
