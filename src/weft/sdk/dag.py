"""DAGs in Python: a function that calls tasks says what a DAG does, in the words of a DAG file. Pure.

    @app.dag(schedule="0 2 * * *", params={"day": "2026-01-01"})
    def etl(day):
        rows = extract(day=day)              # a node; `rows` stands for its output
        load(rows=rows["good"])              # named in an argument, so waited for

While such a function runs, calling a task does not run it: it makes a node. What a node answers, and the DAG's params,
are *references*. In a text (`f"s3://{day}"`) they stand for their values; arithmetic, `if` and loops over them are not
possible, because those values are not there yet.
"""

import contextvars
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from weft.base import errors

_current: contextvars.ContextVar["Building | None"] = contextvars.ContextVar("weft.sdk.dag", default=None)

_NONE_YET = "what a task answers is not known while the DAG is declared"
# how a reference stands in a text until that is written down: nobody else's text has these
_BEGIN, _END = "\ue000", "\ue001"
_INSIDE = re.compile(f"{_BEGIN}([^{_END}]*){_END}")

_NODE = frozenset({
    "name", "dependencies", "description", "trigger_rule", "condition", "foreach", "item", "max_parallel", "group",
    "timeout_seconds", "max_retries", "retry_config", "queue", "priority", "pool", "allow_failure", "tags",
})  # fmt: skip


_PUT = ("name", "after", "dependencies")


class Reference:
    """What a value will be: `text` is how a DAG file names it."""

    def __init__(self, text: str, node: str | None = None) -> None:
        self.text, self.node = text, node

    def __getitem__(self, key: str | int) -> "Reference":
        return Reference(f"{self.text}[{json.dumps(key)}]", self.node)

    def __str__(self) -> str:
        return f"{_BEGIN}{self.text}{_END}"

    __repr__ = __str__

    def __format__(self, how: str) -> str:
        if how:
            raise errors.InvalidDag(f"{_NONE_YET}, so it cannot be formatted as {how!r}; do that in a task")
        return str(self)

    def __bool__(self) -> bool:
        raise errors.InvalidDag(f"{_NONE_YET}; use condition= instead of if")

    def __eq__(self, _other: object) -> bool:
        raise errors.InvalidDag(f"{_NONE_YET}; compare it in condition=, such as f'{{rows}} == 3'")

    __hash__ = object.__hash__

    def __iter__(self) -> Any:
        raise errors.InvalidDag(f"{_NONE_YET}; use foreach= instead of a loop")


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
        if after := [*_waited(words.get("after")), *_waited(words.get("dependencies"))]:
            node["dependencies"] = list(dict.fromkeys(after))
        said = {key: value for key, value in words.items() if key not in _PUT and value is not None}
        node |= {key: _expression(value) if key == "condition" else written(value) for key, value in said.items()}
        options = task.options
        if "retry_config" not in node:
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
        given.setdefault("outputs", {"result": written(answer)})
    return {**given, "params": params, "tasks": building.tasks}


def written(value: Any) -> Any:
    """A value with its references as a DAG file writes them; text that looks like one stands for itself."""
    match value:
        case Reference():
            return f"${{{value.text}}}"
        case str():
            return _INSIDE.sub(r"${\1}", value.replace("${", "$${"))
        case dict():
            return {key: written(one) for key, one in value.items()}
        case list() | tuple():
            return [written(one) for one in value]
        case _:
            return value


def _expression(value: Any) -> Any:
    """A condition: an expression as it stands, with its references by name."""
    return _INSIDE.sub(r"\1", value) if isinstance(value, str) else written(value)


def _waited(given: Any) -> list[str]:
    """The nodes that are named, by themselves or by what they answer."""
    found = []
    for one in () if given is None else [given] if isinstance(given, Reference | str) else given:
        name = one.node if isinstance(one, Reference) else one
        if name is None:
            raise errors.InvalidDag("a node comes after other nodes; a param is there from the beginning")
        found.append(name)
    return found


def _named(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by name, as a payload has them."""
    names = [name for name in inspect.signature(task.function).parameters if name != task.context_name]
    if len(args) > len(names):
        raise errors.InvalidDag(f"{task.kind} takes {len(names)} arguments, not {len(args)}")
    return {**dict(zip(names, args, strict=False)), **kwargs}
