"""Tokens → the tree, by recursive descent. Written by hand, because a generated parser (lark) stops at the first error:
here a statement or declaration that is wrong is told and left out, and the rest is read. It is also several times faster.
"""

import functools

from weft.afl import lexer, syntax
from weft.afl.diagnostic import Report
from weft.afl.flow import Flow
from weft.afl.lexer import Comment, Lexed
from weft.afl.reading import Wrong, shown
from weft.afl.source import Source
from weft.afl.syntax import Declaration, Implicit, Kind, Name, Namespace, Param, Prompt, Schema, Type, Use


class _Ends(Exception):
    """A namespace that is never closed ends where the next one begins."""


_PROMPT = ("system", "template", "model")


def parse(source: Source, report: Report) -> syntax.File:
    """The tree of a file; what cannot be read is in the report and not in the tree."""
    lexed = lexer.lex(source, report)
    return syntax.File(source, Parser(source, lexed, report).file())


class Parser(Flow):
    def __init__(self, source: Source, lexed: Lexed, report: Report) -> None:
        super().__init__(source, lexed, report)
        self._docs: dict[int, Comment] = {
            one.before: one for one in lexed.comments if source.text.startswith("/**", one.start) and one.end - one.start > 4
        }
        self._namespace = ""
        self._inside: list[Namespace] = []
        """Namespaces that were found inside of others."""

    def file(self) -> list[Namespace]:
        outside = Namespace(0, 0, Name(0, 0, ""), "", [], [], [], [])
        found = [outside]
        while self.token.kind != "end":
            before = self.at
            try:
                if self.word("namespace"):
                    found.append(self._opened())
                    found += self._inside
                    self._inside.clear()
                elif self.token.kind == "}":
                    self.wrong("there is nothing open that '}' could close", hint="remove it, or look for a missing '{'")
                else:
                    self._member(outside)
            except Wrong:
                self.depth = 0
                self._next(before)
        return found

    def _opened(self) -> Namespace:
        start, doc = self.take().start, self._doc(self.at - 1)
        name = self.qualified("the namespace's name")
        opening, number = self.expect("{", "'{' after the namespace's name"), self.at - 1
        space = Namespace(start, name.end, name, doc, [], [], [], [])
        self._namespace = name.text
        while self.token.kind not in ("}", "end"):
            before = self.at
            try:
                if self.word("namespace"):
                    self._nested(space, number)
                else:
                    self._member(space)
            except _Ends:
                break
            except Wrong:
                self.depth = 0
                self._next(before)
        self._namespace = ""
        if not self.skip("}"):
            self.report.add("unclosed", f"the namespace {name.text!r} is never closed", self.source, opening.start,
                            opening.end, hint="write } after its last declaration")  # fmt: skip
        space.end = self.end
        return space

    def _next(self, before: int) -> None:
        """After an error: to the next declaration, and at least one token on; behind the braces that it opened."""
        if self.at == before:
            self.take()
        depth = 0
        for token in self.tokens[before : self.at]:
            depth = max(0, depth + (token.kind in ("{", "#{")) - (token.kind == "}"))
        self.recover(statements=False, depth=depth)

    def _nested(self, space: Namespace, opening: int) -> None:
        """A namespace inside another: told as that if the outer one is closed, and read as if it stood beside it."""
        if opening not in self._closed:
            raise _Ends
        token = self.token
        outer, self._namespace = self._namespace, ""
        inner = self._opened()
        self._namespace = outer
        message = f"the namespace {inner.name.text!r} stands inside of {space.name.text!r}"
        hint = f"write namespace {space.name.text}.{inner.name.text} {{ … }} beside it"
        self.report.add("syntax", message, self.source, token.start, inner.name.end, hint=hint)
        self._inside.append(inner)

    @functools.cached_property
    def _closed(self) -> set[int]:
        """The braces that are closed, by their numbers among the tokens."""
        found: set[int] = set()
        stack: list[int] = []
        for number, token in enumerate(self.tokens):
            if token.kind in ("{", "#{"):
                stack.append(number)
            elif token.kind == "}" and stack:
                found.add(stack.pop())
        return found

    def _member(self, space: Namespace) -> None:
        """Anything that may stand in a namespace."""
        doc = self._doc(self.at)
        token = self.token
        if self.word("use", "uses"):
            self.take()
            name = self.qualified("the name of a namespace")
            space.uses.append(Use(token.start, name.end, name))
        elif self.word("schema"):
            self._schema(doc, space)
        elif self.word("implicit"):
            self.take()
            name = self.name("the implicit's name")
            self.expect("=", "'='")
            call = self.call()
            space.implicits.append(Implicit(token.start, call.end, name, call, self._namespace, self.source))
        elif self.word("event", "facet", "workflow"):
            self._declaration(doc, space)
        elif token.kind == "name" and self.ahead(1).kind == "=":
            self.wrong(f"the step {token.value!r} stands outside of any block", hint="put it into an andThen { … }")
        else:
            self.wrong(f"expected a declaration, not {shown(token)}",
                       hint="facet, event facet, workflow, schema, implicit, use or namespace")  # fmt: skip

    def _schema(self, doc: str, space: Namespace) -> None:
        start = self.take().start
        name = self.name("the schema's name")
        found = Schema(start, name.end, name, [], doc, self._namespace, self.source)
        space.schemas.append(found)
        opening = self.expect("{", "'{' after the schema's name")
        while self.token.kind not in ("}", "end"):
            try:
                found.fields.append(self._param())
            except Wrong:
                found.broken = True
                self.skip_to(",", "}")
            self.skip(",")
        self.closed(opening, "the fields")
        found.end = self.end

    def _declaration(self, doc: str, space: Namespace) -> None:
        """It is kept from its name on: who calls it is not to be told that it is not there."""
        start = self.token.start
        kind: Kind = "facet"
        word = self.take().value
        if word == "event":
            kind = "event"
            if not self.word("facet"):
                self.wrong(f"expected 'facet' after 'event', not {shown(self.token)}")
            self.take()
        elif word == "workflow":
            kind = "workflow"
        name = self.name(f"the {word}'s name")
        found = Declaration(start, self.end, kind, name, [], [], [], None, None, [], None, doc, self._namespace,
                            self.source, broken=True)  # fmt: skip
        space.declarations.append(found)
        whole = self._params(f"'(' after the name {name.text!r}", "the params", found.params)
        if self.skip("=>"):
            whole = self._params("'(' after '=>'", "the returns", found.returns) and whole
        found.mixins = self.mixins(alias=True)
        found.broken = not whole
        if self.word("prompt"):
            found.prompt = self._prompt()
        elif self._scripted():
            self.take()
            found.script = self.script()
        if found.prompt is None or self.word("andThen", "andMap", "andMatch"):
            found.bodies = self.bodies()
        if self.word("catch"):
            found.catch = self.catch()
        found.end = self.end

    def _scripted(self) -> bool:
        following = self.ahead(2 if self.ahead(1).kind == "name" else 1)
        return self.word("script") and following.kind in ("script", "string")

    def _params(self, what: str, all_of_them: str, found: list[Param]) -> bool:
        """Adds them to those found; whether all could be read."""
        opening, whole = self.expect("(", what), True
        while self.token.kind not in (")", "end"):
            try:
                found.append(self._param())
                if self.token.kind not in (",", ")", "end"):
                    self.expect(")", "',' or ')'")
            except Wrong:
                whole = False
                self.skip_to(",", ")")
            if not self.skip(","):
                break
        self.closed(opening, all_of_them)
        return whole

    def _param(self) -> Param:
        name = self.name("a name")
        self.expect(":", f"':' and a type after {name.text!r}", hint=f"as {name.text}: String")
        type_ = self._type()
        default = self.expression() if self.skip("=") else None
        return Param(name.start, self.end, name, type_, default)

    def _type(self) -> Type:
        start, lists = self.token.start, 0
        while self.skip("["):
            lists += 1
            if lists > 8:
                self.wrong("lists inside lists, nested deeper than 8", rule="depth", hint="use Json")
        name = self.qualified("a type")
        for _ in range(lists):
            self.expect("]", "']' after the type")
        return Type(start, self.end, name.text, lists)

    def _prompt(self) -> Prompt:
        start = self.take().start
        opening = self.expect("{", "'{' after 'prompt'")
        parts: list[tuple[Name, syntax.Literal_]] = []
        whole = True
        while self.token.kind not in ("}", "end"):
            try:
                word = self.name("system, template or model")
                if word.text not in _PROMPT:
                    self.at -= 1
                    self.wrong(f"expected system, template or model, not {word.text!r}")
                text = self.expect("string", f"a text after {word.text!r}")
                parts.append((word, syntax.Literal_(text.start, text.end, text.value)))
            except Wrong:
                whole = False
                self.take()
                while self.token.kind not in ("}", "end") and not (self.word(*_PROMPT) or self.declares()):
                    self.take()
        self.closed(opening, "the prompt's parts")
        return Prompt(start, self.end, parts, whole)

    def _doc(self, at: int) -> str:
        found = self._docs.get(at)
        return lexer.doc(self.source.text[found.start : found.end]) if found else ""

