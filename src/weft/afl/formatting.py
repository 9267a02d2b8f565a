"""A program's text in one style. It works on tokens, so it can change nothing but space; lines stay where their author
broke them, statements get lines of their own unless their block is written in one line, and comments stay.
"""

from weft.afl import lexer
from weft.afl.diagnostic import Report
from weft.afl.lexer import OPERATORS, Comment, Token
from weft.afl.reading import DECLARES
from weft.afl.source import Source

INDENT = "    "
_OPENS = ("(", "[", "{", "#{")
_CLOSES = (")", "]", "}")
_BEFORE_UNARY = frozenset({*OPERATORS, *_OPENS, ",", "=", ":", "=>"})
_UNARY = frozenset({"-", "+", "!"})
_PROMPT = frozenset({"system", "template", "model"})


def format_text(text: str) -> str:
    """The text formatted; as it is, if it cannot be read."""
    source, report = Source("", text), Report()
    lexed = lexer.lex(source, report)
    if report.failed:
        return text
    made = _Writer(source, lexed.tokens[:-1], lexed.comments).written()
    after = lexer.lex(Source("", made), Report())
    same = [one[:2] for one in after.tokens] == [one[:2] for one in lexed.tokens]
    return made if same and len(after.comments) == len(lexed.comments) else text


class _Open:
    """A bracket that is open: how far its line is indented, and whether its inside is written in one line."""

    def __init__(self, kind: str, level: int, inline: bool) -> None:
        self.kind, self.level, self.inline = kind, level, inline


class _Writer:
    def __init__(self, source: Source, tokens: list[Token], comments: list[Comment]) -> None:
        self._source, self._text, self._tokens = source, source.text, tokens
        self._comments: dict[int, list[Comment]] = {}
        for one in comments:
            self._comments.setdefault(one.before, []).append(one)
        self._lines: list[str] = []
        self._line = ""
        self._level = 0
        self._open: list[_Open] = []
        self._before = 0
        """Where the last thing that was written ends in the source."""
        self._closed = ""
        self._inline = self._inlines()

    def written(self) -> str:
        previous: Token | None = None
        for number, token in enumerate(self._tokens):
            for comment in self._comments.get(number, ()):
                self._comment(comment)
                previous = None if self._line == "" else previous
            self._token(number, token, previous)
            previous = token
        for comment in self._comments.get(len(self._tokens), ()):
            self._comment(comment)
        self._break(0)
        while self._lines and not self._lines[-1]:
            self._lines.pop()
        return "\n".join(self._lines) + "\n" if self._lines else ""

    def _inlines(self) -> dict[int, bool]:
        """For each brace, whether everything to its end is in one line."""
        found: dict[int, bool] = {}
        stack: list[int] = []
        for number, token in enumerate(self._tokens):
            if token.kind in _OPENS:
                stack.append(number)
            elif token.kind in _CLOSES and stack:
                opening = stack.pop()
                found[opening] = self._source.place(self._tokens[opening].start)[0] == self._source.place(token.start)[0]
        return found

    # where lines are broken

    def _token(self, number: int, token: Token, previous: Token | None) -> None:
        gap = self._text[self._before : token.start]
        newlines = gap.count("\n")
        inner = self._open[-1] if self._open else None
        braced = inner is None or inner.kind == "{"
        starts = braced and self._starts(number)
        if token.kind in _CLOSES and self._open:
            closing = self._open.pop()
            self._closed = closing.kind
            if closing.kind == "{" and not closing.inline and (previous is None or previous.kind != "{"):
                newlines = 1
            elif closing.kind == "{" and previous is not None and previous.kind == "{":
                newlines = 0
            if newlines and self._line:
                self._break(0)
            if not self._line:
                self._level = closing.level
        else:
            inside = previous is not None and previous.kind == "{" and inner is not None and not inner.inline
            first = previous is None or previous.kind == "{"
            if self._line and (inside or (starts and not first and not (inner is not None and inner.inline))):
                newlines = max(newlines, 1)
            if newlines and self._line:
                self._break(newlines - 1 if starts and not first else 0)
            elif newlines > 1 and not self._line and starts and previous is None:
                self._blank()
            if not self._line:
                base = inner.level + 1 if inner else 0
                continues = not starts if braced else previous is not None and previous.kind not in (",", *_OPENS)
                self._level = base + (1 if continues and previous is not None and previous.kind != "{" else 0)
        self._write(token, previous, number)
        if token.kind in _OPENS:
            self._open.append(_Open(token.kind, self._level, self._inline.get(number, False)))
        self._before = token.end

    def _starts(self, number: int) -> bool:
        """Whether a statement, declaration, case, field or part of a prompt begins with this token."""
        token = self._tokens[number]
        following = self._tokens[number + 1] if number + 1 < len(self._tokens) else None
        if token.kind != "name" or following is None:
            return False
        if following.kind in ("=", ":"):
            return True
        if token.value in ("yield", "case"):
            return True
        if token.value in _PROMPT and following.kind == "string":
            return True
        previous = self._tokens[number - 1] if number else None
        after_event = previous is not None and previous.value == "event" and token.value == "facet"
        return token.value in DECLARES and following.kind == "name" and not after_event

    def _break(self, blank: int) -> None:
        """Ends the line, and leaves at most one empty one."""
        if self._line:
            self._lines.append(self._line.rstrip())
        self._line = ""
        if blank > 0:
            self._blank()

    def _blank(self) -> None:
        if self._lines and self._lines[-1]:
            self._lines.append("")

    # what lines hold

    def _write(self, token: Token, previous: Token | None, number: int) -> None:
        text = self._text[token.start : token.end]
        if token.kind == "script":
            text = self._script(token)
        if not self._line:
            self._line = INDENT * self._level + text
        else:
            self._line += (" " if self._spaced(previous, token, number) else "") + text
        if "\n" in text:
            head, _, tail = self._line.rpartition("\n")
            self._lines += head.split("\n") if token.kind == "script" else [head]
            self._line = tail

    def _spaced(self, left: Token | None, right: Token, number: int) -> bool:
        if left is None:
            return True
        if right.kind in (",", ")", "]", ".", ":") or left.kind in ("(", "[", ".", "$", "#{"):
            return False
        if right.kind == "}":
            return self._closed == "{" and left.kind != "{"
        if left.kind in _UNARY and self._unary(number - 1):
            return False
        if right.kind == "(":
            return left.kind not in ("name", ")", "]") or left.value in ("in", "case")
        if right.kind == "[":
            return not (left.kind in ("name", ")", "]", "string", "}") and left.value not in ("in", "case"))
        return True

    def _unary(self, number: int) -> bool:
        if number <= 0:
            return True
        before = self._tokens[number - 1]
        return before.kind in _BEFORE_UNARY or before.value in ("in", "case")

    def _script(self, token: Token) -> str:
        raw = self._text[token.start : token.end]
        if "\n" not in raw:
            return f"{{ {token.value} }}" if token.value else "{}"
        base = INDENT * self._level
        lines = [f"{base}{INDENT}{line}" if line else "" for line in token.value.split("\n")]
        return "\n".join(["{", *lines, base + "}"])

    def _comment(self, comment: Comment) -> None:
        gap = self._text[self._before : comment.start]
        text = self._text[comment.start : comment.end]
        newlines = gap.count("\n")
        inner = self._open[-1] if self._open else None
        if newlines or not self._line:
            if self._line:
                opened = self._line.endswith(("{", "(", "["))
                self._break(0 if opened else newlines - 1)
            elif newlines > 1:
                self._blank()
            self._level = inner.level + 1 if inner else 0
            self._line = INDENT * self._level + _aligned(text, INDENT * self._level)
        else:
            self._line += " " + text
        self._before = comment.end
        line_end = self._text.find("\n", comment.end)
        following = self._text[comment.end : line_end if line_end >= 0 else None]
        if text.startswith("//") or not following.strip(" \t\r;") or "\n" in text:
            self._lines += self._line.rstrip().split("\n")
            self._line = ""
            self._before = comment.end


def _aligned(text: str, indent: str) -> str:
    """A comment of several lines, with the stars of its lines below its first."""
    first, *rest = text.split("\n")
    made = [first.rstrip()]
    for line in rest:
        stripped = line.strip()
        made.append(f"{indent} {stripped}" if stripped.startswith("*") else line.rstrip())
    return "\n".join(made)
