"""An answer made of what the kernel has, and what a body says for it: field by field, by name."""

from typing import Any, TypeVar

import msgspec

S = TypeVar("S", bound=msgspec.Struct)


def shown(kind: type[S], thing: object, **others: Any) -> S:
    """`kind` with the thing's fields; `others` are said instead, or are not the thing's."""
    taken = {name: getattr(thing, name) for name in kind.__struct_fields__ if name not in others}
    return kind(**taken, **others)


def given(body: msgspec.Struct) -> dict[str, Any]:
    """The fields of a body that were said."""
    return {name: value for name, value in msgspec.structs.asdict(body).items() if value is not msgspec.UNSET}
