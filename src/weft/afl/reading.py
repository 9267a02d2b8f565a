"""What all parts of the parser share: a place among the tokens, what to expect there, and how to go on after an error."""

from typing import NoReturn

from weft.afl import syntax
from weft.afl.diagnostic import Report
from weft.afl.lexer import MAX_NAME, Lexed, Token
from weft.afl.source import Source
from weft.afl.syntax import Name

MAX_DEPTH = 50
"""Expressions and blocks inside each other. A plan takes 64, and lowering adds a few."""

_CLOSES = {"(": ")", "[": "]", "{": "}", "#{": "}"}
DECLARES = frozenset({"namespace", "use", "uses", "schema", "facet", "event", "workflow", "implicit"})


class Wrong(Exception):
    """The text does not follow the grammar; it has been told."""


class Reader:
    """The tokens, and which is next."""

    def __init__(self, source: Source, lexed: Lexed, report: Report) -> None:
        self.source = source
        self.report = report
        self.tokens = lexed.tokens
        self.at = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def ahead(self, count: int) -> Token:
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    @property
    def end(self) -> int:
        """Where the last token that was taken ends."""
        return self.tokens[self.at - 1].end if self.at else 0

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def word(self, *words: str) -> bool:
        """Whether one of these words is next, as a keyword: a name that is given a value or a type is a name."""
        token = self.tokens[self.at]
        return token.kind == "name" and token.value in words and self.ahead(1).kind not in ("=", ":")

    def skip(self, kind: str) -> bool:
        """Takes the next token if it is of this kind."""
        if self.tokens[self.at].kind == kind:
            self.at += 1
            return True
        return False

    def expect(self, kind: str, what: str, *, hint: str = "") -> Token:
        token = self.tokens[self.at]
        if token.kind != kind:
            self.wrong(f"expected {what}, not {shown(token)}", hint=hint)
        self.at += 1
        return token

    def name(self, what: str) -> Name:
        token = self.expect("name", what)
        return Name(token.start, token.end, token.value)

    def qualified(self, what: str) -> Name:
        """A name with dots."""
        first = self.expect("name", what)
        parts, end = [first.value], first.end
        while self.token.kind == "." and self.ahead(1).kind == "name":
            self.at += 1
            part = self.take()
            parts.append(part.value)
            end = part.end
        text = ".".join(parts)
        if len(text) > MAX_NAME:
            message = f"a name with its dots has at most {MAX_NAME} characters, not {len(text):,}"
            self.report.add("size", message, self.source, first.start, end, hint="shorten it")
            text = text[:MAX_NAME]
        return Name(first.start, end, text)

    def wrong(self, message: str, *, hint: str = "", rule: str = "syntax") -> NoReturn:
        """Tells it, at the next token (at the end of the last, if that is on a line before)."""
        token = self.token
        start, end = token.start, token.end
        if self.at and "\n" in self.source.text[self.end : start] and message.startswith("expected ','"):
            start, end = self.end - 1, self.end
        if token.kind == "end":
            start = end = max(self.end - 1, 0)
        self.report.add(rule, message, self.source, start, end, hint=hint)
        raise Wrong

    def deeper(self) -> None:
        """One level down; too many are refused, so that nobody's stack ends."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.wrong(f"nested deeper than {MAX_DEPTH} levels", rule="depth", hint="make a facet of the inner part")

    def closed(self, opening: Token, what: str) -> None:
        """The bracket that closes this one; where it is missing is best told at the opening one, if the file ends."""
        closing = _CLOSES[opening.kind]
        if self.token.kind == "end":
            message = f"this {opening.kind} is never closed"
            hint = f"write {closing} after {what}"
            self.report.add("unclosed", message, self.source, opening.start, opening.end, hint=hint)
            raise Wrong
        self.expect(closing, f"',' or {closing!r}" if closing != "}" else "'}'")

    def declares(self) -> bool:
        """Whether a declaration begins here: the word is followed by what such a word is followed by."""
        token, following = self.token, self.ahead(1)
        if token.kind != "name" or token.value not in DECLARES or following.kind != "name":
            return False
        if token.value == "event":
            return bool(following.value == "facet")
        return True

    def recover(self, *, statements: bool, depth: int = 0) -> None:
        """Goes to where the next statement or declaration may begin, or the block ends. `depth`: braces that are open."""
        while self.token.kind != "end":
            token = self.token
            if token.kind in _CLOSES:
                depth += 1
            elif token.kind in (")", "]", "}"):
                if depth == 0 and token.kind == "}":
                    return
                depth = max(depth - 1, 0)
            elif (self.declares() and (depth == 0 or self._starts_line())) or (statements and depth == 0 and self._states()):
                return
            self.at += 1

    def skip_to(self, *kinds: str) -> None:
        """After an error inside brackets: to one of these, behind brackets that open on the way; Wrong if there is none."""
        depth = 0
        while self.token.kind != "end" and not (self.declares() and self._starts_line()):
            kind = self.token.kind
            if depth == 0 and kind in kinds:
                return
            if kind in _CLOSES:
                depth += 1
            elif kind in (")", "]", "}"):
                if depth == 0:
                    break
                depth -= 1
            self.at += 1
        raise Wrong

    def _starts_line(self) -> bool:
        return "\n" in self.source.text[self.end : self.token.start]

    def _states(self) -> bool:
        """Whether a step or a yield may begin here."""
        if self.token.kind != "name":
            return False
        if self.token.value in ("yield", "case") and self.ahead(1).kind != "=":
            return True
        return self.ahead(1).kind == "=" and self.ahead(2).kind == "name" and self._starts_line()


def shown(token: Token) -> str:
    """A token in a message."""
    match token.kind:
        case "end":
            return "the end of the file"
        case "string":
            return "a text"
        case "int" | "float":
            return f"the number {token.value}"
        case "script":
            return "a script"
        case _:
            return f"{str(token.value)[:40]!r}"


def literal(token: Token) -> syntax.Literal_:
    return syntax.Literal_(token.start, token.end, token.value)
