"""What an agent handles: an event facet's arguments as a function's. Pure."""

import inspect
from typing import Any, ParamSpec, TypeVar

import msgspec

from weft.base import errors
from weft.sdk.task import Task

P = ParamSpec("P")
R = TypeVar("R")


class Handler(Task[P, R]):
    """A task that takes of the arguments what its function names: a facet, its mixins and its defaults may say more."""

    def __init__(self, function: Any, **rest: Any) -> None:
        super().__init__(function, **rest)
        parameters = inspect.signature(function).parameters
        self._takes: frozenset[str] | None = frozenset(parameters)
        if self.options.batch is not None or any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            self._takes = None

    def arguments(self, payload: str) -> dict[str, Any]:
        if self._takes is not None:
            try:
                given = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
            except msgspec.ValidationError as error:
                raise errors.InvalidPayload(f"the payload does not fit {self.kind}: {error}") from None
            if not given.keys() <= self._takes:
                payload = msgspec.json.encode({key: one for key, one in given.items() if key in self._takes}).decode()
        return super().arguments(payload)
