"""Tokens → the tree, by recursive descent. Written by hand, because a generated parser (lark) stops at the first error:
here a statement or declaration that is wrong is told and left out, and the rest is read. It is also several times faster.
"""

from weft.afl import lexer, syntax
from weft.afl.diagnostic import Report
from weft.afl.flow import Flow
from weft.afl.lexer import Comment, Lexed
from weft.afl.reading import Wrong, shown
from weft.afl.source import Source
from weft.afl.syntax import Declaration, Implicit, Kind, Name, Namespace, Param, Prompt, Schema, Type, Use

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

    def file(self) -> list[Namespace]:
        outside = Namespace(0, 0, Name(0, 0, ""), "", [], [], [], [])
        found = [outside]
        while self.token.kind != "end":
            before = self.at
            try:
                if self.word("namespace"):
                    found.append(self._opened())
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
        opening = self.expect("{", "'{' after the namespace's name")
        space = Namespace(start, name.end, name, doc, [], [], [], [])
        self._namespace = name.text
        while self.token.kind not in ("}", "end") and not self.word("namespace"):
            before = self.at
            try:
                self._member(space)
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
        """After an error: to the next declaration, and at least one token on."""
        if self.at == before:
            self.take()
        self.recover(statements=False)

    def _member(self, space: Namespace) -> None:
        """Anything that may stand in a namespace."""
        doc = self._doc(self.at)
        token = self.token
        if self.word("use", "uses"):
            self.take()
            name = self.qualified("the name of a namespace")
            space.uses.append(Use(token.start, name.end, name))
        elif self.word("schema"):
            space.schemas.append(self._schema(doc))
        elif self.word("implicit"):
            self.take()
            name = self.name("the implicit's name")
            self.expect("=", "'='")
            call = self.call()
            space.implicits.append(Implicit(token.start, call.end, name, call, self._namespace, self.source))
        elif self.word("event", "facet", "workflow"):
            space.declarations.append(self._declaration(doc))
        elif token.kind == "name" and self.ahead(1).kind == "=":
            self.wrong(f"the step {token.value!r} stands outside of any block", hint="put it into an andThen { … }")
        else:
            self.wrong(f"expected a declaration, not {shown(token)}",
                       hint="facet, event facet, workflow, schema, implicit, use or namespace")  # fmt: skip

    def _schema(self, doc: str) -> Schema:
        start = self.take().start
        name = self.name("the schema's name")
        opening = self.expect("{", "'{' after the schema's name")
        fields: list[Param] = []
        while self.token.kind not in ("}", "end"):
            fields.append(self._param())
            self.skip(",")
        self.closed(opening, "the fields")
        return Schema(start, self.end, name, fields, doc, self._namespace, self.source)

    def _declaration(self, doc: str) -> Declaration:
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
        params = self._params(f"'(' after the name {name.text!r}", "the params")
        returns: list[Param] = []
        if self.token.kind == "=>":
            self.take()
            returns = self._params("'(' after '=>'", "the returns")
        mixins = self.mixins(alias=True)
        found = Declaration(start, self.end, kind, name, params, returns, mixins, None, None, [], None, doc, self._namespace,
                            self.source)  # fmt: skip
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
        return found

    def _scripted(self) -> bool:
        return self.word("script") and (self.ahead(1).kind in ("script", "string") or self.ahead(1).value == "python")

    def _params(self, what: str, all_of_them: str) -> list[Param]:
        opening = self.expect("(", what)
        found: list[Param] = []
        while self.token.kind not in (")", "end"):
            found.append(self._param())
            if not self.skip(","):
                break
        self.closed(opening, all_of_them)
        return found

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
        while self.token.kind not in ("}", "end"):
            word = self.name("system, template or model")
            if word.text not in _PROMPT:
                self.at -= 1
                self.wrong(f"expected system, template or model, not {word.text!r}")
            text = self.expect("string", f"a text after {word.text!r}")
            parts.append((word, syntax.Literal_(text.start, text.end, text.value)))
        self.closed(opening, "the prompt's parts")
        return Prompt(start, self.end, parts)

    def _doc(self, at: int) -> str:
        found = self._docs.get(at)
        return lexer.doc(self.source.text[found.start : found.end]) if found else ""

