"""What runs and steps look like in Python. A row becomes one of these here and nowhere else."""

import datetime as dt
from typing import Any, Literal, NamedTuple

import msgspec

from weft.plan.rules import Tally

RunState = Literal[
    "created", "running", "waiting", "paused", "completed", "failed", "compensating", "compensated", "cancelled", "blocked",
]  # fmt: skip
StepState = Literal[
    "pending", "running", "completed", "failed", "timed_out", "cancelled", "upstream_failed", "skipped", "compensated",
]  # fmt: skip
MessageKind = Literal["signal", "child", "cancel", "pause"]
Kind = Literal["dag", "workflow", "flow"]
Status = Literal["active", "paused", "deleted"]
"""Of a definition."""
Trigger = Literal["manual", "schedule", "backfill", "run", "sql"]

ENDED: frozenset[str] = frozenset({"completed", "failed", "timed_out", "cancelled", "upstream_failed", "skipped"})
"""States of a step that is over."""
OVER: frozenset[str] = frozenset({"completed", "failed", "compensated", "cancelled"})
"""States of a run that is over."""


_decode = msgspec.json.decode


class Place(NamedTuple):
    """Where a step is in its run."""

    frame: str
    node: str
    element: int = -1
    catching: bool = False


class Step(msgspec.Struct, gc=False):
    """A step while its run is advanced, in the order `load_steps` selects it."""

    id: str
    frame: str
    node: str
    element: int = -1
    catching: bool = False
    depth: int = 0
    state: StepState = "pending"
    waits: int = 0
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    decided: bool = False
    parts: int = 0
    parts_ended: int = 0
    parts_failed: int = 0
    parts_made: int = 0
    parts_started: int = 0
    block: str | None = None
    params: dict[str, Any] | None = None
    item: Any = None
    task_id: str | None = None
    attempt: int = 0
    reruns: int = 0
    error: dict[str, Any] | None = None
    output: Any = None
    whole: bool = True
    """Whether `output` was read, or is still only in the database."""
    started_at: dt.datetime | None = None

    @property
    def place(self) -> Place:
        return Place(self.frame, self.node, self.element, self.catching)

    @property
    def tally(self) -> Tally:
        return Tally(self.waits, self.succeeded, self.failed, self.skipped, self.decided)

    @tally.setter
    def tally(self, tally: Tally) -> None:
        self.waits, self.decided = tally.total, tally.decided
        self.succeeded, self.failed, self.skipped = tally.succeeded, tally.failed, tally.skipped


class Held(msgspec.Struct):
    """A run whose lock is ours, in the order `lock_runs` selects it."""

    id: str
    org: str
    plan_hash: str
    state: RunState
    name: str
    params: dict[str, Any]
    config: dict[str, Any]
    logical_date: dt.datetime
    parts: int
    parts_ended: int
    parts_failed: int
    error: dict[str, Any] | None = None
    output: dict[str, Any] | None = None
    correlation_id: str | None = None
    trace_parent: str | None = None
    definition_id: str | None = None


class Fact(NamedTuple):
    """How a task of a run ended."""

    run: str
    step: str
    task: str
    state: Literal["completed", "failed", "timed_out", "cancelled"]
    attempt: int
    started_at: dt.datetime | None
    result: Any
    error: dict[str, Any] | None
    written: bool = False
    """Its step has ended so already."""


class Over(NamedTuple):
    """A task that was still held with its token, and its step, which ended with it."""

    run: str
    step: str
    attempt: int
    task: str
    output: str | None
    """JSON text, as the database has it."""
    frame: str
    node: str
    element: int
    catching: bool
    depth: int
    item: str | None
    counted: str | None

    def known(self) -> tuple[Fact, Step]:
        """What is to be told of it, and the step as it was before."""
        waits, succeeded, failed, skipped, reruns = _decode(self.counted) if self.counted else (0, 0, 0, 0, 0)
        step = Step(
            self.step, self.frame, self.node, self.element, self.catching, self.depth, "running", waits, succeeded,
            failed, skipped, True, item=_decode(self.item) if self.item else None, task_id=self.task, reruns=reruns,
        )  # fmt: skip
        output = _decode(self.output) if self.output else None
        return Fact(self.run, step.id, self.task, "completed", self.attempt, None, output, None, True), step


class NewTask(msgspec.Struct, gc=False):
    """A task that a step asks for."""

    id: str
    step: str
    kind: str
    payload: str
    options: dict[str, Any]
    """As `queue.new.common` checked them."""
    pool: str | None = None
