"""Where a worker's tasks come from and go to: the database itself (`direct.py`), or a server over HTTP (`http.py`).

Everything else about a worker (buffer, runners, children, draining) is the same.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from weft.queue.lease import Line, Progress
from weft.queue.model import Claimed
from weft.settle.outcome import Outcome
from weft.worker.buffer import Buffer
from weft.worker.courtesy import Courtesy


class Claims(Protocol):
    """Keeps the buffer filled."""

    @property
    def claims(self) -> int:
        """How often it has asked."""
        ...

    def nudge(self, payload: str | None = None) -> None: ...
    def settled(self, outcomes: Sequence[Outcome]) -> None: ...
    def stop(self) -> None: ...
    async def run(self) -> None: ...
    async def once(self) -> int: ...
    async def claim_special(self) -> int: ...
    async def thoroughly(self) -> int: ...
    async def more_like(self, first: Claimed, *, at_most: int) -> list[Claimed]: ...
    async def clear_doubts(self) -> None: ...


class Reports(Protocol):
    """Takes outcomes and log lines away."""

    settled: int

    @property
    def idle(self) -> bool: ...
    def add(self, outcome: Outcome) -> None: ...
    def log(self, line: Line) -> None: ...
    async def run(self) -> None: ...
    def finish(self) -> None: ...


class Engine(Protocol):
    """What a worker needs of whoever holds the queue."""

    def claimer(
        self, *, kinds: Sequence[str], queues: Sequence[str], capabilities: Sequence[str], concurrency: int,
        buffer: Buffer, room: Callable[[], int], soon: Callable[[], int], courtesy: Courtesy,
    ) -> Claims: ...  # fmt: skip

    def reporter(
        self, *, on_settled: Callable[[Sequence[Outcome]], None], on_lost: Callable[[Outcome], None],
        wake: Callable[[], None], courtesy: Courtesy,
    ) -> Reports: ...  # fmt: skip

    def attend(
        self, *, nudge: Callable[[str | None], None], revived: Callable[[], None],
        handled: Callable[[], dict[str, list[int]]], busy: Callable[[], bool], drain: Callable[[], None],
    ) -> Callable[[], None]:  # fmt: skip
        """`nudge` is told of work, `revived` that we were taken for dead, `drain` that somebody wants us to stop; `busy`
        says whether we hold tasks. Answers how to stop that."""
        ...

    def lapsed(self, running: Mapping[str, object]) -> list[str]:
        """Those whose lease must be over, because nothing got through for so long."""
        ...

    @property
    def lease(self) -> float:
        """Seconds."""
        ...

    async def exchange(self, reports: Sequence[Progress]) -> dict[str, str]:
        """Says how far attempts are; answers which should stop, and why."""
        ...

    async def secrets(self, task: Claimed, names: Collection[str]) -> Mapping[str, str]:
        """The values of the secrets that a task's payload names, for its attempt that is about to start."""
        ...

    async def still_held(self, attempts: Sequence[tuple[str, str]]) -> set[str]: ...
