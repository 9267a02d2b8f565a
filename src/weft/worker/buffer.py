"""The local buffer: claimed tasks that no runner has taken yet. Orgs take turns, each in its own order.

First comes what holds a place under a limit, then one task of each org that came with a little, then the turns of all.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from weft.queue.model import Claimed


class Buffer:
    """A queue of queues. A runner pops; it awaits, and touches the loop, only when there is nothing."""

    def __init__(self) -> None:
        self._orgs: dict[str, deque[Claimed]] = {}
        self._turns: deque[str] = deque()
        self._fresh: deque[str] = deque()
        self._first: deque[Claimed] = deque()
        self._count = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self.low = 0
        self.on_low: Callable[[], None] = lambda: None
        """Called when the buffer has shrunk to `low`: time to claim again."""
        self.runners = 0
        self.on_idle: Callable[[], None] = lambda: None
        """Called when as many as there are runners wait, and nothing is here: all that was is done."""

    def __len__(self) -> int:
        return self._count

    @property
    def idle(self) -> int:
        """How many runners wait for work and will find none when all that is here has been taken."""
        return max(len(self._waiting) - self._count, 0)

    @property
    def orgs(self) -> Iterable[str]:
        """Whose work waits here."""
        return self._orgs.keys()

    @property
    def fresh(self) -> bool:
        """Whether there is something that runners are kept for."""
        return bool(self._first or self._fresh)

    def put(self, tasks: Iterable[Claimed], *, fresh: bool = False) -> None:
        """`fresh`: these are of orgs that come with a little, while others have much."""
        added = 0
        for task in tasks:
            line = self._orgs.get(task.org)
            if line is None:
                line = self._orgs[task.org] = deque()
                if fresh:
                    self._fresh.append(task.org)
                else:
                    # whoever comes new is next, before those who have been served all along
                    self._turns.appendleft(task.org)
            line.append(task)
            added += 1
        self._count += added
        self.wake(min(added, 1))

    def put_first(self, tasks: Iterable[Claimed]) -> None:
        """Before all others: work under a limit holds its place from the claim on."""
        before = len(self._first)
        self._first.extend(tasks)
        added = len(self._first) - before
        self._count += added
        self.wake(min(added, 1))

    def pop(self, *, only_fresh: bool = False) -> Claimed | None:
        """The next task, or None. `only_fresh`: of those that runners are kept for."""
        if self._first:
            self._count -= 1
            return self._first.popleft()
        if self._fresh:
            # one of theirs goes before all others; if they have more, these have turns like everybody's
            self._turns.appendleft(self._fresh.popleft())
        elif only_fresh or not self._turns:
            return None
        org = self._turns[0]
        line = self._orgs[org]
        task = line.popleft()
        self._count -= 1
        if self._count == self.low:
            self.on_low()
        if line:
            self._turns.rotate(-1)
        else:
            self._turns.popleft()
            del self._orgs[org]
        return task

    def pop_like(self, first: Claimed, *, at_most: int) -> list[Claimed]:
        """More tasks of the same kind and org, for a batch handler. None beside one whose worker was lost."""
        line = self._orgs.get(first.org)
        more: list[Claimed] = []
        while line and len(more) < at_most and line[0].kind == first.kind and not first.losses + line[0].losses:
            more.append(line.popleft())
        self._count -= len(more)
        if line is not None and not line:
            del self._orgs[first.org]
            (self._fresh if first.org in self._fresh else self._turns).remove(first.org)
        return more

    async def wait(self) -> None:
        """Until woken."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        if not self._count and len(self._waiting) == self.runners:
            self.on_idle()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            elif self._count:
                # our turn came as we were cancelled: pass it on
                self.wake(1)
            raise

    def wake(self, count: int, *, but: int = 0) -> None:
        """Wakes as many of those who wait, all but some. What comes in wakes one, who sees to the others (`Runners`)."""
        while count > 0 and len(self._waiting) > but:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                count -= 1

    def drain(self) -> list[Claimed]:
        """Everything nobody has started; the buffer is empty afterwards."""
        left = [*self._first, *(task for line in self._orgs.values() for task in line)]
        self._first.clear()
        self._orgs.clear()
        self._turns.clear()
        self._fresh.clear()
        self._count = 0
        return left
