"""The replayer: runs workflow code against its history. Pure: it executes nothing, it only says what is wanted.

The code is driven by hand (`send`), not by an event loop. History is told one record at a time, in the order of their
numbers, and after each the code runs until all its branches wait: so branches that share a variable, and races, come
out the same each time. A record that fits nothing the code has asked for by then means that the code is not the one
which wrote the history: `HistoryMismatch`, and both sides are named.
"""

import datetime as dt
import inspect
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple

import msgspec

from weft.base import errors
from weft.sdk import operation as operations
from weft.sdk.operation import NOWHERE, Answer, Branch, ContinueAsNew, Join, Operation, Origin, Record


class Cause(NamedTuple):
    """The steps whose failure ended the code, by name#position; and one that it went on with after they had failed."""

    steps: list[str]
    after: str | None = None


class Replayer:
    """One run of one workflow, from its start to where it waits."""

    def __init__(
        self, function: Callable[..., Coroutine[Any, Any, Any]], arguments: dict[str, Any], *, run_id: str,
        started: dt.datetime, history: Iterable[Record] = (), markers: Iterable[str] = (), origin: Origin = NOWHERE,
    ) -> None:  # fmt: skip
        self.run_id = run_id
        self._origin = origin
        self.finished = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.published: Any = None
        """What `set_state` said last; a list of one, or None."""
        self.answers: list[Answer] = []
        """To requests, not saved yet."""
        self.markers = set(markers)
        self.new_markers: list[str] = []
        self.told: list[Record] = []
        """Every record so far, in order."""
        self._begun: list[tuple[int, str]] = []
        """For each of them, how many the code had been told when it asked for it, and in which branch it did."""
        self.issued: dict[str, Operation] = {}
        self.wanted: list[Operation] = []
        """Asked for since the last look."""
        self.dropped: list[Operation] = []
        """Not wanted any more, since the last look: the losers of a race."""
        self._now = started
        self._history = deque(sorted(history))
        self._keys: set[str] = set()
        self._answers: dict[str, bool] = {}
        self._ready: deque[Branch] = deque()
        self._main = Branch(self, "", function(**arguments))
        self._ready.append(self._main)

    @property
    def number(self) -> int:
        """That of the last record."""
        return self.told[-1].number if self.told else 0

    def go_on(self) -> None:
        """Until everything waits for what is not in history, or the code has ended."""
        self._run()
        while self._history:
            record = self._history.popleft()
            if self.finished and not self._is_loser(record):
                raise errors.HistoryMismatch(
                    f"the code has ended, but its history goes on with {_named(record)}", position=record.position
                )
            self.tell(record)
            self._run()

    def _is_loser(self, record: Record) -> bool:
        """Whether it is of something that was not wanted any more when the code ended, and was committed all the same."""
        operation = self.issued.get(record.position)
        return operation is not None and operation.waiter is None and operation.kind == record.kind

    def tell(self, record: Record) -> None:
        """An operation is over. The code runs on with the next `go_on`."""
        operation = self.issued.pop(record.position, None)
        if operation is None or (operation.kind, operation.name) != (record.kind, record.name):
            there = "nothing" if operation is None else repr(operation)
            raise errors.HistoryMismatch(
                f"history has {_named(record)}, where the code asks for {there}{self._others(operation)}; finish the run "
                f"with the code that began it, or tell the versions apart with patched() or version=",
                position=record.position, recorded=f"{record.kind} {record.name}",
                found=None if operation is None else f"{operation.kind} {operation.name}",
            )  # fmt: skip
        if record.ok:
            operation.over(_read(operation, record))
        else:
            operation.over(None, _raised(record))
        self.told.append(record)
        self._begun.append((operation.since, operation.branch.path))
        if record.at is not None:
            self._now = max(self._now, record.at)
        self._wake(operation)

    def cause(self) -> Cause:
        """Why the code failed: what to do again if it is to go on from there."""
        failures, wrapped = _failures(self.error)
        steps = [one.details["node"] for one in failures]
        if not steps:
            return Cause([])
        nodes = {_node(record): index for index, record in enumerate(self.told)}
        failed = [(nodes[one], self._begun[nodes[one]][1]) for one in steps]
        causes = set(steps)
        after = next((
            node for node, (since, path) in zip(nodes, self._begun, strict=True)
            if node not in causes and any([since > index and _follows(path, own) for index, own in failed])
        ), None)  # fmt: skip
        if after is not None and wrapped:
            return Cause([])  # an error of the code itself, which had coped with the step's
        return Cause(steps, after)

    def take_wanted(self) -> list[Operation]:
        wanted, self.wanted = self.wanted, []
        # a race may have been lost, in history, before it was looked at
        return [one for one in wanted if one.position in self.issued and one.waiter is not None]

    def take_dropped(self) -> list[Operation]:
        dropped, self.dropped = self.dropped, []
        return dropped

    def close(self) -> None:
        """The code is not run any further."""
        self._close(self._main)

    # what operations ask of their driver

    def issue(self, operation: Operation, waiter: Any) -> None:
        if operation.issued:
            raise errors.Conflict(f"{operation!r} is awaited twice at once; call it again instead")
        operation.issued, operation.waiter, operation.since = True, waiter, len(self.told)
        self.issued[operation.position] = operation
        self.wanted.append(operation)

    def open(self, join: Join) -> None:
        while (following := join.next()) is not None:
            index, awaitable = following
            if isinstance(awaitable, Operation):
                join.opened.append(awaitable)
                if awaitable.done:
                    self._ended(join, index, awaitable)
                else:
                    self.issue(awaitable, _Place(join, index))
            else:
                coroutine = awaitable if inspect.iscoroutine(awaitable) else _awaited(awaitable)
                branch = Branch(self, f"{join.path}.{index}.", coroutine, join, index)
                join.opened.append(branch)
                self._ready.append(branch)

    def keyed(self, key: str) -> str:
        if key in self._keys:
            raise errors.InvalidInput(f"the key {key!r} is used twice in this run; each call needs its own")
        self._keys.add(key)
        return f"={key}"

    def now(self) -> dt.datetime:
        return self._now

    def draw(self, position: str) -> tuple[str, str]:
        """Whose dice are thrown, and which throw it is."""
        number, life = self.number, self._origin.life
        owner = next((run for run, last in self._origin.owners if number < last), self.run_id)
        return owner, f"{life}:{position}" if life else position

    def patched(self, name: str) -> bool:
        if name not in self._answers:
            self._answers[name] = name in self.markers or not self._history
            if self._answers[name] and name not in self.markers:
                self.markers.add(name)
                self.new_markers.append(name)
        return self._answers[name]

    def publish(self, value: Any) -> None:
        self.published = [value]

    def answer(self, answer: Answer) -> None:
        # what was answered before the end of history is saved: it went with the next record at the latest
        if not self._history:
            self.answers.append(answer)

    # driving

    def _run(self) -> None:
        while self._ready and not self.finished:
            branch = self._ready.popleft()
            if not branch.closed:
                self._send(branch)

    def _send(self, branch: Branch) -> None:
        branch.awaits = None
        before = operations.enter(branch)
        try:
            yielded = branch.coroutine.send(None)
        except StopIteration as stopped:
            self._returned(branch, stopped.value, None)
        except (errors.HistoryMismatch, errors.ForeignAwait):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - user code: it fails the run, or whoever gathers the branch
            self._returned(branch, None, error)
        except ContinueAsNew as signal:
            self._returned(self._main, None, signal)
        else:
            self._yielded(branch, yielded)
        finally:
            operations.leave(before)

    def _yielded(self, branch: Branch, yielded: Any) -> None:
        branch.awaits = yielded
        if isinstance(yielded, Operation) and yielded.branch.driver is self:
            self.issue(yielded, branch)
        elif isinstance(yielded, Join) and yielded.branch.driver is self:
            yielded.waiting = True
            self.open(yielded)
            if yielded.finished:
                self._joined(yielded)
        else:
            what = "something that only gives way (asyncio.sleep(0)?)" if yielded is None else repr(yielded)[:200]
            branch.coroutine.close()
            raise errors.ForeignAwait(
                f"the workflow awaited {what}, which cannot be replayed; do it in a step (@app.step) and await that, or "
                f"use app.sleep, app.gather, app.wait_for"
            )

    def _returned(self, branch: Branch, value: Any, error: BaseException | None) -> None:
        branch.closed = True
        if branch.join is None:
            self.finished, self.value, self.error = True, value, error
            self._drop_all()
            return
        branch.join.ended(branch.index, value, error)
        self._after(branch.join)

    def _wake(self, operation: Operation) -> None:
        waiter = operation.waiter
        if isinstance(waiter, _Place):
            self._ended(waiter.join, waiter.index, operation)
            self._after(waiter.join)
        elif isinstance(waiter, Branch) and not waiter.closed:
            self._ready.append(waiter)

    @staticmethod
    def _ended(join: Join, index: int, operation: Operation) -> None:
        try:
            value, failed = operation.result(), None
        except Exception as error:  # noqa: BLE001 - a step's
            value, failed = None, error
        join.ended(index, value, failed)

    def _after(self, join: Join) -> None:
        if join.finished:
            self._joined(join)
        else:
            self.open(join)
            if join.finished:
                self._joined(join)

    def _joined(self, join: Join) -> None:
        join.discard()
        for one in join.opened:
            if isinstance(one, Branch):
                self._close(one)
            elif not one.done:
                self._drop(one)
        if join.waiting and not join.branch.closed:
            join.waiting = False
            self._ready.append(join.branch)

    def _close(self, branch: Branch) -> None:
        """Ends a branch that nobody waits for any more, and what it waits for."""
        if branch.closed:
            return
        branch.closed = True
        if isinstance(branch.awaits, Operation):
            self._drop(branch.awaits)
        elif isinstance(branch.awaits, Join):
            branch.awaits.discard()
            for one in branch.awaits.opened:
                self._close(one) if isinstance(one, Branch) else self._drop(one)
        before = operations.enter(None)
        try:
            branch.coroutine.close()
        except RuntimeError:
            pass  # it awaited in a finally: nothing of that is done
        finally:
            operations.leave(before)

    def _drop(self, operation: Operation) -> None:
        if not operation.done and operation.position in self.issued:
            operation.waiter = None
            self.dropped.append(operation)

    def _drop_all(self) -> None:
        for operation in self.issued.values():
            operation.waiter = None
            self.dropped.append(operation)

    def _others(self, operation: Operation | None) -> str:
        if operation is not None or not self.issued:
            return ""
        return " there (it waits for " + ", ".join(repr(one) for one in list(self.issued.values())[:3]) + ")"


class _Place:
    """A place in a join that an operation fills."""

    __slots__ = ("index", "join")

    def __init__(self, join: Join, index: int) -> None:
        self.join, self.index = join, index

    def told(self, operation: Operation) -> None: ...


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _read(operation: Operation, record: Record) -> Any:
    try:
        return operation.reads(record.output) if operation.reads else None
    except msgspec.ValidationError as error:
        raise errors.HistoryMismatch(
            f"what history has of {_named(record)} does not fit the type that the code says now: {error}; finish the run "
            f"with the code that began it, or tell the versions apart with patched() or version=",
            position=record.position, recorded=f"{record.kind} {record.name}", found=f"{operation.kind} {operation.name}",
        ) from None  # fmt: skip


def _raised(record: Record) -> Exception:
    error = record.error or {}
    if record.kind == "signal":
        return errors.InvalidPayload(str(error.get("message")), node=_node(record))
    return errors.StepFailed(
        f"{record.name} failed: {error.get('message') or error.get('type')}", step=record.name,
        error_type=error.get("type"), error=error, node=_node(record),
    )  # fmt: skip


def _failures(error: BaseException | None) -> tuple[list[errors.WeftError], bool]:
    """What failed of that which the code awaited, if that is why it failed; and whether it was made another error of."""
    wrapped, seen = False, set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, errors.WeftError) and "node" in error.details:
            others = error.beside if isinstance(error, errors.StepFailed) else ()
            beside = [one for other in others for one in _failures(other)[0]]
            return [error, *beside], wrapped
        wrapped, error = True, error.__cause__ or error.__context__
    return [], wrapped


def _follows(path: str, own: str) -> bool:
    """Whether what a branch does may follow from what happened in another: not if they only run beside each other."""
    return path.startswith(own) or own.startswith(path)


def _node(record: Record) -> str:
    return f"{record.name}#{record.position}"


def _named(record: Record) -> str:
    return f"{record.kind} {record.name!r} at {record.position}"
