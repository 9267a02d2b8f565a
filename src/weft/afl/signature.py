"""What a declaration takes and gives, with its types resolved; and the mixins that need no declaration."""

import msgspec

from weft.afl.program import ANY, Declared, Program
from weft.afl.syntax import Declaration, Expression, Literal_, Param, Schema

CREDENTIALS = "Credentials"
TIMEOUT = "Timeout"
RETRY = "Retry"

_SECONDS = {"ms": 0.001, "milliseconds": 0.001, "seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
SECONDS: dict[str, float] = {
    **_SECONDS,
    **{f"timeout_{unit}": value for unit, value in _SECONDS.items()},
    **{f"timeout{unit.capitalize()}": value for unit, value in _SECONDS.items()},
}
"""What Timeout may be told, and how many seconds that is."""
RETRIED = 3
"""Attempts of what has a `Retry` that does not say how many."""
ATTEMPTS = {"maxAttempts": 0, "max_attempts": 0, "attempts": 0, "maxRetries": 1, "max_retries": 1, "retries": 1}
"""What Retry may be told for how often, and what to add for the first attempt."""
BACKOFF = {"backoffSeconds": 1, "backoff_seconds": 1, "delaySeconds": 1, "delay_seconds": 1, "backoffMs": 0.001,
           "backoff_ms": 0.001}  # fmt: skip
MULTIPLIER = ("multiplier", "backoffMultiplier", "backoff_multiplier")

BUILTIN: dict[str, frozenset[str]] = {
    TIMEOUT: frozenset(SECONDS),
    RETRY: frozenset({*ATTEMPTS, *BACKOFF, *MULTIPLIER}),
    CREDENTIALS: frozenset(),
}
"""Mixins that are known without being declared, and what they take; Credentials takes anything."""


class Slot(msgspec.Struct, frozen=True):
    """A param, return or field."""

    name: str
    type: str
    written: Param

    @property
    def default(self) -> Expression | None:
        return self.written.default

    @property
    def nullable(self) -> bool:
        return isinstance(self.written.default, Literal_) and self.written.default.value is None


class Signature(msgspec.Struct, frozen=True):
    params: dict[str, Slot]
    returns: dict[str, Slot]


class Signatures:
    """Each declaration's, made once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._made: dict[int, Signature] = {}

    def of(self, declared: Declared) -> Signature:
        found = self._made.get(id(declared))
        if found is None:
            match declared:
                case Declaration():
                    found = Signature(self._slots(declared.params, declared), self._slots(declared.returns, declared))
                case Schema():
                    found = Signature(self._slots(declared.fields, declared), {})
            self._made[id(declared)] = found
        return found

    def _slots(self, params: list[Param], declared: Declared) -> dict[str, Slot]:
        found: dict[str, Slot] = {}
        for one in params:
            type_, _ = self.program.type(one.type.name, one.type.lists, declared.namespace)
            found.setdefault(one.name.text, Slot(one.name.text, type_, one))
        return found


def element(type_: str) -> str | None:
    """The type of what foreach goes through; None if there is nothing to go through."""
    if type_.startswith("["):
        return type_[1:-1]
    if type_ in ("Json", ANY):
        return ANY
    if type_ in ("Int", "Long", "Double", "Boolean"):
        return None
    return "String"
