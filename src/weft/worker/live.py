"""A run of a workflow in the hands of a worker: its replayer, what is saved and what is not, what it waits for. No I/O."""

import asyncio
import datetime as dt
import time
from functools import partial
from typing import Any

import msgspec

from weft.base import errors, json
from weft.flows.checkpoint import Written
from weft.flows.workflows import Loaded, Message
from weft.queue.model import Claimed
from weft.sdk.operation import ASKED, NOWHERE, Answer, Operation, Record
from weft.sdk.replayer import Replayer
from weft.sdk.workflow import Workflow


class Live:
    """One wake-up of one run."""

    def __init__(
        self, task: Claimed, workflow: Workflow[Any, Any], loaded: Loaded | None, *, heard: tuple[dt.datetime, float],
        era: str,
    ) -> None:  # fmt: skip
        self.task = task
        self.workflow = workflow
        self.began = time.monotonic()
        self.unsaved: list[Record] = []
        self.later: list[Record] = []
        """Steps whose next attempt is far off, not written yet."""
        self.running: dict[str, asyncio.Task[Any]] = {}
        self.waits: dict[str, Operation] = {}
        self.todo: dict[str, Operation] = {}
        """Asked for and not begun."""
        self.committing: set[str] = set()
        """Positions of transactions that have a number and may be committed any moment."""
        self.messages: list[Message] = [] if loaded is None else loaded.messages
        self.retrying = {} if loaded is None else loaded.retrying
        self.history = [] if loaded is None else loaded.history
        self.undone = set() if loaded is None else loaded.undone
        self.life = f"{era} 0" if loaded is None else loaded.life
        """See `Loaded.life`; its last word is how often the run was set going again."""
        self.told = asyncio.Event()
        self.runner = asyncio.current_task()
        self.stopping = False
        """Whether its runner was cancelled because a message asks for it."""
        self.undoing = False
        self.alone: tuple[str, str] | None = None
        """The step that runs while nothing else does: its name and position."""
        self.shown = ""
        """What others were told that it does."""
        self._seen = ""
        """What it did at the last look."""
        self._taken: set[int] = set()
        self._time = heard
        self._number = max((one.number for one in self.history), default=0)
        self._patches = 0
        payload = task.payload if loaded is None else loaded.params
        function, arguments = workflow.function, {}
        try:
            arguments = workflow.arguments(payload)
        except errors.WeftError as error:
            if not self.history:
                raise
            function = partial(_unfit, workflow, error)  # what it did can still be undone
        self.replayer = Replayer(
            function, arguments, run_id=task.id, started=task.run_at if loaded is None else loaded.created_at,
            history=[one for one in self.history if one.kind != "compensation"],
            markers=() if loaded is None else loaded.patches or (), origin=NOWHERE if loaded is None else loaded.origin,
        )  # fmt: skip

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def now(self) -> dt.datetime:
        """The database's time, give or take a millisecond."""
        return self._time[0] + dt.timedelta(seconds=time.monotonic() - self._time[1])

    def hear(self, now: dt.datetime, asked: float) -> tuple[dt.datetime, float]:
        """The database's time, told no earlier than `asked`."""
        self._time = now, max(asked, time.monotonic() - 0.001)
        return self._time

    def saved(self) -> list[Record]:
        """Its history up to the first record that is not committed yet."""
        first = min((one.number for one in self.unsaved), default=None)
        return self.history if first is None else [one for one in self.history if one.number < first]

    def tell(self, record: Record, *, saved: bool = False) -> None:
        self.history.append(record)
        if not saved:
            self.unsaved.append(record)
        self.replayer.tell(record)

    def asked(self, kind: str) -> Message | None:
        """What an operator wants."""
        return next((one for one in self.messages if one.kind == kind and one.id not in self._taken), None)

    def stale(self) -> list[int]:
        """Messages that nobody will ever take: the ends of children whom an earlier life has started."""
        if not any([one.kind == "child" for one in self.messages]):
            return []
        ours = {json.loads(one.output) for one in self.history if one.kind == "start" and one.output is not None}
        return [one.id for one in self.messages if one.kind == "child" and one.name not in ours]

    def happened(self) -> Record | None:
        """The end of something that was waited for: a message that came, or a time that has."""
        for message in self.messages:
            if message.id not in self._taken and (operation := self._for(message)) is not None:
                self._taken.add(message.id)
                del self.waits[operation.position]
                return self._came(operation, message)
        now = self.now()
        due = [one for one in self.waits.values() if one.due is not None and one.due <= now]
        if not due:
            return None
        first = min(due, key=lambda one: (one.due, one.position))
        del self.waits[first.position]
        return Record(self.next_number(), first.position, first.kind, first.name, True, at=now)

    def look(self) -> str:
        """The steps that run, as others are told: only if they did at the last look too."""
        issued = self.replayer.issued
        steps = [(issued[one].name, one) for one in self.running if one in issued]
        if self.alone is not None:
            steps.append(self.alone)
        before, self._seen = self._seen, ", ".join([f"{name}#{position}" for name, position in steps])
        return self._seen if self._seen == before else ""

    def due(self) -> dt.datetime | None:
        """When the next thing happens by itself."""
        times = [one.due for one in self.waits.values() if one.due is not None]
        issued = self.replayer.issued
        times += [when for position, (_, when) in self.retrying.items() if position in issued and when is not None]
        return min(times, default=None)

    def forget(self) -> None:
        """What lost a race is not waited for any more."""
        if not self.replayer.dropped:
            return
        for operation in self.replayer.take_dropped():
            self.waits.pop(operation.position, None)
            self.todo.pop(operation.position, None)
            self.retrying.pop(operation.position, None)
            if (task := self.running.pop(operation.position, None)) is not None:
                task.cancel()

    def written(self, **words: Any) -> Written:
        """What is to be saved now; it is taken as saved."""
        unsaved, self.unsaved = self.unsaved, []
        later, self.later = self.later, []
        published, self.replayer.published = self.replayer.published, None
        answers, self.replayer.answers = self.replayer.answers, []
        patches = None
        if self.replayer.new_markers:
            patches, self.replayer.new_markers = sorted(self.replayer.markers), []
        return Written(
            run=self.task.id, token=self.task.token, records=unsaved, waits=later, patches=patches, answers=answers,
            published=None if published is None else json.text(published[0], what="set_state"), **words,
        )  # fmt: skip

    @property
    def dirty(self) -> bool:
        told = self.replayer
        return bool(self.unsaved or self.later or told.new_markers or told.published or told.answers)

    def _for(self, message: Message) -> Operation | None:
        for operation in self.waits.values():
            if message.kind == "signal" == operation.kind and operation.name == message.name:
                return operation
            if message.kind == "child" == operation.kind and operation.about == message.name:
                return operation
        return None

    def _came(self, operation: Operation, message: Message) -> Record:
        number, now = self.next_number(), self.now()
        value, error = message.value, message.error
        if message.kind == "signal":
            # in a list: a time that ran out leaves nothing at all
            value = f"[{value or 'null'}, {message.id}]" if operation.about == ASKED else f"[{value or 'null'}]"
        if error is None and (wrong := _wrong(operation, value)) is not None:
            # the code is told that, now and when it is run again; and so is whoever waits for an answer
            value, error = None, {"type": "InvalidPayload", "message": wrong}
            if operation.about == ASKED:
                self.replayer.answers.append(Answer(message.id, None, wrong))
        return Record(
            number, operation.position, operation.kind, operation.name, error is None, value, error, now, message=message.id
        )


def _wrong(operation: Operation, value: str | None) -> str | None:
    """Why what came does not fit what the code waits for."""
    try:
        if operation.reads is not None:
            operation.reads(value)
    except msgspec.ValidationError as error:
        what = f"the signal {operation.name!r}" if operation.kind == "signal" else "its result"
        return f"{what} does not fit the type that is waited for: {error}"
    return None


async def _unfit(workflow: Workflow[Any, Any], error: errors.WeftError) -> None:
    raise errors.HistoryMismatch(
        f"the arguments that the run was started with do not fit workflow {workflow.name!r} any more: {error.message}; "
        f"finish the run with the code that began it, or tell the versions apart with version="
    )
