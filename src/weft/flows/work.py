"""A node's task: its arguments and options evaluated and checked. Pure."""

from collections.abc import Mapping
from typing import Any, cast

from weft.base import errors, json, references
from weft.flows.model import Held, NewTask
from weft.plan import operators, types
from weft.plan.evaluate import Scope, evaluate
from weft.plan.expression import Value, escaped
from weft.plan.model import Record, Task
from weft.queue import new
from weft.queue.new import Options

_OVERRIDES = ("queue", "priority")
"""What a run's config may say for all its tasks."""


def options(work: Task) -> dict[str, Any] | None:
    """The options of a task that are the same in every run, checked; None if there are none such."""
    if not all(isinstance(one, Value) for one in work.options.values()):
        return None
    try:
        return _checked(work.kind, {name: one.value for name, one in work.options.items() if isinstance(one, Value)}, {})
    except errors.WeftError:
        return None  # said again, to the run that meets it


def task(
    work: Task, scope: Scope, *, run: Held, id: str, step: str, secrets: Mapping[str, tuple[str, ...]],
    known: dict[str, Any] | None, records: Mapping[str, Record],
) -> NewTask:  # fmt: skip
    """The task; ExpressionFailed or InvalidInput says why there can be none."""
    args = evaluate(work.args, scope)
    if not isinstance(args, dict):
        raise errors.ExpressionFailed(f"the arguments of a task are a map, not {operators.described(args)}")
    args = types.typed(work.takes, args, records=records, what="argument")
    payload = json.text(args)
    if references.MARK in payload:
        payload = json.text(_placed(args, secrets, "", None))
    overrides = {name: run.config[name] for name in _OVERRIDES if name in run.config} if run.config else {}
    if known is None or overrides:
        known = _checked(work.kind, {name: evaluate(one, scope) for name, one in work.options.items()}, overrides)
    return NewTask(id, step, work.kind, payload, known, known["pool"])


def _checked(kind: str, given: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in given.items() if value is not None and name != "pool"} | dict(overrides)
    pool = given.get("pool")
    return {**new.common(kind, declared=None, options=cast(Options, found)), "pool": pool}


def _placed(value: Any, places: Mapping[str, tuple[str, ...]], pointer: str, allowed: tuple[str, ...] | None) -> Any:
    """The arguments with `${secrets.…}` only where the plan put them: what came as data stands for itself."""
    allowed = places.get(pointer, allowed)
    if isinstance(value, str):
        return _escaped(value, allowed or ()) if references.MARK in value else value
    if isinstance(value, list):
        return [_placed(one, places, f"{pointer}/{number}", allowed) for number, one in enumerate(value)]
    if isinstance(value, dict):
        return {key: _placed(one, places, f"{pointer}/{escaped(key)}", allowed) for key, one in value.items()}
    return value


def _escaped(text: str, allowed: tuple[str, ...]) -> str:
    first, *rest = text.split(references.MARK)
    parts = [first]
    for part in rest:
        meant = any(part.startswith(f"{name}}}") for name in allowed)
        parts += [references.MARK if meant else f"${references.MARK}", part]
    return "".join(parts)
