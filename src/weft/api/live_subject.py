"""`Subject`: one kind of thing that can be watched; `Reading`: what was seen of it."""

import dataclasses
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from weft.base import errors
from weft.live.asking import Ask


@dataclasses.dataclass(frozen=True)
class Reading:
    """What was seen. `last`: the newest line of a log; `over`: nothing more will come by itself; `tasks`: on which it also
    hangs, until the next look."""

    data: Any
    last: int = 0
    over: bool = False
    tasks: frozenset[uuid.UUID] = frozenset()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Subject:
    """One kind of thing that can be watched."""

    name: str
    action: str
    """What the policy is asked, when somebody subscribes and before each push."""
    args: type[msgspec.Struct]
    tables: tuple[str, ...]
    """As the change feed calls them."""
    read: Callable[[Ask], Awaitable[Reading]]
    row: Callable[[Any], uuid.UUID] | None = None
    """The one row it hangs on; None: on any of its tables."""
    tail: bool = False
    """Only what is new is told, from `args.after` on."""
    poll: float | None = None
    """Seconds between looks for what the feed does not tell of."""
    told: bool = True
    """Whether the feed tells of whatever changes it, but for what is polled."""
    summary: str = ""

    @property
    def can_be_unchanged(self) -> bool:
        """Whether the feed can say that nothing happened since a cursor."""
        return self.told and self.poll is None and bool(self.tables)

    def check(self, given: dict[str, Any]) -> Any:
        """The arguments; InvalidInput if they do not fit."""
        try:
            return msgspec.convert(given, self.args)
        except msgspec.ValidationError as error:
            raise errors.InvalidInput(f"the args of {self.name!r} are not valid: {error}") from None


class Nothing(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """No arguments."""
