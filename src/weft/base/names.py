"""Names of kinds, queues, tags, capabilities and keys: what is allowed, and the words that refuse the rest."""

import difflib
import functools
import itertools
import re
from collections.abc import Iterable

from weft.base import errors

_NAME = re.compile(r"[\w .:/-]{1,255}")
_KEY_LIMIT = 1024


def check(name: object, *, what: str) -> str:
    """`name` if it is a valid name of a `what`; else InvalidName saying what is allowed."""
    if not isinstance(name, str):
        raise errors.InvalidName(f"{what} must be text, not {type(name).__name__}")
    if not _is_name(name):
        raise errors.InvalidName(
            f"{what} {name[:80]!r} is not valid: use 1-255 letters, digits, spaces inside, and any of _ . : / -",
            name=name[:255],
        )
    return name


def check_key(key: object, *, what: str) -> str:
    """Keys (dedupe, concurrency, correlation) are free text without control characters."""
    if not isinstance(key, str):
        raise errors.InvalidName(f"{what} must be text, not {type(key).__name__}")
    # bytes, because they end up in an index, which holds no more
    if not key or len(key.encode(errors="replace")) > _KEY_LIMIT or any(ord(char) < 32 or ord(char) == 127 for char in key):
        raise errors.InvalidName(f"{what} must be 1-{_KEY_LIMIT} bytes without control characters")
    return key


def closest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?`, or what there is, or nothing: the end of a message about a name that is not there."""
    name, names = name[:255], list(itertools.islice(known, 20_000))
    if near := [one for one in names if one.casefold() == name.casefold()] or difflib.get_close_matches(name, names, n=1):
        return f"; did you mean {near[0]!r}?"
    return f"; there is {', '.join(names)}" if 0 < len(names) <= 24 else ""


@functools.lru_cache(maxsize=1024)
def _is_name(text: str) -> bool:
    """Kept, because a program says the same few names again and again."""
    return _NAME.fullmatch(text) is not None and text == text.strip()
