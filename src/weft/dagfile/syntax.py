"""The expressions inside `${…}`: text → expression, with the column of what is wrong.

    or < and < comparison < ++ < + - < * / % < - ! (in front) < .name [index] [*].name

    params.day   tasks.extract.output.rows   tasks["load data"].state   run.id   item   secrets.TOKEN
    default(a, b, …)   length(x)   contains(x, y)   last(list)   merge(a, b, …)   'text' "text" 12 1.5 true null [1, 2]
"""

import re
from typing import NoReturn

from weft.base.names import closest
from weft.plan.expression import (
    MAX_DEPTH,
    Apply,
    Expression,
    Get,
    Index,
    List,
    Operator,
    Output,
    Param,
    Pluck,
    Run,
    Secret,
    Value,
)

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<sign>\|\||&&|==|!=|>=|<=|\+\+|[-+*/%<>!.,()\[\]]))"
)
_TASK = re.compile(r"[\w-]+")
_BINARY: list[dict[str, Operator]] = [
    {"||": "or"}, {"&&": "and"}, {"==": "==", "!=": "!=", ">=": ">=", "<=": "<=", ">": ">", "<": "<"}, {"++": "++"},
    {"+": "+", "-": "-"}, {"*": "*", "/": "/", "%": "%"},
]  # fmt: skip
_COMPARISON = 2
_FUNCTIONS: dict[Operator, tuple[int, int]] = {
    "default": (2, 9), "length": (1, 1), "contains": (2, 2), "last": (1, 1), "merge": (1, 9),
}  # fmt: skip
"""How many values each takes, at least and at most."""
_WORDS = {"true": True, "false": False, "null": None}
_ROOTS = ("params", "tasks", "run", "secrets")


class Wrong(Exception):
    """What is wrong, and in which column of the text."""

    def __init__(self, column: int, message: str) -> None:
        super().__init__(message)
        self.column, self.message = column, message


def parse(text: str, *, start: int = 0, item: str | None = None) -> tuple[Expression, int]:
    """The expression that begins at `start`, and where it ends. `item` is what an element is called, if there is one."""
    reader = _Reader(text, start, item)
    return reader.binary(0), reader.at


class _Reader:
    def __init__(self, text: str, start: int, item: str | None) -> None:
        self._text, self.at, self._item = text, start, item
        self._depth = 0

    def binary(self, level: int) -> Expression:
        if level == len(_BINARY):
            return self._unary()
        left, chain = self.binary(level + 1), 0
        while (sign := self._peek("sign")) in _BINARY[level]:
            self._take()
            left = Apply(_BINARY[level][sign], (left, self.binary(level + 1)))
            chain += 1
            if chain == MAX_DEPTH:
                self._refuse("the expression is too long; compute a part of it in a task")
            if level == _COMPARISON and self._peek("sign") in _BINARY[level]:
                self._refuse("comparisons cannot be chained; use && between them")
        return left

    def _unary(self) -> Expression:
        sign = self._peek("sign")
        if sign not in ("-", "!", "+"):
            return self._postfix()
        self._take()
        self._deeper()
        inner = self._unary()
        self._depth -= 1
        if sign == "+":
            return inner
        return Apply("negate" if sign == "-" else "not", (inner,))

    def _postfix(self) -> Expression:
        found = self._atom()
        while (sign := self._peek("sign")) in (".", "["):
            self._take()
            if sign == ".":
                found = Get(found, self._name("a field"))
            elif self._peek("sign") == "*":
                self._take()
                self._expect("]")
                self._expect(".")
                found = Pluck(found, self._name("a field"))
            else:
                found = Index(found, self._inner())
                self._expect("]")
        return found

    def _atom(self) -> Expression:
        kind, word = self._token()
        if kind == "number":
            self._take()
            return Value(float(word) if re.search(r"[.eE]", word) else int(word))
        if kind == "text":
            self._take()
            return Value(re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t"}.get(found[1], found[1]), word[1:-1]))
        if kind == "name":
            return self._word(word)
        if word == "(":
            self._take()
            found = self._inner()
            self._expect(")")
            return found
        if word == "[":
            self._take()
            return List(self._several("]"))
        rest = self._text[self.at :].strip()
        if rest[:1] in ("'", '"'):
            self._refuse(f"the text is not closed: {rest[0]} is missing")
        self._refuse("a value is expected here" if rest else "the expression ends too early")

    def _word(self, word: str) -> Expression:
        start = self.at
        self._take()
        if word in _WORDS:
            return Value(_WORDS[word])
        if word in _FUNCTIONS and self._peek("sign") == "(":
            self._take()
            arguments = self._several(")")
            least, most = _FUNCTIONS[word]
            if not least <= len(arguments) <= most:
                self._refuse(f"{word} takes {least if least == most else f'{least} to {most}'} values, not {len(arguments)}")
            return Apply(word, arguments)
        if word == self._item:
            return Param(word)
        if word not in _ROOTS:
            self.at = start
            known = (*_ROOTS, *_FUNCTIONS, *([self._item] if self._item else ()))
            self._refuse(f"{word!r} is not known here{closest(word, known)}; text needs quotes")
        return self._root(word)

    def _root(self, word: str) -> Expression:
        match word:
            case "params":
                return Param(self._key("a param"))
            case "run":
                return Run(self._key("a fact of the run"))
            case "secrets":
                return Secret(self._key("a secret"))
        task = self._key("a task", hyphens=True)
        part = self._key("output, state or error")
        if part == "output":
            return Output(task)
        if part == "state":
            return Output(task, "state")
        if part == "error":
            return Output(task, "error")
        self._refuse(f"a task has an output, a state and an error, but no {part!r}; "
                     f"write tasks.{task}.output.{part}")  # fmt: skip

    def _key(self, what: str, *, hyphens: bool = False) -> str:
        """`.name` or `["any name"]`."""
        if self._peek("sign") == "[":
            self._take()
            kind, word = self._token()
            if kind != "text":
                self._refuse(f"the name of {what} in quotes is expected here")
            self._take()
            self._expect("]")
            return word[1:-1]
        self._expect(".", f"{what} is expected after a dot")
        if hyphens and (found := _TASK.match(self._text, self.at)):
            self.at = found.end()
            return found[0]
        return self._name(what)

    def _several(self, closing: str) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while self._peek("sign") != closing:
            found.append(self._inner())
            if self._peek("sign") != ",":
                break
            self._take()
        self._expect(closing)
        return tuple(found)

    def _inner(self) -> Expression:
        self._deeper()
        found = self.binary(0)
        self._depth -= 1
        return found

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH // 2:
            self._refuse("the expression is nested too deep")

    def _name(self, what: str) -> str:
        kind, word = self._token()
        if kind != "name":
            self._refuse(f"the name of {what} is expected here")
        self._take()
        return word

    def _expect(self, sign: str, message: str = "") -> None:
        if self._peek("sign") != sign:
            self._refuse(message or f"{sign} is expected here")
        self._take()

    def _token(self) -> tuple[str, str]:
        found = _TOKEN.match(self._text, self.at)
        if found is None or found.lastgroup is None:
            return "", ""
        return found.lastgroup, found[found.lastgroup]

    def _peek(self, kind: str) -> str:
        found, word = self._token()
        return word if found == kind else ""

    def _take(self) -> None:
        found = _TOKEN.match(self._text, self.at)
        assert found is not None
        self.at = found.end()

    def _refuse(self, message: str) -> NoReturn:
        blanks = len(self._text[self.at :]) - len(self._text[self.at :].lstrip())
        raise Wrong(self.at + blanks + 1, message)
