"""Live queries: functions of yours whose answer is shown again whenever one of their tables changed."""

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec

from weft.base import errors, names

Function = Callable[..., Awaitable[Any]]

FED = frozenset({"tasks", "runs", "steps", "jobs", "definitions", "workflows", "queues", "nodes"})
"""Tables of Weft that the change feed tells of."""
_OVER = {
    "weft.task_history": "tasks", "forge.forge_jobs": "tasks",
    "forge.forge_workflow_runs": "runs", "forge.forge_workflow_steps": "steps",
}  # fmt: skip
"""What shows one of them under another name."""
_OURS = frozenset({"weft", "afl", "aiopslab", "forge", "orchestration", "scheduler"})


@dataclasses.dataclass(frozen=True)
class Query:
    """A function, the tables it reads as the change feed calls them, and the shape of its arguments."""

    name: str
    function: Function
    tables: tuple[str, ...]
    shape: type[msgspec.Struct]

    def arguments(self, checked: msgspec.Struct) -> dict[str, Any]:
        return {name: getattr(checked, name) for name in self.shape.__struct_fields__}


class Queries:
    """The live queries of one app, by name."""

    def __init__(self) -> None:
        self._known: dict[str, Query] = {}

    def add(
        self, function: Any = None, /, *, name: str | None = None, tables: Sequence[str] = ()
    ) -> Any:
        """Declares a live query: an async function of an `Ask` and its own arguments. `tables`: those it reads."""

        def declare(declared: Function) -> Function:
            called = names.check(name or getattr(declared, "__name__", ""), what="query")
            if called in self._known:
                raise errors.InvalidInput(f"there are two live queries named {called!r}; give one of them another name=")
            if not inspect.iscoroutinefunction(declared):
                raise errors.InvalidInput(f"the live query {called!r} must be an async function")
            if isinstance(tables, str) or not tables:
                raise errors.InvalidInput(f"say which tables {called!r} reads: @app.query(tables=[\"orders\"])")
            self._known[called] = Query(called, declared, tuple(map(fed, tables)), _shape(declared))
            return declared

        return declare if function is None else declare(function)

    def get(self, name: str) -> Query | None:
        return self._known.get(name)

    def __iter__(self) -> Iterator[Query]:
        return iter(self._known.values())


def fed(table: str) -> str:
    """What the change feed calls a table: `public.orders`; Weft's own are `tasks` and the like. InvalidInput if it never
    tells of it: who watches would be shown it once, and wait for ever."""
    schema, _, own = table.rpartition(".")
    if (known := _OVER.get(table)) is not None:
        return known
    if schema not in _OURS:
        return f"{schema or 'public'}.{own}"
    if schema == "weft" and own in FED:
        return own
    told = ", ".join(f"weft.{one}" for one in sorted(FED))
    raise errors.InvalidInput(f"nobody is told when {table} changes; name those of {told} that the query hangs on")


def _shape(function: Function) -> type[msgspec.Struct]:
    parameters = list(inspect.signature(function, eval_str=False).parameters.values())[1:]
    hints = inspect.get_annotations(function)
    fields: list[Any] = []
    for one in parameters:
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            raise errors.InvalidInput(f"the live query {function.__name__!r} must name its arguments one by one")
        kind = hints.get(one.name, Any)
        default = [] if one.default is one.empty else [one.default]
        fields.append((one.name, Any if isinstance(kind, str) else kind, *default))
    return msgspec.defstruct(f"{function.__name__}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
