"""`${secrets.NAME}` in a payload: which names it has, and the payload with values in their places. Pure.

Only texts are looked into, not the keys of objects. `$${secrets.NAME}` stands for itself, less one dollar.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from weft.base import json

MARK = "${secrets."
"""What a payload without it needs no look into. jsonb writes these characters as they are."""

NAME = "[A-Za-z_][A-Za-z0-9_.-]{0,127}"
"""What a secret may be called."""

_REFERENCE = re.compile(rf"(\$?)\$\{{secrets\.({NAME})\}}")


def names(payload: str) -> frozenset[str]:
    """The secrets that a payload (JSON text) asks for."""
    if MARK not in payload:
        return frozenset()
    found: set[str] = set()

    def look(text: str) -> str:
        found.update(match[2] for match in _REFERENCE.finditer(text) if not match[1])
        return text

    _mapped(json.loads(payload), look)
    return frozenset(found)


def filled(payload: str, values: Mapping[str, str]) -> str:
    """The payload (JSON text) with values for names."""

    def fill(text: str) -> str:
        return _REFERENCE.sub(lambda match: match[0][1:] if match[1] else values[match[2]], text)

    return json.dumps(_mapped(json.loads(payload), fill)).decode()


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value) if MARK in value else value
    if isinstance(value, list):
        return [_mapped(inner, change) for inner in value]
    if isinstance(value, dict):
        return {name: _mapped(inner, change) for name, inner in value.items()}
    return value
