"""DAGs in Python: a function that calls tasks says what a DAG does, in the words of a DAG file. Pure.

    @app.dag(schedule="0 2 * * *", params={"day": "2026-01-01"})
    def etl(day):
        rows = extract(day=day)              # a node; `rows` stands for its output
        load(rows=rows["good"])              # named in an argument, so waited for

While such a function runs, calling a task does not run it: it makes a node. What a node answers, and the DAG's params,
are *references*; arithmetic, `if` and loops over them are not possible, because their values are not there yet.
"""

import contextvars
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.base import errors

_current: contextvars.ContextVar["Building | None"] = contextvars.ContextVar("weft.sdk.dag", default=None)

_NODE = frozenset({
    "name", "dependencies", "description", "trigger_rule", "condition", "foreach", "item", "max_parallel", "group",
    "timeout_seconds", "max_retries", "retry_config", "queue", "priority", "pool", "allow_failure", "tags",
})  # fmt: skip


class Reference:
    """What a value will be: `text` is how a DAG file names it."""

    def __init__(self, text: str, node: str | None = None) -> None:
        self.text, self.node = text, node

    def __getitem__(self, key: str | int) -> "Reference":
        return Reference(f"{self.text}[{json.dumps(key)}]", self.node)

    def __str__(self) -> str:
        return f"${{{self.text}}}"

    def __bool__(self) -> bool:
        raise errors.InvalidDag("what a task answers is not known while the DAG is declared; use condition= instead of if")

    def __iter__(self) -> Any:
        raise errors.InvalidDag("what a task answers is not known while the DAG is declared; use foreach= instead of a loop")


class Building:
    """The tasks of a DAG that is being declared."""

    def __init__(self) -> None:
        self.tasks: list[dict[str, Any]] = []

    def add(self, task: Any, arguments: Mapping[str, Any], words: Mapping[str, Any]) -> Reference:
        unknown = sorted(set(words) - _NODE - {"after"})
        if unknown:
            raise errors.InvalidDag(f"unknown word {unknown[0]!r} of a node; known: after, {', '.join(sorted(_NODE))}")
        name = words.get("name") or self._free(task.kind)
        node: dict[str, Any] = {"name": name, "payload": {"task": task.kind, "args": written(dict(arguments))}}
        after = words.get("after", ())
        for one in [after] if isinstance(after, Reference | str) else after:
            node.setdefault("dependencies", []).append(one.node if isinstance(one, Reference) else one)
        node |= {key: written(value) for key, value in words.items() if key not in ("name", "after") and value is not None}
        options = task.options
        node.setdefault("max_retries", options.max_attempts - 1)
        node.setdefault("queue", options.queue)
        if options.timeout is not None:
            node.setdefault("timeout_seconds", options.timeout.total_seconds())
        self.tasks.append(node)
        return Reference(f"tasks[{json.dumps(name)}].output", name)

    def _free(self, kind: str) -> str:
        taken = {one["name"] for one in self.tasks}
        number = 1
        while (name := kind if number == 1 else f"{kind}-{number}") in taken:
            number += 1
        return name


item = Reference("item")
"""The element, in the arguments of a node with `foreach`."""


def node(task: Any, **words: Any) -> "Node":
    """A task as it is called in a DAG, with words of a DAG file: `node(load, after=rows, trigger_rule="all_done")(…)`."""
    return Node(task, words)


class Node:
    """A task that is about to be called."""

    def __init__(self, task: Any, words: Mapping[str, Any]) -> None:
        self._task, self._words = task, words

    def __call__(self, *args: Any, **kwargs: Any) -> Reference:
        building = _current.get()
        if building is None:
            raise errors.InvalidDag("a node can only be made while a DAG is declared: inside a function under @app.dag")
        return building.add(self._task, _named(self._task, args, kwargs), self._words)


def called(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Reference | None:
    """The node that calling a task makes, if a DAG is being declared."""
    building = _current.get()
    return None if building is None else building.add(task, _named(task, args, kwargs), {})


def definition(function: Callable[..., Any], words: Mapping[str, Any]) -> dict[str, Any]:
    """What a DAG file would say."""
    given = {key: value for key, value in words.items() if value is not None}
    if "schedule" in given:
        given["cron_expression"] = given.pop("schedule")
    given.setdefault("name", function.__name__)
    given.setdefault("description", inspect.getdoc(function) or "")
    params = dict(given.get("params") or {})
    signature = inspect.signature(function).parameters
    for name, one in signature.items():
        if name not in params:
            params[name] = {"type": "any"} if one.default is one.empty else one.default
    building = Building()
    token = _current.set(building)
    try:
        answer = function(**{name: Reference(f"params[{json.dumps(name)}]") for name in signature})
    finally:
        _current.reset(token)
    if isinstance(answer, dict):
        given.setdefault("outputs", written(answer))
    elif isinstance(answer, Reference):
        given.setdefault("outputs", {"result": str(answer)})
    return {**given, "params": params, "tasks": building.tasks}


def written(value: Any) -> Any:
    """A value with its references as a DAG file writes them; text that looks like one stands for itself."""
    match value:
        case Reference():
            return str(value)
        case str():
            return value.replace("${", "$${")
        case dict():
            return {key: written(one) for key, one in value.items()}
        case list() | tuple():
            return [written(one) for one in value]
        case _:
            return value


def _named(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, as a payload has them."""
    names = [name for name in inspect.signature(task.function).parameters if name != task.context_name]
    if len(args) > len(names):
        raise errors.InvalidDag(f"{task.kind} takes {len(names)} arguments, not {len(args)}")
    return {**dict(zip(names, args, strict=False)), **kwargs}
