"""Text → tokens. Words are all alike: whether `when` is a keyword or a param's name is for the parser to say.

The braces of a script hold Python, which is cut out whole. `;` is space. Comments are kept aside, for documentation and
for the formatter.
"""

import ast
import re
import textwrap
from typing import Any, NamedTuple

from weft.afl.diagnostic import Report
from weft.afl.source import Source

KEYWORDS = (
    "namespace", "use", "uses", "schema", "facet", "event", "workflow", "implicit", "with", "as", "andThen", "foreach",
    "in", "andMap", "andMatch", "when", "case", "catch", "yield", "script", "python", "prompt", "system", "template",
    "model",
)  # fmt: skip
"""Words that mean something in some places, and are names in all others."""
LITERALS = {"true": True, "false": False, "null": None}
TYPES = ("String", "Long", "Int", "Double", "Boolean", "Json")
OPERATORS = ("||", "&&", "==", "!=", ">=", "<=", ">", "<", "++", "+", "-", "*", "/", "%", "!")

MAX_NAME = 255
"""Of the kinds of tasks too, which names become."""
LARGEST = 2**63 - 1
_TOKEN = re.compile(
    r"""(?P<space>[\s;]+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<int>[0-9]+)
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<line>//[^\n]*)
    |(?P<comment>/\*(?:[^*]|\*(?!/))*\*/)
    |(?P<mark>=>|\|\||&&|==|!=|>=|<=|\+\+|\#\{|[-+*/%!<>=(){}\[\],.:$])
    """,
    re.X | re.S,
)
_ESCAPE = re.compile(r'\\(?:([ntr"\\])|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2}))')
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_POINT = re.compile(r"\.(?:[eE][+-]?[0-9]+)?(?![A-Za-z_])")
_PYTHON = re.compile(
    r"""(?P<string>[rRbBfFuU]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<comment>\#[^\n]*)|(?P<open>\{)|(?P<close>\})|(?P<other>[^{}\#'"]+|.)""",
    re.X | re.S,
)


_TAG = re.compile(r"^[ \t]*@(param|return)s?[ \t]+([A-Za-z_]\w*)", re.M)
_LONE = ("'", '"')
_TRIPLE = re.compile(r"""[rRbBfFuU]{0,2}(?:\"\"\"|''')""")
_BRACES = re.compile(r"""(?P<comment>\#[^\n]*)|(?P<open>\{)|(?P<close>\})|(?P<other>[^{}\#]+)""")


class Token(NamedTuple):
    """`kind`: name, int, float, string, script, end, or the mark itself. `value`: what it stands for."""

    kind: str
    value: Any
    start: int
    end: int


class Comment(NamedTuple):
    start: int
    end: int
    before: int
    """The number of the token that follows it."""


class Lexed(NamedTuple):
    tokens: list[Token]
    comments: list[Comment]


def lex(source: Source, report: Report) -> Lexed:
    """All tokens, the last of kind `end`. What cannot be read is told and left out."""
    return _Lexer(source, report).lexed()


def doc(text: str) -> str:
    """What a doc comment says: without its marks, and the star at the beginning of each line."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in text[3:-2].split("\n")]
    return "\n".join(lines).strip()


def tags(doc: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """What a doc comment says in general, of each param, and of each return: `@param name text`, `@return(s) name text`.
    A text goes on to the next tag.
    """
    lead, *rest = _TAG.split(doc)
    params, returns = dict[str, str](), dict[str, str]()
    for kind, name, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        (params if kind == "param" else returns).setdefault(name, " ".join(text.split()))
    return lead.strip(), params, returns


class _Lexer:
    """One pass over the text. What is never closed is looked for to the end only once: all that follows is not either."""

    def __init__(self, source: Source, report: Report) -> None:
        self._source, self._report = source, report
        self._tokens: list[Token] = []
        self._comments: list[Comment] = []
        self._unclosed = len(source.text)
        """From where on no text is closed."""
        self._python = _PYTHON

    def lexed(self) -> Lexed:
        source, text, tokens = self._source, self._source.text, self._tokens
        at, length, match = 0, len(source.text), _TOKEN.match
        while at < length:
            found = match(text, at) if at <= self._unclosed or text[at] != '"' else None
            if found is None:
                start, at = at, self._unreadable(at)
                if text[start] in "\"'" and at > start + 1:
                    tokens.append(Token("string", text[start + 1 : at].rstrip("'"), start, at))
                continue
            kind, start, at = found.lastgroup, at, found.end()
            if kind == "space":
                continue
            if kind == "name":
                tokens.append(self._name(start, at))
                if tokens[-1].value == "script":
                    at = self._after_script(at)
            elif kind == "mark":
                mark = found.group()
                tokens.append(Token(mark, mark, start, at))
            elif kind == "string":
                tokens.append(Token("string", _unescaped(source, start, at, self._report), start, at))
            elif kind in ("line", "comment"):
                self._comments.append(Comment(start, at, len(tokens)))
            else:
                negative = bool(tokens) and tokens[-1].kind == "-"
                tokens.append(_number(source, kind or "", start, at, self._report, negative=negative))
                at = tokens[-1].end
        tokens.append(Token("end", "", length, length))
        return Lexed(tokens, self._comments)

    def _name(self, start: int, end: int) -> Token:
        if end - start > MAX_NAME:
            message = f"a name has at most {MAX_NAME} characters, not {end - start:,}"
            self._report.add("size", message, self._source, start, end, hint="shorten it")
        return Token("name", self._source.text[start : min(end, start + MAX_NAME)], start, end)

    def _unreadable(self, at: int) -> int:
        """Tells what is there, and where to go on."""
        source, text, report = self._source, self._source.text, self._report
        line_end = text.find("\n", at)
        line_end = len(text) if line_end < 0 else line_end
        if text[at] == '"':
            self._unclosed = min(self._unclosed, at)
            # what closes at the end of the line was hardly meant to be in the text
            end = at + len(text[at:line_end].rstrip(" \t)]},;")) or line_end
            report.add("string", "this text is never closed", source, at, end, hint='write " where it ends')
            return max(end, at + 1)
        if text[at] == "'" and 0 < (close := text.find("'", at + 1)) < line_end:
            report.add("character", "a text stands in double quotes", source, at, close + 1, hint='write "…"')
            return close + 1
        if text[at] == "#":
            hint = "comments begin with //, maps with #{"
            report.add("character", "'#' begins nothing here", source, at, at + 1, hint=hint)
            return line_end
        if text.startswith("/*", at):
            report.add("unclosed", "this comment is never closed", source, at, at + 2, hint="write */ where it ends")
            return len(text)
        end = at + 1
        while end < line_end and text[end] != '"' and _TOKEN.match(text, end) is None:
            end += 1
        shown = text[at:end]
        meant = {"'": "texts stand in double quotes", "|": "or is ||", "&": "and is &&"}
        message = f"{shown[:20]!r} means nothing here"
        report.add("character", message, source, at, end, hint=meant.get(shown[0], "remove it, or put it into a text"))
        return end

    def _after_script(self, at: int) -> int:
        """After the word `script`: its braces hold Python, if it follows `)` or `andThen` and they are there."""
        text, before = self._source.text, self._tokens[-2:-1]
        if not before or not (before[0].kind == ")" or before[0].value == "andThen"):
            return at
        comments: list[Comment] = []
        python: list[Token] = []
        behind = at
        while behind < len(text) and (found := _TOKEN.match(text, behind)):
            if found.lastgroup in ("line", "comment"):
                comments.append(Comment(behind, found.end(), len(self._tokens) + len(python)))
            elif found.lastgroup == "name" and not python:
                python.append(Token("name", found.group(), behind, found.end()))
            elif found.lastgroup != "space":
                break
            behind = found.end()
        if not text.startswith("{", behind):
            return at
        code, end = self._script(behind)
        self._comments += comments
        self._tokens += [*python, Token("script", code, behind, end)]
        return end

    def _script(self, brace: int) -> tuple[str, int]:
        """The code between the braces, and the offset behind them."""
        text, at, depth = self._source.text, brace + 1, 1
        while depth and at < len(text):
            found = self._python.match(text, at)
            assert found is not None
            if found.group() in _LONE or (found.lastgroup == "string" and _TRIPLE.match(text, at) and found.end() - at < 6):
                self._python = _BRACES  # a quote that nothing closes: from here on only the braces count
            at = found.end()
            depth += {"open": 1, "close": -1}.get(found.lastgroup or "", 0)
        if depth:
            hint = "write } where it ends"
            self._report.add("unclosed", "this script is never closed", self._source, brace, brace + 1, hint=hint)
            return dedented(text[brace + 1 :]), len(text)
        return dedented(text[brace + 1 : at - 1]), at


def _number(source: Source, kind: str, start: int, end: int, report: Report, *, negative: bool) -> Token:
    written = source.text[start:end]
    if kind == "int" and (point := _POINT.match(source.text, end)):
        shown, end = source.text[start : point.end()], point.end()
        report.add("number", f"{shown} is no number", source, start, end, hint="digits on both sides of the point, as 1.0e3")
    following = source.text[end : end + 1]
    if following.isalpha() or following == "_":
        hint = "digits on both sides of the point, as 1.0e3" if following in "eE" else "a name does not begin with a digit"
        report.add("number", f"{written}{following}… is no number", source, start, end + 1, hint=hint)
    if kind == "float":
        value = float(written)
        if value in (float("inf"), float("-inf")):
            report.add("number", "this number is too large", source, start, end, hint="the most is about 1.8e308")
            value = 0.0
        return Token("float", value, start, end)
    whole = int(written) if len(written) < 20 else LARGEST + 1
    if whole > LARGEST + negative:
        report.add("number", "this number is too large", source, start, end, hint=f"the most is {LARGEST}")
        whole = 0
    return Token("int", whole, start, end)


def _unescaped(source: Source, start: int, end: int, report: Report) -> str:
    """A text without its quotes; escapes that are not known stay as they are."""
    inner = source.text[start + 1 : end - 1]
    if "\\" in inner:
        inner = _ESCAPE.sub(lambda found: _PLAIN[found[1]] if found[1] else chr(int(found[2] or found[3], 16)), inner)
    if "\0" in inner:
        hint = "leave it out"
        report.add("string", "a text cannot hold the character NUL", source, start, end, hint=hint)
        inner = inner.replace("\0", "")
    if any("\ud800" <= char <= "\udfff" for char in inner):
        inner = inner.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if "\ufffd" in inner:
            report.add("string", "half of a surrogate pair is no character", source, start, end, hint="write both halves")
    return inner


def dedented(code: str) -> str:
    """Code without the indentation that all its lines share. A first line beside the brace has none of its own."""
    first, newline, rest = code.partition("\n")
    if not first.strip():
        return textwrap.dedent(rest).strip("\n").rstrip()
    rest = textwrap.dedent(rest)
    made = f"{first.strip()}{newline}{rest}".rstrip()
    deeper = f"{first.strip()}\n{textwrap.indent(rest, '    ')}".rstrip()
    if rest.strip() and not _python(made) and _python(deeper):
        return deeper  # the first line opened a block, whose indentation all the others share
    return made


def _python(code: str) -> bool:
    """Whether this is Python. Of what is too long to be read for this only, it is taken to be."""
    try:
        return len(code) > 20_000 or ast.parse(code) is not None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
