"""Weft runs work that must not be lost, on PostgreSQL.

The names below are the public surface. They are imported when first used: `weft --help` must not wait for a driver.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from weft.agent import Agent as Agent
    from weft.app import App as App
    from weft.base.errors import Conflict as Conflict
    from weft.base.errors import Discard as Discard
    from weft.base.errors import InvalidInput as InvalidInput
    from weft.base.errors import InvalidName as InvalidName
    from weft.base.errors import InvalidPayload as InvalidPayload
    from weft.base.errors import LeaseLost as LeaseLost
    from weft.base.errors import NotFound as NotFound
    from weft.base.errors import OutcomeUnknown as OutcomeUnknown
    from weft.base.errors import ResultTimeout as ResultTimeout
    from weft.base.errors import RetryLater as RetryLater
    from weft.base.errors import Snooze as Snooze
    from weft.base.errors import TaskCancelled as TaskCancelled
    from weft.base.errors import TaskFailed as TaskFailed
    from weft.base.errors import TaskTimedOut as TaskTimedOut
    from weft.base.errors import Unavailable as Unavailable
    from weft.base.errors import UnknownKind as UnknownKind
    from weft.base.errors import WeftError as WeftError
    from weft.queue.model import Enqueued as Enqueued
    from weft.queue.model import TaskView as TaskView
    from weft.sdk.context import Context as Context
    from weft.sdk.context import current as current
    from weft.sdk.dag import item as item
    from weft.sdk.dag import node as node
    from weft.sdk.retry import Retry as Retry
    from weft.sdk.task import Task as Task

_HOMES = {
    "weft.agent": ("Agent",),
    "weft.app": ("App",),
    "weft.base.errors": (
        "Conflict", "Discard", "InvalidInput", "InvalidName", "InvalidPayload", "LeaseLost", "NotFound",
        "OutcomeUnknown", "ResultTimeout", "RetryLater", "Snooze", "TaskCancelled", "TaskFailed", "TaskTimedOut",
        "Unavailable", "UnknownKind", "WeftError",
    ),
    "weft.queue.model": ("Enqueued", "TaskView"),
    "weft.sdk.context": ("Context", "current"),
    "weft.sdk.dag": ("item", "node"),
    "weft.sdk.retry": ("Retry",),
    "weft.sdk.task": ("Task",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)
