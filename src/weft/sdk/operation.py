"""Durable operations: what workflow code awaits. Each has a position, which is the same every time the code is run.

A position is the path of branches and a counter within the branch: the third operation of a workflow is at `3`; the
first one inside the second branch of a gather at `4` is at `4.1.1`. An explicit key replaces it: `=key`.
"""

import contextvars
import dataclasses
import datetime as dt
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from weft.base import errors

Kind = Literal["step", "transaction", "sleep", "signal", "start", "child", "compensation"]


class Record(NamedTuple):
    """An operation that is over: one checkpoint. `number` counts them in the order the code was told."""

    number: int
    position: str
    kind: str
    name: str
    ok: bool
    output: str | None = None
    """JSON text."""
    error: dict[str, Any] | None = None
    at: dt.datetime | None = None
    attempt: int = 1
    undo: str | None = None
    """JSON text: how to undo it, {"compensate": name, "arguments": {…}}."""
    message: int | None = None
    """The message it took out of the run's inbox."""
    began: dt.datetime | None = None
    """When it was begun, for those who look at it; the code is never told."""


class Waiter(Protocol):
    """Who goes on when an operation is over."""

    def told(self, operation: "Operation") -> None: ...


class Driver(Protocol):
    """The replayer, as operations see it."""

    def issue(self, operation: "Operation", waiter: Waiter) -> None: ...
    def open(self, join: "Join") -> None: ...
    def keyed(self, key: str) -> str: ...
    def now(self) -> dt.datetime: ...
    def patched(self, name: str) -> bool: ...
    def publish(self, value: Any) -> None: ...
    def answer(self, answer: "Answer") -> None: ...
    def draw(self, position: str) -> tuple[str, str]: ...
    @property
    def run_id(self) -> str: ...


class Origin(NamedTuple):
    """Where a run's history comes from, so that its dice fall as they fell when that was made."""

    life: int = 0
    """How often it has continued as new."""
    owners: Sequence[tuple[str, int]] = ()
    """Of a fork: the runs whose history it was given, each with the number of the last record up to which it is theirs."""


NOWHERE = Origin()


class Operation:
    """Something durable that is wanted. Awaiting it asks for it, once."""

    __slots__ = (
        "_failed", "_value", "about", "branch", "done", "due", "issued", "kind", "name", "position", "reads", "since",
        "waiter",
    )  # fmt: skip

    def __init__(
        self, branch: "Branch", kind: Kind, name: str, *, about: Any = None, key: str | None = None,
        due: dt.datetime | None = None, reads: Callable[[str | None], Any] | None = None,
    ) -> None:  # fmt: skip
        self.branch = branch
        self.kind = kind
        self.name = name
        self.about = about
        """What whoever carries it out needs to know."""
        self.due = due
        self.reads = reads
        """JSON text → its value."""
        self.position = branch.next() if key is None else branch.driver.keyed(key)
        self.issued = self.done = False
        self.since = 0
        """How much of history the code had been told when it asked for it."""
        self.waiter: Waiter | None = None
        self._value: Any = None
        self._failed: Exception | None = None

    def __await__(self) -> Generator["Operation", None, Any]:
        if not self.done:
            yield self
        return self.result()

    def over(self, value: Any, failed: Exception | None = None) -> None:
        self.done, self._value, self._failed = True, value, failed

    def result(self) -> Any:
        if self._failed is not None:
            raise self._failed
        return self._value

    def __repr__(self) -> str:
        return f"{self.kind} {self.name!r} at {self.position}"


ASKED = "asked"
"""What a signal is about whose sender waits for an answer."""


class Request(NamedTuple):
    """What somebody asks of a run and waits for: its value, and whom `app.answer` answers."""

    value: Any
    id: int | None = None


class Answer(NamedTuple):
    """To a request: JSON text, or why not."""

    request: int
    value: str | None
    refused: str | None = None


class Won(NamedTuple):
    """The first of a race: which one, and its value."""

    which: int
    value: Any


class Join:
    """Several at once: `gather`, `map` and `race`. The branches it opens are named by its position."""

    __slots__ = (
        "_make", "branch", "failed", "finished", "first", "left", "limit", "opened", "path", "quiet", "results", "waiting",
    )  # fmt: skip

    def __init__(
        self, branch: "Branch", make: Sequence[Callable[[], Awaitable[Any]]], *, first: bool = False,
        limit: int | None = None, quiet: bool = False,
    ) -> None:  # fmt: skip
        if limit is not None and limit < 1:
            raise errors.InvalidInput(f"limit {limit} must be at least 1")
        if first and not make:
            raise errors.InvalidInput("a race needs at least one to run")
        self.branch = branch
        self.path = branch.next()
        self.first = first
        self.limit = limit or max(len(make), 1)
        self.quiet = quiet
        self._make = list(reversed(make))
        self.results: list[Any] = [None] * len(make)
        self.failed: list[BaseException] = []
        self.left = len(make)
        self.finished = not make
        self.opened: list[Any] = []
        self.waiting = False

    def __await__(self) -> Generator["Join", None, Any]:
        if not self.finished:
            yield self
        if self.failed and not self.quiet:
            first, *others = self.failed
            if others and isinstance(first, errors.StepFailed):
                first.beside = [*first.beside, *others]
            raise first
        return self.results

    def next(self) -> tuple[int, Awaitable[Any]] | None:
        """The next one to begin, if there is one and it may."""
        running = len(self.opened) - (len(self.results) - self.left)
        if not self._make or running >= self.limit or self.finished or (self.failed and not self.quiet):
            return None
        index = len(self.opened)
        return index, self._make.pop()()

    def discard(self) -> None:
        """Those that have not begun never will."""
        while self._make:
            if inspect.iscoroutine(one := self._make.pop()()):
                one.close()

    def ended(self, index: int, value: Any, failed: BaseException | None) -> None:
        """One of them is over. The first of a race ends it; a failure lets those that run end, and starts no more."""
        self.left -= 1
        if failed is not None:
            self.failed.append(failed)
        self.results[index] = value if failed is None else failed
        if self.first:
            self.finished, self.results = True, Won(index, value)  # type: ignore[assignment]
        elif self.failed and not self.quiet:
            self.finished = len(self.opened) == (len(self.results) - self.left)
        else:
            self.finished = self.left == 0


@dataclasses.dataclass(eq=False)
class Branch:
    """Workflow code that runs by itself: the workflow, or one of those a join opened."""

    driver: Driver
    path: str
    coroutine: Coroutine[Any, None, Any]
    join: Join | None = None
    index: int = 0
    count: int = 0
    awaits: Any = None
    closed: bool = False

    def next(self) -> str:
        self.count += 1
        return f"{self.path}{self.count}"

    def told(self, operation: Operation) -> None:
        """See `Waiter`; the replayer looks at `closed` before it goes on."""


class ContinueAsNew(BaseException):
    """The run begins again with other arguments and no history."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        super().__init__("the run begins again")
        self.arguments = arguments


_current: contextvars.ContextVar[Branch | None] = contextvars.ContextVar("weft_branch", default=None)
enter = _current.set
leave = _current.reset


def current() -> Branch | None:
    """The branch of workflow code that runs now, or None outside of one."""
    return _current.get()


def inside(what: str) -> Branch:
    branch = _current.get()
    if branch is None:
        raise errors.Conflict(f"{what} works inside of a workflow only; call it in a function declared with @app.workflow")
    return branch


def lazily(awaitables: Iterable[Awaitable[Any]]) -> list[Callable[[], Awaitable[Any]]]:
    return [lambda one=one: one for one in awaitables]  # type: ignore[misc]
