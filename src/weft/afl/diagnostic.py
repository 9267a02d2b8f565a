"""What is wrong with a program, and where: collected, so that all of it is told at once."""

import itertools
from collections.abc import Callable, Iterable

import msgspec

from weft.afl.rules import RULES, Severity
from weft.afl.source import Source
from weft.base.names import closest

MOST = 200
"""Problems of one program that are told."""
COMPARED = 40_000
"""Names that are looked at, for all hints of one program together: it takes some microseconds for each."""
_AT_ONCE = 5_000


class Near(msgspec.Struct, frozen=True):
    """A hint that is looked for only if its problem is told: which of the known names was probably meant."""

    name: str
    known: Callable[[], Iterable[str]]
    otherwise: str = ""


Hint = str | Near


class Diagnostic(msgspec.Struct, frozen=True):
    """One problem, as editors and people are told it. Lines and columns count from 1; the end is behind it."""

    rule: str
    severity: Severity
    message: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    excerpt: str
    hint: str = ""

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message}{hint} [{self.rule}]"


class Report:
    """Problems as they are found. The same one at the same place is told once."""

    def __init__(self, *, lenient: Iterable[str] = ()) -> None:
        self._found: dict[tuple[str, int, str], tuple[Source, int, int, str, Severity, str, Hint]] = {}
        self._lenient = frozenset(lenient)

    def add(self, rule: str, message: str, source: Source, start: int, end: int, *, hint: Hint = "") -> None:
        """A problem from `start` to `end` of a source."""
        severity: Severity = "warning" if rule in self._lenient else RULES[rule].severity
        if severity == "warning" and source.library:
            return
        key = (source.name, start, rule)
        if key not in self._found:
            self._found[key] = (source, start, max(end, start + 1), rule, severity, message, hint)

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return any(one[4] == "error" for one in self._found.values())

    def diagnostics(self) -> list[Diagnostic]:
        """What was found, in order of its place; errors are kept if there is too much of it."""
        found = sorted(self._found.values(), key=lambda one: one[4])[:MOST]
        found.sort(key=lambda one: (one[0].name, one[1]))
        left = COMPARED
        told = []
        for source, start, end, rule, severity, message, hint in found:
            if isinstance(hint, Near):
                names = list(itertools.islice(hint.known(), min(_AT_ONCE, left)))
                left -= len(names)
                hint = closest(hint.name, names).removeprefix("; ") or hint.otherwise
            told.append(_diagnostic(source, start, end, rule, severity, message, hint))
        return told


def excerpt(diagnostic: Diagnostic) -> str:
    """The line, and a line that points into it, for people."""
    end = diagnostic.end_column if diagnostic.end_line == diagnostic.line else len(diagnostic.excerpt) + 1
    pad = "".join("\t" if char == "\t" else " " for char in diagnostic.excerpt[: diagnostic.column - 1])
    return f"  {diagnostic.excerpt}\n  {pad}{'^' * max(1, end - diagnostic.column)}"


def _diagnostic(
    source: Source, start: int, end: int, rule: str, severity: Severity, message: str, hint: str
) -> Diagnostic:
    line, column = source.place(start)
    end_line, end_column = source.place(min(end, len(source.text) + 1))
    return Diagnostic(rule=rule, severity=severity, message=message, file=source.name, line=line, column=column,
                      end_line=end_line, end_column=end_column, excerpt=source.line(line)[:400], hint=hint)  # fmt: skip
