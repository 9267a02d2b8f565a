"""A file's text, and where in it an offset is."""

import bisect
import re

MAX_BYTES = 8 * 1024 * 1024
"""Of one program, all its files together."""

_BREAK = re.compile(r"\n")


class Source:
    """A text with a name. `library`: it is there to be used, so only its errors are told."""

    def __init__(self, name: str, text: str, *, library: bool = False) -> None:
        self.name = name
        self.text = text.replace("\r\n", "\n").removeprefix("\ufeff")
        self.library = library
        self._breaks: list[int] | None = None

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; a column counts characters."""
        breaks = self._lines()
        line = bisect.bisect_left(breaks, offset)
        return line + 1, offset - (breaks[line - 1] + 1 if line else 0) + 1

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, or the nearest there is."""
        breaks = self._lines()
        if line > len(breaks) + 1:
            return len(self.text)
        start = breaks[line - 2] + 1 if line > 1 else 0
        end = breaks[max(line, 1) - 1] if max(line, 1) <= len(breaks) else len(self.text)
        return min(start + max(column, 1) - 1, end)

    def line(self, number: int) -> str:
        """A line's text without its end."""
        start = self.offset(number, 1)
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]

    def _lines(self) -> list[int]:
        """Where lines end."""
        if self._breaks is None:
            self._breaks = [found.start() for found in _BREAK.finditer(self.text)]
        return self._breaks
