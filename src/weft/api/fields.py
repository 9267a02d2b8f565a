"""The types of fields that many operations share: names, keys, durations. Their limits are those of the kernel."""

import datetime as dt
from typing import Annotated

import msgspec

from weft.access import orgs
from weft.base import references

_NAME = r"^[\w.:/-]([\w .:/-]*[\w.:/-])?$"
_NAME_SCHEMA = {"pattern": r"^[\p{L}\p{N}_.:/-]([\p{L}\p{N}_ .:/-]*[\p{L}\p{N}_.:/-])?$"}
"""The same as JSON Schema says it: there \\w is ASCII only."""

_KEY = r"^[^\x00-\x1f\x7f]+$"
_SLUG = f"^{orgs.SLUG}$"
_SECRET = f"^{references.NAME}$"

MEANT = {
    _NAME: "letters, digits, spaces inside, and any of _ . : / -",
    _KEY: "text without control characters",
    _SLUG: "1-63 of a-z, 0-9 and -",
    _SECRET: "1-128 letters of a-z, digits, and any of _ . -, a letter or _ first",
}
"""What the patterns say, for whoever wrote something else."""

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
        min_length=1, max_length=255, pattern=_KEY, description="Text without control characters."
    ),
]  # fmt: skip

Duration = Annotated[float, msgspec.Meta(ge=0, le=315_360_000, description="Seconds, at most ten years.")]

Span = Annotated[float, msgspec.Meta(ge=0.001, le=315_360_000, description="Seconds, at most ten years.")]

ShortName = Annotated[
    str, msgspec.Meta(min_length=1, max_length=60, pattern=_NAME, extra_json_schema=_NAME_SCHEMA)
]

Slug = Annotated[
    str, msgspec.Meta(pattern=_SLUG, max_length=63, description="1-63 of a-z, 0-9 and -.")
]

SecretName = Annotated[str, msgspec.Meta(min_length=1, max_length=128, pattern=_SECRET)]

Instant = Annotated[
    dt.datetime,
    msgspec.Meta(
        tz=True, description="A time with its zone, between 1970 and 2999.",
        extra_json_schema={"pattern": "^(19[789]|2\\d\\d)\\d-"},
    ),
]  # fmt: skip
