"""PostgreSQL's wire format, as far as a proxy must know it: where a message ends, which statement it is of. Pure."""

import dataclasses
import struct
from collections import deque

SSL, GSS, CANCEL = 80877103, 80877104, 80877102


@dataclasses.dataclass(frozen=True)
class Message:
    """One message; the first ones of a client have no type."""

    kind: bytes
    raw: bytes

    @property
    def body(self) -> bytes:
        return self.raw[len(self.kind) + 4 :]

    @property
    def code(self) -> int:
        """Of a message without a type: the protocol version, or what is asked for instead."""
        return int(struct.unpack("!i", self.body[:4])[0])


class Splitter:
    """Cuts a stream into messages. What is not complete yet stays in `rest`."""

    def __init__(self, *, typed: bool) -> None:
        self.typed = typed
        self.rest = b""

    def feed(self, data: bytes) -> list[Message]:
        self.rest += data
        found = []
        while (message := self._next()) is not None:
            found.append(message)
        return found

    def _next(self) -> Message | None:
        head = 5 if self.typed else 4
        if len(self.rest) < head:
            return None
        length = struct.unpack("!i", self.rest[head - 4 : head])[0] + head - 4
        if len(self.rest) < length:
            return None
        raw, self.rest = self.rest[:length], self.rest[length:]
        kind = raw[:1] if self.typed else b""
        if not self.typed:
            # asking for encryption is answered by one byte, and then the real one follows
            self.typed = Message(kind, raw).code not in (SSL, GSS, CANCEL)
        return Message(kind, raw)


class Statements:
    """What a session was asked to execute and has not answered yet, in order."""

    def __init__(self) -> None:
        self._prepared: dict[bytes, bytes] = {}
        self._bound = b""
        self.waiting: deque[tuple[bytes | None, bool]] = deque()
        """What was sent and not answered yet, and whether ready-for-query ends it. Several statements may come before one
        sync, which is the None."""

    def sent(self, message: Message) -> bytes | None:
        """The text that a message of the client executes, if it does."""
        body = message.body
        if message.kind == b"Q":
            text = body.rstrip(b"\0")
        elif message.kind == b"P":
            name, text, _ = body.split(b"\0", 2)
            self._prepared[name] = text
            return None
        elif message.kind == b"B":
            self._bound = self._prepared.get(body.split(b"\0", 2)[1], b"")
            return None
        elif message.kind == b"E":
            text = self._bound
        elif message.kind == b"S":
            self.waiting.append((None, True))
            return None
        else:
            return None
        self.waiting.append((text, message.kind == b"Q"))
        return text

    def answered(self, message: Message) -> bytes | None:
        """The statement that a message of the server is the end of."""
        if message.kind in (b"C", b"I", b"E", b"s") and self.waiting:
            # a simple query of many statements has many ends; the last comes with ready-for-query
            text, until_ready = self.waiting[0]
            if not until_ready:
                self.waiting.popleft()
            return text
        if message.kind == b"Z":
            # what an error skipped is over, too
            while self.waiting and not self.waiting.popleft()[1]:
                pass
        return None
