"""An answer made of what the kernel has: field by field, by name."""

from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def shown(kind: type[S], thing: object, **others: Any) -> S:
    """`kind` with the thing's fields; `others` are said instead, or are not the thing's."""
    taken = {name: getattr(thing, name) for name in kind.__struct_fields__ if name not in others}
    return kind(**taken, **others)
