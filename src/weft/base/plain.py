"""Text from anywhere, made fit for a terminal: nothing in it is obeyed, nothing hides or turns what stands beside it. Pure.

Control characters are obeyed by terminals (ESC begins commands, so does U+009B), marks of direction turn the text around
them, and what has no width makes two names look the same. Python calls all of these, and odd spaces, not printable.
"""

import logging
import unicodedata

_INSTEAD = "\N{REPLACEMENT CHARACTER}"


def line(text: str) -> str:
    """One line: ends of lines are among what is replaced."""
    return text if text.isprintable() else "".join(map(_shown, text))


def lines(text: str) -> str:
    """Several lines."""
    return "\n".join(map(line, text.split("\n")))


def json(text: str) -> str:
    """JSON that means the same: what is not printable is written as JSON escapes it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else _escaped(char) for char in text)


class Formatter(logging.Formatter):
    """Lines of a log: what tasks say, and what was said to them, ends up there."""

    def format(self, record: logging.LogRecord) -> str:
        return lines(super().format(record))


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    return " " if unicodedata.category(char) == "Zs" or char == "\t" else _INSTEAD


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
