"""The types of fields that many operations share: names, keys, durations. Their limits are those of the kernel."""

import datetime as dt
from typing import Annotated

import msgspec

from weft.access import orgs
from weft.base import references

_NAME = r"^[\w.:/-]([\w .:/-]*[\w.:/-])?$"
_NAME_SCHEMA = {"pattern": r"^[\p{L}\p{N}_.:/-]([\p{L}\p{N}_ .:/-]*[\p{L}\p{N}_.:/-])?$"}
"""The same as JSON Schema says it: there \\w is ASCII only."""

Name = Annotated[
    str,
    msgspec.Meta(
        min_length=1, max_length=255, pattern=_NAME, extra_json_schema=_NAME_SCHEMA,
        description="1-255 letters, digits, spaces inside, and any of `_ . : / -`.",
    ),
]  # fmt: skip

Key = Annotated[
    str,
    msgspec.Meta(
        min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$", description="Text without control characters."
    ),
]  # fmt: skip

Duration = Annotated[float, msgspec.Meta(ge=0, le=315_360_000, description="Seconds, at most ten years.")]

Span = Annotated[float, msgspec.Meta(ge=0.001, le=315_360_000, description="Seconds, at most ten years.")]

ShortName = Annotated[
    str, msgspec.Meta(min_length=1, max_length=60, pattern=_NAME, extra_json_schema=_NAME_SCHEMA)
]

Slug = Annotated[
    str, msgspec.Meta(pattern=f"^{orgs.SLUG}$", max_length=63, description="1-63 of a-z, 0-9 and -.")
]

SecretName = Annotated[str, msgspec.Meta(min_length=1, max_length=128, pattern=f"^{references.NAME}$")]

Instant = Annotated[
    dt.datetime,
    msgspec.Meta(
        tz=True, description="A time with its zone, between 1970 and 2999.",
        extra_json_schema={"pattern": "^(19[789]|2\\d\\d)\\d-"},
    ),
]  # fmt: skip
