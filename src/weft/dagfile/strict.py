"""JSON read fast and strictly: a key twice, a number that is not finite, half a character are no JSON here."""

import json
import math
from typing import Any, NoReturn


class NotStrict(Exception):
    """Not what everybody reads the same way."""


def loads(text: str) -> Any:
    """The value of a JSON text; NotStrict if there is any doubt."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_finite)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise NotStrict(str(error)) from None
    if "\\ud" in text.lower():
        raise NotStrict("perhaps half a character")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise NotStrict("a key twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotStrict("a number that is too large")
    return value


def _refuse(text: str) -> NoReturn:
    raise NotStrict(f"{text} is no JSON")
