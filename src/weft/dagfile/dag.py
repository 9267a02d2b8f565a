"""A DAG: as it is written (`Written…`: the words of the file, and of `POST /v1/dags`) and as it is kept (`Dag`)."""

import datetime as dt
import hashlib
from typing import Any

import msgspec

from weft.cron.misfire import Misfire
from weft.plan.model import Plan
from weft.plan.rules import Rule

DEFAULT_TIMEOUT = 3600
DEFAULT_RETRIES = 3

Seconds = int | float


class WrittenRetry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often, and how long to wait in between: `backoff_seconds`, multiplied each time."""

    max_attempts: int = DEFAULT_RETRIES + 1
    backoff_seconds: Seconds = 30
    backoff_multiplier: Seconds = 2


class WrittenTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    payload: dict[str, Any]
    dependencies: list[str] = []
    description: str = ""
    trigger_rule: Rule = "all_success"
    condition: bool | str | None = None
    foreach: list[Any] | dict[str, Any] | str | None = None
    item: str = "item"
    max_parallel: int | None = None
    group: str = ""
    timeout_seconds: Seconds | None = None
    max_retries: int | None = None
    retry_config: WrittenRetry | None = None
    queue: str | None = None
    priority: int | None = None
    pool: str | None = None
    allow_failure: bool = False
    tags: list[str] = []


class WrittenDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What holds for every task that says nothing else."""

    timeout_seconds: Seconds = DEFAULT_TIMEOUT
    max_retries: int | None = None
    retry_config: WrittenRetry | None = None
    queue: str | None = None
    priority: int | None = None
    pool: str | None = None


class WrittenParam(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    type: str = "any"
    default: Any = msgspec.UNSET
    nullable: bool = False
    choices: list[Any] = []
    minimum: Seconds | None = None
    maximum: Seconds | None = None
    description: str = ""


class WrittenGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dependencies: list[str] = []
    description: str = ""


class WrittenDag(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    tasks: list[Any]
    description: str = ""
    cron_expression: str | None = None
    timezone: str = "UTC"
    start_date: dt.datetime | None = None
    end_date: dt.datetime | None = None
    misfire_policy: Misfire = "fire_once"
    catch_up_limit: int = 100
    jitter_seconds: Seconds = 0
    max_active_runs: int = 16
    timeout_seconds: Seconds | None = None
    params: dict[str, Any] = {}
    defaults: WrittenDefaults = WrittenDefaults()
    groups: dict[str, WrittenGroup] = {}
    outputs: dict[str, Any] = {}
    tags: list[str] = []
    config: dict[str, Any] = {}


class Dag(msgspec.Struct, frozen=True, omit_defaults=True):
    """A DAG that is valid: when and how many runs, and the plan of each."""

    name: str
    plan: Plan
    description: str = ""
    cron_expression: str | None = None
    timezone: str = "UTC"
    start_date: dt.datetime | None = None
    end_date: dt.datetime | None = None
    misfire_policy: Misfire = "fire_once"
    catch_up_limit: int = 100
    jitter_seconds: float = 0
    max_active_runs: int = 16
    timeout_seconds: float | None = None
    tags: tuple[str, ...] = ()
    config: dict[str, Any] = {}
    groups: dict[str, str] = {}
    """Name → description."""
    descriptions: dict[str, str] = {}
    """Task → description."""
    payloads: dict[str, dict[str, Any]] = {}
    """Task → what it was told to do, as it was written."""

    @property
    def version(self) -> str:
        """What names this very content: SHA-256 of its one JSON form, in hex."""
        return hashlib.sha256(_encoder.encode(self)).hexdigest()


_encoder = msgspec.json.Encoder(order="deterministic")
