"""What happens when flows run, as seed 000 describes it: the entities of its other seven collections, with its names.

What the seed names but leaves open (Facets, Error, EventData, ASTCursor and so on) is defined here in the same manner.
Times are milliseconds since 1970. `weft.afl.entities` has the entities of `flows` and `workflows`.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from weft.afl.entities import Parameter, UserDefinition, WorkflowDefinition

NoteOriginator = Literal["workflow", "agent"]
NoteType = Literal["error", "info", "warning"]


@dataclass
class RunnerDefinition:
    """Workflow execution instance."""

    uuid: str
    workflow_id: str
    workflow: WorkflowDefinition
    parameters: list[Parameter] = field(default_factory=list)
    step_id: str | None = None
    user: UserDefinition | None = None
    start_time: int = 0
    end_time: int = 0
    duration: int = 0
    retain: int = 0
    state: str = "created"


@dataclass
class FacetRecordTimestamp:
    """When a step was made, begun and over."""

    created: int = 0
    started: int = 0
    ended: int = 0


@dataclass
class Facets:
    """What a step was called with, and what came of it."""

    name: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    returns: Any = None


@dataclass
class ExtraStepData:
    """What our steps have besides: which element of a foreach, which task, how often it was tried and set going again."""

    node: str = ""
    element: int = -1
    item: Any = None
    task_id: str | None = None
    attempt: int = 0
    reruns: int = 0
    parts: int = 0
    parts_ended: int = 0
    parts_failed: int = 0


@dataclass
class Error:
    """What went wrong."""

    type: str = "Error"
    message: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class ErrorPersistence:
    """What went wrong with an event."""

    type: str = "Error"
    message: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class StepDefinition:
    """Step execution record."""

    uuid: str
    object_type: str
    runner_id: str
    workflow_id: str
    statement_id: str | None = None
    container_type: str | None = None
    container_id: str | None = None
    root_id: str | None = None
    block_id: str | None = None
    timestamp: FacetRecordTimestamp | None = None
    facets: Facets | None = None
    flow_definition_id: str | None = None
    flow_definition_json: dict[str, Any] | None = None
    extra_data: ExtraStepData | None = None
    lock_status: str = ""
    is_starting_step: bool = False
    parameters: list[Parameter] = field(default_factory=list)
    state: str = ""
    error: Error | None = None


@dataclass
class EventData:
    """What an event's handler is given, and what it answered."""

    payload: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    attempt: int = 0


@dataclass
class ASTCursor:
    """Where in the program an event comes from."""

    statement_id: str | None = None
    block: str = ""
    node: str = ""
    element: int = -1


@dataclass
class EventDefinition:
    """Event for workflow state transitions."""

    uuid: str
    partition_key: str
    correlation_id: str
    purpose: str
    runner_id: str
    topic: str
    handler: str
    state: str
    step_id: str | None = None
    created: int = 0
    updated: int = 0
    event_data: EventData | None = None
    error: ErrorPersistence | None = None
    cursor: ASTCursor | None = None


@dataclass
class TaskDefinition:
    """Async task queue entry."""

    uuid: str
    name: str
    runner_id: str
    workflow_id: str
    flow_id: str
    step_id: str
    state: str = "pending"
    created: int = 0
    updated: int = 0
    error: dict[str, Any] | None = None
    task_list_name: str = "default"
    data_type: str = ""
    data: dict[str, Any] | None = None


@dataclass
class LogDefinition:
    """Audit and execution log entry."""

    uuid: str
    order: int
    runner_id: str
    step_id: str | None = None
    object_id: str = ""
    object_type: str = ""
    note_originator: str = "workflow"
    note_type: str = "info"
    note_importance: int = 5
    message: str = ""
    state: str = ""
    line: int = 0
    file: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    time: int = 0


@dataclass
class HandledCount:
    """Event handling statistics."""

    handler: str
    handled: int = 0
    not_handled: int = 0


@dataclass
class ServerDefinition:
    """Agent/server registration."""

    uuid: str
    server_group: str
    service_name: str
    server_name: str
    server_ips: list[str] = field(default_factory=list)
    start_time: int = 0
    ping_time: int = 0
    topics: list[str] = field(default_factory=list)
    handlers: list[str] = field(default_factory=list)
    handled: list[HandledCount] = field(default_factory=list)
    state: str = "startup"
    manager: str = ""
    error: dict[str, Any] | None = None


@dataclass
class LockMetaData:
    """Lock metadata."""

    topic: str | None = None
    handler: str | None = None
    step_name: str | None = None
    step_id: str | None = None


@dataclass
class LockDefinition:
    """Distributed lock."""

    key: str
    acquired_at: int = 0
    expires_at: int = 0
    meta: LockMetaData | None = None
