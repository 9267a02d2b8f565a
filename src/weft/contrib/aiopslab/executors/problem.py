"""What an executor is given, what it may say meanwhile, and what it answers."""

import dataclasses
from typing import Any, Protocol

Json = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Problem:
    """A problem to be run now."""

    problem_id: str
    agent_config: Json
    max_steps: int
    options: Json
    """What the worker was started with: which agents it has, where its service is."""


class Say(Protocol):
    """Goes into the task's log or its conversation while the problem runs."""

    def log(self, message: str, *, level: str = "info", step: int | None = None, action: str | None = None,
            details: Json | None = None) -> None: ...  # fmt: skip

    def said(self, role: str, content: str) -> None: ...


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`solved` says whether the agent was right; that it was not is no failure of the task."""

    solved: bool
    output: Json
    metrics: Json = dataclasses.field(default_factory=dict)


class CannotRun(Exception):
    """The problem cannot be run here; the message says why and what to do."""


def solved(results: Json) -> bool:
    """As AIOpsLab's results say it: `success`, or for detection its accuracy."""
    if "success" in results:
        return bool(results["success"])
    return results.get("Detection Accuracy") == "Correct"
