"""Which handler a kind has: the one of exactly this name, else one that handles all of its last part."""

import types
from collections.abc import Mapping, Sequence
from typing import Any

from weft.sdk.task import Task

NO_SHORTS: Mapping[str, Task[Any, Any]] = types.MappingProxyType({})


class Handlers(dict[str, Task[Any, Any]]):
    """Kind → handler. One found by a last part is remembered."""

    def __init__(self, handlers: Sequence[Task[Any, Any]], shorts: Mapping[str, Task[Any, Any]] = NO_SHORTS) -> None:
        super().__init__({task.kind: task for task in handlers})
        self._shorts = shorts

    def __missing__(self, kind: str) -> Task[Any, Any]:
        found = self[kind] = self._shorts[kind.rpartition(".")[2]]
        return found
