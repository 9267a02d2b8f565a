"""`Redactor`: takes given secrets out of whatever is about to be kept or shown. Pure.

A secret is looked for as it is and in the forms that programs give texts on their way into a log: escaped for JSON, a
URL, HTML or Python, in base64 (both alphabets, wherever it begins), in hex, backwards, and in rot13. Of a secret with
several lines each longer line counts. What a handler compresses, encrypts or cuts into pieces is not found.
"""

import base64
import codecs
import html
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any

MASK = "[secret]"

_LONG_LINE = 16
_SHORTEST = 6
"""Of a form: base64 loses up to two characters at either end of what is certain."""
_CUT = 400
"""A text this long may have been cut off, in the middle of a secret."""
_EDGE = 4
"""Characters of a secret at the end of a cut text that are too many to be chance."""


class Redactor:
    """Knows the secrets of one execution."""

    def __init__(self, values: Iterable[str]) -> None:
        found = {form for value in values for form in forms(value) if len(form) >= _SHORTEST}
        # long before short: of two that begin alike the whole one goes
        self._forms = sorted(found, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without secrets, and without halves of one where it may have been cut."""
        cut = len(text) >= _CUT
        # one by one: to compile them into a pattern takes longer than most tasks do
        for form in self._forms:
            if form in text:
                text = text.replace(form, MASK)
        return self._edges(text) if cut else text

    def value(self, value: Any) -> Any:
        """The same for every text in a JSON value, names of fields too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | tuple):
            return [self.value(inner) for inner in value]
        if isinstance(value, dict):
            return {self.text(str(name)): self.value(inner) for name, inner in value.items()}
        return value

    def _edges(self, text: str) -> str:
        for form in self._forms:
            text = _without_end(_without_start(text, form), form)
        return text


def _without_start(text: str, form: str) -> str:
    """Without the end of a form at its start."""
    first = text[:_EDGE]
    at = form.find(first, 1)
    while at >= 0:
        if text.startswith(form[at:]):
            return MASK + text[len(form) - at :]
        at = form.find(first, at + 1)
    return text


def _without_end(text: str, form: str) -> str:
    """Without the start of a form at its end."""
    first = form[:_EDGE]
    at = text.find(first, max(0, len(text) - len(form)))
    while at >= 0:
        if form.startswith(text[at:]):
            return text[:at] + MASK
        at = text.find(first, at + 1)
    return text


def forms(value: str) -> Iterator[str]:
    """How a secret may look in a text."""
    lines = value.splitlines()
    parts = [line for line in lines if len(line) >= _LONG_LINE and not line.startswith("-----")] if len(lines) > 1 else []
    for part in (value, *parts):
        yield from _forms(part)


def _forms(text: str) -> Iterator[str]:
    raw = text.encode("utf-8", "surrogatepass")
    for plain in (text, text[::-1], codecs.encode(text, "rot13")):
        yield plain
        once = set(_escaped(plain))
        yield from once
        # JSON in a repr, JSON in JSON
        for form in once - {plain}:
            yield from _escaped(form)
    yield html.escape(text)
    for quote in (urllib.parse.quote, urllib.parse.quote_plus):
        for safe in ("", "/"):
            quoted = quote(text, safe=safe, errors="replace")
            yield quoted
            yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quoted)
    yield raw.hex()
    yield raw.hex().upper()
    yield from _base64(raw)


def _escaped(text: str) -> Iterator[str]:
    """Within quotes, as JSON and Python write them."""
    for ascii_only in (True, False):
        yield json.dumps(text, ensure_ascii=ascii_only)[1:-1]
    yield json.dumps(text, ensure_ascii=False).replace("/", "\\/")[1:-1]
    yield repr(text)[1:-1]
    yield ascii(text)[1:-1]


def _base64(raw: bytes) -> Iterator[str]:
    """In a longer text it may begin at any of three places; characters that its neighbours have a part in are left out."""
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw).decode().rstrip("=")
        certain = encoded[(0, 2, 3)[before] :]
        if (before + len(raw)) % 3:
            certain = certain[:-1]
        yield certain
        yield certain.replace("+", "-").replace("/", "_")
