"""How a task is tried: timeouts, retries, queue, priority and pool, from the file's words to the kernel's."""

from typing import Any

from weft.base import errors, names
from weft.dagfile.dag import DEFAULT_RETRIES, WrittenDefaults, WrittenRetry, WrittenTask
from weft.dagfile.problem import Problem
from weft.plan.expression import Expression, Value
from weft.plan.model import OptionName

_DAY = 86_400
SHORTEST, LONGEST = 0.001, 315_360_000
TIMEOUT = f"timeout_seconds must be {SHORTEST} to {LONGEST} (ten years)"


def options(task: WrittenTask, defaults: WrittenDefaults) -> tuple[dict[OptionName, Expression], list[Problem]]:
    """What the task's attempts are told, and what is wrong with that, each by its word."""
    problems: list[Problem] = []
    if task.max_retries is not None and task.retry_config is not None:
        problems.append(Problem(("max_retries",), "give max_retries or retry_config, not both"))
    of_task = task.max_retries is not None or task.retry_config is not None
    count, policy = (task.max_retries, task.retry_config) if of_task else (defaults.max_retries, defaults.retry_config)
    attempts = policy.max_attempts if policy else (DEFAULT_RETRIES if count is None else count) + 1
    if not 1 <= attempts <= 1000:
        problems.append(Problem(("retry_config" if policy else "max_retries",), "a task is tried 1 to 1000 times"))
    timeout = task.timeout_seconds if task.timeout_seconds is not None else defaults.timeout_seconds
    if not SHORTEST <= timeout <= LONGEST:
        problems.append(Problem(("timeout_seconds",), TIMEOUT))
    found: dict[OptionName, Any] = {"timeout": timeout, "max_attempts": attempts}
    if policy is not None:
        found["retry"] = _retry(policy, problems)
    priority = task.priority if task.priority is not None else defaults.priority
    if priority is not None:
        if not 0 <= priority <= 9:
            problems.append(Problem(("priority",), "priority must be 0 to 9"))
        found["priority"] = priority * 11
    if queue := task.queue or defaults.queue:
        found["queue"] = _name(queue, "queue", problems)
    if pool := task.pool or defaults.pool:
        found["pool"] = _name(pool, "pool", problems)
    if task.tags:
        found["tags"] = [_name(tag, "tags", problems) for tag in task.tags]
    return {name: Value(value) for name, value in found.items()}, problems


def _retry(policy: WrittenRetry, problems: list[Problem]) -> dict[str, Any]:
    """As `Retry` keeps it. The cap is where the last pause ends, but a day at most."""
    base, multiplier = policy.backoff_seconds, policy.backoff_multiplier
    if not 0 <= base <= _DAY or not 1 <= multiplier <= 100:
        message = f"backoff_seconds must be 0 to {_DAY}, backoff_multiplier 1 to 100"
        problems.append(Problem(("retry_config",), message))
        return {}
    cap = min(base * multiplier ** min(max(policy.max_attempts, 1), 60), _DAY)
    return {"backoff": "exponential", "base": base, "multiplier": multiplier, "cap": cap}


def _name(value: str, what: str, problems: list[Problem]) -> str:
    try:
        return names.check(value, what=what)
    except errors.InvalidName as error:
        problems.append(Problem((what,), error.message))
        return value
