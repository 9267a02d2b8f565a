"""The texts of YAML: plain, quoted and in blocks, and what a plain one means."""

import math
import re
from typing import Any, NamedTuple

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX = {"x": 2, "u": 4, "U": 8}
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")
_DOUBLE = re.compile(r'[^"\\\n]+')
_SINGLE = re.compile(r"[^'\n]+")
_FOLD = re.compile(r"[ \t]*\n[ \t]*((?:\n[ \t]*)*)")
_PLAIN_LINE = re.compile(r"(?:[^\s:#]|:(?=[^\s])|(?<=\S)#|[ \t]+(?![\s#]|:(?:\s|\Z)|\Z))+")
_KEY_COLON = re.compile(r"[ \t]*:(?:\s|\Z)")
_MARKER = re.compile(r"(?:---|\.\.\.)(?:\s|\Z)")
_HEADER = re.compile(r"[|>]([+-]?)([1-9]?)([+-]?)[ \t]*(?:(?<=[ \t])#[^\n]*)?(?:\n|\Z)")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+|0o[0-7]+")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_JSON = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_WORDS = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None, "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_LARGEST = 2**63


class Wrong(Exception):
    """What is wrong, and where in the text."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset, self.message = offset, message


class _Line(NamedTuple):
    indent: int
    text: str
    end: int


def resolve(text: str, start: int) -> Any:
    """What a plain text means (YAML 1.2: `no` and `12:30` are texts)."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text) and len(text) < 25:
        number = int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        if abs(number) < _LARGEST:
            return number
        raise Wrong(start, "this number has more than 64 bits; quote it if it is text")
    if _LEADING_ZERO.fullmatch(text):
        raise Wrong(start, f"{text} is octal to some and decimal to others; quote it if it is text, else leave out the zero")
    if _FLOAT.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return value
        raise Wrong(start, "this number is too large")
    if _NOT_JSON.fullmatch(text):
        raise Wrong(start, f"{text} is no number that JSON can say; quote it if it is text")
    return text


def plain(text: str, start: int, parent: int) -> tuple[str, int]:
    """A plain text, and where it ends: it goes on in lines that are indented more than `parent`."""
    found = _PLAIN_LINE.match(text, start)
    if found is None:
        raise Wrong(start, "a value is expected here")
    parts, end = [found[0]], found.end()
    while True:
        gap = _FOLD.match(text, end)
        if gap is None or _ends_document(text, gap.end()):
            break
        line = text.rfind("\n", 0, gap.end()) + 1
        following = _PLAIN_LINE.match(text, gap.end())
        if gap.end() - line <= parent or following is None or text[gap.end()] == "#":
            break
        if _KEY_COLON.match(text, following.end()):
            raise Wrong(gap.end(), "a key cannot be inside a text; check the indentation, or quote the text")
        parts += ["\n" * gap[1].count("\n") or " ", following[0]]
        end = following.end()
    if _KEY_COLON.match(text, end):
        raise Wrong(end, "a second colon on this line; quote the text, or begin a new line")
    return "".join(parts), end


def quoted(text: str, start: int) -> tuple[str, int]:
    """A quoted text, and where it ends."""
    return _double(text, start) if text[start] == '"' else _single(text, start)


def block(text: str, start: int, parent: int) -> tuple[str, int]:
    """A block of text after `|` or `>`, and where it ends."""
    header = _HEADER.match(text, start)
    if header is None or (header[1] and header[3]):
        raise Wrong(start, "after | or > come only +, - or a digit, then a new line")
    chomp = header[1] or header[3]
    parent = max(parent, 0)
    lines = _block_lines(text, header.end(), parent, parent + int(header[2]) if header[2] else None)
    # from here on, as in YAML: `indent` spaces are not part of the text
    kept = [line.text for line in lines]
    end = lines[-1].end if lines else header.end()
    while kept and not kept[-1]:
        kept.pop()
    trailing = len(lines) - len(kept)
    body = "\n".join(kept) if text[start] == "|" else _folded(kept)
    breaks = trailing + bool(kept)
    if lines and not text.endswith("\n") and end == len(text):
        breaks -= 1  # the text ends without one
    return body + "\n" * {"-": 0, "+": breaks, "": min(breaks, 1) if kept else 0}[chomp], end


def _block_lines(text: str, at: int, parent: int, indent: int | None) -> list[_Line]:
    found: list[_Line] = []
    while at < len(text):
        end = text.find("\n", at)
        end, after = (len(text), len(text)) if end < 0 else (end, end + 1)
        line = text[at:end]
        stripped = line.lstrip(" ")
        spaces = len(line) - len(stripped)
        if stripped:
            if spaces <= parent or (indent is not None and spaces < indent) or _ends_document(text, at):
                break
            if indent is None:
                indent = spaces
                if any(before.indent > indent for before in found):
                    raise Wrong(at, "a blank line above is indented more than the text; take its spaces away")
        found.append(_Line(spaces, line, after))
        at = after
    # a line of blanks has text only beyond the indentation
    return [line._replace(text=line.text[len(line.text) if indent is None else indent :]) for line in found]


def _folded(lines: list[str]) -> str:
    """Lines joined by spaces, but for those that are empty or indented."""
    out: list[str] = []
    empty = 0
    for line in lines:
        if not line:
            empty += 1
            continue
        if out:
            apart = line[0] in " \t" or out[-1][:1] in (" ", "\t")
            out.append("\n" * (empty + 1) if apart else "\n" * empty or " ")
        else:
            out.append("\n" * empty)
        out.append(line)
        empty = 0
    return "".join(out)


def _double(text: str, start: int) -> tuple[str, int]:
    parts: list[str] = []
    at = start + 1
    while at < len(text):
        if found := _DOUBLE.match(text, at):
            parts.append(found[0])
            at = found.end()
            continue
        if text[at] == '"':
            return _joined("".join(parts), start), at + 1
        if text[at] == "\\":
            part, at = _escape(text, at)
        else:
            part, at = _line_break(parts, text, at)
        parts.append(part)
    raise Wrong(start, 'this text is not closed: its " is missing')


def _single(text: str, start: int) -> tuple[str, int]:
    parts: list[str] = []
    at = start + 1
    while at < len(text):
        if found := _SINGLE.match(text, at):
            parts.append(found[0])
            at = found.end()
        elif text.startswith("''", at):
            parts.append("'")
            at += 2
        elif text[at] == "'":
            return "".join(parts), at + 1
        else:
            part, at = _line_break(parts, text, at)
            parts.append(part)
    raise Wrong(start, "this text is not closed: its ' is missing")


def _line_break(parts: list[str], text: str, at: int) -> tuple[str, int]:
    """A line break inside quotes: blanks around it do not count, empty lines are line breaks."""
    if parts:
        parts[-1] = parts[-1].rstrip(" \t")
    found = _FOLD.match(text, at)
    assert found is not None
    if _ends_document(text, found.end()):
        raise Wrong(found.end(), "the document ends inside a quoted text")
    return "\n" * found[1].count("\n") or " ", found.end()


def _escape(text: str, at: int) -> tuple[str, int]:
    name = text[at + 1 : at + 2]
    if name in _ESCAPES:
        return _ESCAPES[name], at + 2
    if name == "\n":
        found = _FOLD.match(text, at + 1)
        assert found is not None
        return "\n" * found[1].count("\n"), found.end()
    digits = text[at + 2 : at + 2 + _HEX.get(name, 0)]
    if name not in _HEX or len(digits) < _HEX[name] or not _HEX_DIGITS.fullmatch(digits) or int(digits, 16) > 0x10FFFF:
        raise Wrong(at, f"\\{name} is no escape; write \\\\ for a backslash, or use single quotes")
    return chr(int(digits, 16)), at + 2 + len(digits)


def _joined(text: str, start: int) -> str:
    """With the halves of characters that JSON writes in two put together."""
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16") if re.search(r"[\ud800-\udfff]", text) else text
    except UnicodeDecodeError:
        raise Wrong(start, "half a character: a \\ud800 to \\udfff without its other half") from None


def _ends_document(text: str, at: int) -> bool:
    return _MARKER.match(text, at) is not None and (at == 0 or text[at - 1] == "\n")
