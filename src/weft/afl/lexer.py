"""Text → tokens. Words are all alike: whether `when` is a keyword or a param's name is for the parser to say.

The braces of a script hold Python, which is cut out whole. `;` is space. Comments are kept aside, for documentation and
for the formatter.
"""

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

_LARGEST = 2**63 - 1
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
_SCRIPT = re.compile(r"(?:python\b\s*)?\{")
_PYTHON = re.compile(
    r"""(?P<string>[rRbBfFuU]{0,2}(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))
    |(?P<comment>\#[^\n]*)|(?P<open>\{)|(?P<close>\})|(?P<other>[^{}\#'"]+|.)""",
    re.X | re.S,
)


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
    text, tokens, comments = source.text, list[Token](), list[Comment]()
    at, length, match = 0, len(source.text), _TOKEN.match
    while at < length:
        found = match(text, at)
        if found is None:
            start, at = at, _unreadable(source, at, report)
            if text[start] in "\"'" and at > start + 1:
                tokens.append(Token("string", text[start + 1 : at].rstrip("'"), start, at))
            continue
        kind, start, at = found.lastgroup, at, found.end()
        if kind == "space":
            continue
        if kind == "name":
            word = found.group()
            if word == "script" and (brace := _script_after(text, at, tokens)):
                code, at = _script(source, brace, report)
                tokens.append(Token("name", "script", start, start + 6))
                tokens.append(Token("script", code, brace, at))
            else:
                tokens.append(Token("name", word, start, at))
        elif kind == "mark":
            mark = found.group()
            tokens.append(Token(mark, mark, start, at))
        elif kind == "string":
            tokens.append(Token("string", _unescaped(source, start, at, report), start, at))
        elif kind in ("line", "comment"):
            comments.append(Comment(start, at, len(tokens)))
        else:
            tokens.append(_number(source, kind or "", start, at, report))
    tokens.append(Token("end", "", length, length))
    return Lexed(tokens, comments)


def doc(text: str) -> str:
    """What a doc comment says: without its marks, and the star at the beginning of each line."""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in text[3:-2].split("\n")]
    return "\n".join(lines).strip()


def _unreadable(source: Source, at: int, report: Report) -> int:
    """Tells what is there, and where to go on."""
    text = source.text
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    if text[at] == '"':
        # what closes at the end of the line was hardly meant to be in the text
        end = at + len(text[at:line_end].rstrip(" \t)]},;")) or line_end
        report.add("string", "this text is never closed", source, at, end, hint='write " where it ends')
        return max(end, at + 1)
    if text[at] == "'" and 0 < (close := text.find("'", at + 1)) < line_end:
        report.add("character", "a text stands in double quotes", source, at, close + 1, hint='write "…"')
        return close + 1
    if text[at] == "#":
        report.add("character", "'#' begins nothing here", source, at, at + 1, hint="comments begin with //, maps with #{")
        return line_end
    if text.startswith("/*", at):
        report.add("unclosed", "this comment is never closed", source, at, at + 2, hint="write */ where it ends")
        return len(text)
    end = at + 1
    while end < line_end and _TOKEN.match(text, end) is None and text[end] != '"':
        end += 1
    shown = text[at:end]
    hint = {"'": "texts stand in double quotes", "|": "or is ||", "&": "and is &&"}
    message = f"{shown[:20]!r} means nothing here"
    report.add("character", message, source, at, end, hint=hint.get(shown[0], "remove it, or put it into a text"))
    return end


def _number(source: Source, kind: str, start: int, end: int, report: Report) -> Token:
    written = source.text[start:end]
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
    whole = int(written) if len(written) < 20 else _LARGEST + 1
    if whole > _LARGEST:
        report.add("number", "this number is too large", source, start, end, hint=f"the most is {_LARGEST}")
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


def _script_after(text: str, at: int, tokens: list[Token]) -> int:
    """Where the brace of a script is, if the word `script` that ends here has one: it follows `)` or `andThen`."""
    if not tokens or not (tokens[-1].kind == ")" or tokens[-1].value == "andThen"):
        return 0
    while at < len(text) and (space := _TOKEN.match(text, at)) and space.lastgroup in ("space", "line", "comment"):
        at = space.end()
    found = _SCRIPT.match(text, at)
    return found.end() - 1 if found else 0


def _script(source: Source, brace: int, report: Report) -> tuple[str, int]:
    """The code between the braces, and the offset behind them."""
    text, at, depth = source.text, brace + 1, 1
    while depth and at < len(text):
        found = _PYTHON.match(text, at)
        assert found is not None
        at = found.end()
        depth += {"open": 1, "close": -1}.get(found.lastgroup or "", 0)
    if depth:
        report.add("unclosed", "this script is never closed", source, brace, brace + 1, hint="write } where it ends")
        return dedented(text[brace + 1 :]), len(text)
    return dedented(text[brace + 1 : at - 1]), at


def dedented(code: str) -> str:
    """Code without the indentation that all its lines share. A first line beside the brace has none of its own."""
    first, newline, rest = code.partition("\n")
    if not first.strip():
        return textwrap.dedent(rest).strip("\n").rstrip()
    return f"{first.strip()}{newline}{textwrap.dedent(rest)}".rstrip()
