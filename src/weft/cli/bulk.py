"""Many tasks from a file: checked as a whole, then sent in batches, each of which is enqueued once or not at all."""

import tempfile
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from weft.base import errors, json
from weft.cli import connecting, output
from weft.cli.connecting import Where

MOST = 1000
LARGEST = 900_000
"""Bytes of payloads in one request, which may be a mebibyte with everything around them."""

_IN_MEMORY = 16 * 1024 * 1024


class Lines:
    """Payloads that were found to be valid, to be read once."""

    def __init__(self, stored: IO[bytes], *, count: int) -> None:
        self._stored = stored
        self.count = count

    def batches(self, *, overhead: int) -> Iterator[list[msgspec.Raw]]:
        """As many as fit into a request, in which each takes so many bytes more."""
        batch: list[msgspec.Raw] = []
        size = 0
        self._stored.seek(0)
        for line in self._stored:
            taken = len(line) + overhead
            if batch and (len(batch) == MOST or size + taken > LARGEST):
                yield batch
                batch, size = [], 0
            batch.append(msgspec.Raw(line))
            size += taken
        if batch:
            yield batch


def read(source: IO[bytes], *, skip: int) -> Lines:
    """Every payload but the first few; InvalidPayload, naming the line, if one is none. Empty lines do not count."""
    # closed with the process; a pipe can be read only once, and nothing may be sent before all was seen
    stored = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115
    seen = 0
    for number, line in enumerate(source, start=1):
        if not line.strip():
            continue
        seen += 1
        if seen > skip:
            stored.write(_checked(line, number) + b"\n")
    return Lines(stored, count=max(seen - skip, 0))


async def send(lines: Lines, task: dict[str, Any], *, where: Where, skip: int) -> int:
    """Enqueues one task like `task` for each payload; answers how many."""
    done = 0
    async with connecting.connected(where) as client:
        with output.progress("enqueueing", total=lines.count) as advance:
            for batch in lines.batches(overhead=len(msgspec.json.encode(task)) + 20):
                body = {"tasks": [{**task, "payload": payload} for payload in batch]}
                try:
                    await client.post("/v1/tasks/batch", body, repeat=True)
                except errors.WeftError as error:
                    if done == 0:
                        raise
                    # the class says who must act; the message, how to go on
                    raise type(error)(
                        f"{error.message}; {done} of {lines.count} are enqueued: go on with --skip {skip + done}"
                    ) from error
                done += len(batch)
                advance(len(batch))
    return done


def _checked(line: bytes, number: int) -> bytes:
    try:
        found = msgspec.convert(json.parsed(line), dict[str, Any])
        return json.text(found).encode()
    except ValueError as error:
        raise errors.InvalidPayload(f"line {number} is no JSON object: {error}; nothing was enqueued") from None
    except errors.InvalidPayload as error:
        raise errors.InvalidPayload(f"line {number}: {error.message}; nothing was enqueued") from None
