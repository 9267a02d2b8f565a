"""What a function takes, as JSON schema: forms are made from it, and other languages read it."""

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import msgspec

from weft.base import json
from weft.sdk.context import Context

_LONGEST = 65_536
"""Bytes; a schema that is longer helps nobody to fill in a form."""


def of(function: Callable[..., Any]) -> dict[str, Any] | None:
    """The arguments by name; None if anything fits, or it is not said what does. A type that JSON does not know is `{}`."""
    parameters = [one for one in inspect.signature(function).parameters.values() if one.annotation is not Context]
    if any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in parameters):
        return None
    try:
        hints = inspect.get_annotations(function, eval_str=True)
    except NameError:
        return None
    defs: dict[str, Any] = {}
    properties = {one.name: _one(hints.get(one.name, Any), one.default, defs) for one in parameters}
    made: dict[str, Any] = {
        "type": "object", "properties": properties, "required": [one.name for one in parameters if one.default is one.empty],
    }  # fmt: skip
    if text := inspect.getdoc(function):
        made["description"] = text.partition("\n\n")[0].replace("\n", " ")
    if defs:
        made["$defs"] = defs
    return made if len(json.dumps(made)) <= _LONGEST else None


def _one(type: Any, default: Any, defs: dict[str, Any]) -> dict[str, Any]:
    try:
        [shape], more = msgspec.json.schema_components([type], ref_template="#/$defs/{name}")
    except TypeError:
        shape, more = {}, {}
    defs.update(more)
    if default is not inspect.Parameter.empty:
        # one that JSON cannot show is not shown
        with contextlib.suppress(TypeError):
            shape = {**shape, "default": msgspec.to_builtins(default)}
    return shape
