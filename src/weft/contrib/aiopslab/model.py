"""What is said over this API, in the seed's words: the same types check requests, write answers and make the document."""

import datetime as dt
import uuid
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from weft.api import fields, pages

KIND = "aiopslab.problem"
QUEUE = "aiopslab"

OFFLINE = dt.timedelta(seconds=60)
"""How long after its last heartbeat a worker is offline, and what it runs is lost."""
HEARTBEAT = dt.timedelta(seconds=30)
FORGOTTEN = dt.timedelta(days=7)
"""How long a worker is offline before its name is free again."""

WORKER_ID = r"^worker-[0-9]{3}-kind\Z"
"""As msgspec searches it: `$` would let a line end through."""

Status = Literal["pending", "running", "completed", "failed", "timeout"]
WorkerStatus = Literal["idle", "busy", "offline"]
Level = Literal["debug", "info", "warning", "error", "critical"]

Object = dict[str, Any]
ProblemId = Annotated[
    str,
    Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z",
         extra_json_schema={"pattern": r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"},
         description="The problem, by its AIOpsLab identifier; not blank."),
]  # fmt: skip
WorkerId = Annotated[
    str,
    Meta(pattern=WORKER_ID, max_length=15, extra_json_schema={"pattern": "^worker-[0-9]{3}-kind$"},
         description="`worker-001-kind`: the name of its cluster."),
]  # fmt: skip
BackendType = Annotated[
    str,
    Meta(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*\Z",
         extra_json_schema={"pattern": r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"}),
]  # fmt: skip
Text = Annotated[str, Meta(max_length=65_536)]
Glob = Annotated[str, Meta(min_length=1, max_length=255)]


class NewTask(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A problem to be run. Everything but `problem_id` has a default."""

    problem_id: ProblemId
    agent_config: Object = msgspec.field(default_factory=dict)
    max_steps: Annotated[int, Meta(ge=1, le=1000)] = 30
    timeout_minutes: Annotated[int, Meta(ge=1, le=180)] = 30
    callback_url: Annotated[
        str, Meta(min_length=1, max_length=8192, description="http(s); told when the task has ended.")
    ] | None = None
    metadata: Object = msgspec.field(default_factory=dict)
    priority: Annotated[int, Meta(ge=0, le=10, description="Higher first.")] = 5


class Parameters(msgspec.Struct, kw_only=True):
    """What was asked for."""

    agent_config: Object
    max_steps: int
    timeout_minutes: int
    metadata: Object
    priority: int
    callback_url: str | UnsetType = UNSET


class Context(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Where a line of the log comes from."""

    step: Annotated[int, Meta(ge=0, le=1_000_000)] | UnsetType = UNSET
    action: Text | UnsetType = UNSET
    details: Object | UnsetType = UNSET


class Log(msgspec.Struct, kw_only=True):
    """A line of a task's log."""

    id: uuid.UUID
    task_id: uuid.UUID
    timestamp: dt.datetime
    level: Level
    message: str
    context: Object


class Result(msgspec.Struct, kw_only=True):
    """What came of it."""

    logs: list[Log]
    metrics: Object
    output: Object


class Callback(msgspec.Struct, kw_only=True):
    """What became of telling the caller."""

    id: uuid.UUID
    state: Literal["waiting", "delivered", "dead"]
    attempts: int
    status: int | UnsetType = UNSET
    problem: str | UnsetType = UNSET
    next_attempt_at: dt.datetime | UnsetType = UNSET
    delivered_at: dt.datetime | UnsetType = UNSET


class Task(msgspec.Struct, kw_only=True):
    """A task in a list."""

    id: uuid.UUID
    problem_id: str
    status: Status
    parameters: Parameters
    created_at: dt.datetime
    updated_at: dt.datetime
    worker_id: str | UnsetType = UNSET
    started_at: dt.datetime | UnsetType = UNSET
    completed_at: dt.datetime | UnsetType = UNSET


class TaskDetails(Task, kw_only=True):
    """A task, and what came of it."""

    error_details: str | UnsetType = UNSET
    result: Result | UnsetType = UNSET
    logs: list[Log] = msgspec.field(default_factory=list)
    callbacks: list[Callback] = msgspec.field(default_factory=list)


class Tasks(msgspec.Struct, kw_only=True):
    """A page of tasks."""

    tasks: list[Task]
    total: int
    limit: int
    offset: int
    next_cursor: str | UnsetType = UNSET
    """Goes on after this page, whatever is submitted meanwhile; left out on the last one."""


class Place(msgspec.Struct, frozen=True):
    """Where a page of tasks ended: what it is sorted by, as numbers, and the id."""

    first: Annotated[str, Meta(pattern=r"^-?[0-9]{1,20}(\.[0-9]{1,9})?\Z")]
    second: Annotated[str, Meta(pattern=r"^-?[0-9]{1,20}(\.[0-9]{1,9})?\Z")]
    id: uuid.UUID


class TaskQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which tasks, and in which order."""

    status: Status | None = None
    problem_id: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    worker_id: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    offset: Annotated[int, Meta(ge=0, le=1_000_000_000)] = 0
    cursor: pages.Cursor | None = None
    """Instead of an offset."""
    sort: Annotated[
        str,
        Meta(pattern=r"^[-+ ]?(created_at|priority)(,[-+ ]?(created_at|priority))?\Z",
             extra_json_schema={"pattern": r"^[-+ ]?(created_at|priority)(,[-+ ]?(created_at|priority))?$"},
             description="`-created_at`, `priority`, or both with a comma; `-` turns the order round."),
    ] = "-created_at"  # fmt: skip


class OneQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How much of a task."""

    include_logs: bool = False


class LogQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which lines."""

    level: Level | None = None
    since: fields.Instant | None = None


class Logs(msgspec.Struct, kw_only=True):
    """The log of a task, oldest first."""

    task_id: uuid.UUID
    logs: list[Log]


class Statistics(msgspec.Struct, kw_only=True):
    """Tasks made in the last 24 hours. `avg_duration` is in seconds; `success_rate` is of those that have ended."""

    total: int
    pending: int
    running: int
    completed: int
    failed: int
    timeout: int
    success_rate: float
    avg_duration: float | UnsetType = UNSET


class Capabilities(msgspec.Struct, kw_only=True):
    """What a worker can do. Further keys are kept."""

    max_parallel_tasks: Annotated[int, Meta(ge=1, le=1000)]
    supported_problems: Annotated[
        list[Glob], Meta(max_length=1000, description="Problems it takes, with `*` and `?`; none: all.")
    ] = msgspec.field(default_factory=list)


_CAPABILITIES = {
    "properties": {
        "max_parallel_tasks": {"type": "integer", "minimum": 1, "maximum": 1000},
        "supported_problems": {
            "type": "array", "maxItems": 1000, "items": {"type": "string", "minLength": 1, "maxLength": 255}
        },
    },
    "required": ["max_parallel_tasks"],
}  # fmt: skip


class NewWorker(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A worker that introduces itself."""

    id: WorkerId
    backend_type: BackendType
    capabilities: Annotated[
        Object, Meta(extra_json_schema=_CAPABILITIES, description="`max_parallel_tasks`, and globs of `supported_problems`.")
    ]
    metadata: Object = msgspec.field(default_factory=dict)


class Worker(msgspec.Struct, kw_only=True):
    """A worker. It has a `current_task_id` exactly when it is busy."""

    id: str
    backend_type: str
    status: WorkerStatus
    last_heartbeat: dt.datetime
    capabilities: Object
    metadata: Object
    registered_at: dt.datetime
    tasks_completed: int
    tasks_failed: int
    current_task_id: uuid.UUID | UnsetType = UNSET
    running_task_ids: list[uuid.UUID] = msgspec.field(default_factory=list)


class Workers(msgspec.Struct, kw_only=True):
    workers: list[Worker]
    total: int


class WorkerQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Which workers."""

    status: WorkerStatus | None = None
    backend_type: Annotated[str, Meta(min_length=1, max_length=255)] | None = None


class Heartbeat(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A sign of life. One that says `idle` is given the next task, if there is one."""

    worker_id: WorkerId
    status: Literal["idle", "busy"] = "idle"
    current_task_id: uuid.UUID | None = None


class Beaten(msgspec.Struct, kw_only=True):
    """`next_task_id` was claimed for this worker. Whatever it runs that is not in `running_task_ids` it must stop."""

    acknowledged: bool
    running_task_ids: list[uuid.UUID]
    next_task_id: uuid.UUID | UnsetType = UNSET
    next_task: TaskDetails | UnsetType = UNSET


class NewLog(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    level: Level = "info"
    message: Text
    timestamp: fields.Instant | UnsetType = UNSET
    context: Context = msgspec.field(default_factory=Context)


class NewLogs(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Lines for a task's log. Their times are moved into the time the task runs."""

    logs: Annotated[list[NewLog], Meta(min_length=1, max_length=1000)]


class Kept(msgspec.Struct, kw_only=True):
    """How many were stored."""

    accepted: int


class NewMessage(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    role: Annotated[str, Meta(min_length=1, max_length=64)]
    content: Text


class NewMessages(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the agent and its model said to each other."""

    messages: Annotated[list[NewMessage], Meta(min_length=1, max_length=1000)]


class Message(msgspec.Struct, kw_only=True):
    timestamp: dt.datetime
    role: str
    content: str


class Conversation(msgspec.Struct, kw_only=True):
    """What was said while a task ran, in order."""

    task_id: uuid.UUID
    messages: list[Message]


class Completed(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """How a problem went. Unsolved is completed too: the output says so."""

    output: Object = msgspec.field(default_factory=dict)
    metrics: Object = msgspec.field(default_factory=dict)


class Failed(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Why it could not be run to its end."""

    error: Annotated[str, Meta(min_length=1, max_length=65_536)]
    timed_out: bool = False
    """It took longer than its time."""
    metrics: Object = msgspec.field(default_factory=dict)


class CallbackKey(msgspec.Struct, kw_only=True):
    """What callbacks of this org are signed with (`whsec_…`)."""

    key: str


class Health(msgspec.Struct, kw_only=True):
    status: Literal["healthy", "unhealthy"]
    version: str
    details: Object = msgspec.field(default_factory=dict)
