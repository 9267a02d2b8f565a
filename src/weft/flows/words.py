"""Our states in the words of seed 002. Pure."""

from typing import Literal, assert_never

from weft.flows.look import StepView
from weft.flows.model import RunState

RunStatus = Literal["PENDING", "RUNNING", "COMPLETED", "FAILED", "CANCELLED"]
TaskStatus = Literal["PENDING", "QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"]

STATES: dict[RunStatus, tuple[RunState, ...]] = {
    "PENDING": ("created",),
    "RUNNING": ("running", "waiting", "paused", "blocked", "compensating"),
    "COMPLETED": ("completed",),
    "FAILED": ("failed", "compensated"),
    "CANCELLED": ("cancelled",),
}


def run_status(state: RunState) -> RunStatus:
    return next(status for status, states in STATES.items() if state in states)


def task_status(step: StepView) -> TaskStatus:
    match step.state:
        case "pending":
            return "PENDING"
        case "running":
            if step.task_state in (None, "running"):
                return "RUNNING"
            return "PENDING" if step.later and not step.attempt else "QUEUED"
        case "completed":
            return "COMPLETED"
        case "failed" | "compensated":
            return "FAILED"
        case "timed_out":
            return "TIMEOUT"
        case "cancelled" | "upstream_failed" | "skipped":
            return "CANCELLED"
        case _:
            assert_never(step.state)
