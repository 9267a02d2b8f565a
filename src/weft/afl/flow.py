"""The grammar of what runs: calls, steps, blocks, andThen and its relatives, catch."""

from weft.afl.expressions import Expressions
from weft.afl.lexer import dedented
from weft.afl.reading import Wrong, shown
from weft.afl.syntax import Block, Body, Call, Case, Catch, Expression, Mixin, Name, Script, Step, Yield


class Flow(Expressions):
    def call(self) -> Call:
        target = self.qualified("the name of what is called")
        args = self.arguments()
        return Call(target.start, self.end, target, args, self.mixins(alias=True))

    def mixins(self, *, alias: bool) -> list[Mixin]:
        found = []
        while self.word("with"):
            start = self.take().start
            target = self.qualified("the name of a mixin")
            args = self.arguments()
            named: Name | None = None
            if alias and self.word("as"):
                self.take()
                named = self.name("the alias")
            found.append(Mixin(start, self.end, target, args, named))
        return found

    def bodies(self) -> list[Body]:
        found = []
        while self.word("andThen", "andMap", "andMatch"):
            found.append(self._body())
        return found

    def catch(self) -> Catch:
        start = self.take().start
        if self.word("when"):
            self.take()
            cases = self._cases()
            return Catch(start, self.end, None, cases)
        block = self.block()
        return Catch(start, self.end, block, [])

    def script(self) -> Script:
        """After the word: code in braces, or a text."""
        if self.word("python"):
            self.take()
        token = self.token
        if token.kind in ("script", "string"):
            self.take()
            code = token.value if token.kind == "script" else dedented(token.value)
            inner = self.source.text[token.start + 1 : token.end]
            first = token.start + 1 + len(inner) - len(inner.lstrip())
            return Script(token.start, token.end, code, self.source.name, self.source.place(first)[0])
        if token.kind == "name" and self.ahead(1).kind in ("script", "string"):
            self.wrong(f"scripts are Python, not {token.value!r}", hint="leave the word out: script { … }")
        self.wrong(f"expected the script's code, not {shown(token)}", hint="script { … } or script \"…\"")

    def block(self) -> Block:
        opening = self.expect("{", "'{'")
        self.deeper()
        statements: list[Step | Yield] = []
        while self.token.kind not in ("}", "end"):
            if self.declares():
                message = "this block is not closed before the next declaration"
                hint = "write } after its last step"
                self.report.add("unclosed", message, self.source, opening.start, opening.end, hint=hint)
                raise Wrong
            before, depth = self.at, self.depth
            try:
                statements.append(self._statement())
            except Wrong:
                self._go_on(before, depth)
        self.closed(opening, "the block's last step")
        self.depth -= 1
        return Block(opening.start, self.end, statements)

    def _statement(self) -> Step | Yield:
        token, following = self.token, self.ahead(1)
        if token.kind == "name" and token.value == "yield":
            if following.kind == "=":
                self.wrong("a step cannot be called 'yield'", hint="call it something else")
            self.take()
            call = self.call()
            return Yield(token.start, call.end, call)
        if token.kind == "name" and following.kind != "=":
            if following.kind in ("(", "."):
                self.wrong("expected a step as name = call", hint=f"write x = {token.value}…, or yield {token.value}…")
            self.take()
            self.wrong(f"expected '=' after the step's name {token.value!r}, not {shown(self.token)}")
        if token.kind != "name":
            self.wrong(f"expected a step or a yield, not {shown(token)}", hint="a step is written name = Facet(…)")
        name = self.name("a step's name")
        self.take()
        call = self._called()
        bodies = self.bodies()
        catch = self.catch() if self.word("catch") else None
        return Step(name.start, self.end, name, call, bodies, catch)

    def _called(self) -> Call:
        if self.token.kind != "name" or self.ahead(1).kind not in ("(", "."):
            self.wrong(f"expected a call, not {shown(self.token)}", hint="a step calls a facet: s = Facet(a = 1)")
        name, following = self.token.value, self.at + 1
        while self.tokens[following].kind == "." and self.tokens[min(following + 1, len(self.tokens) - 1)].kind == "name":
            following += 2
        if self.tokens[following].kind != "(":
            said = ".".join([name, *(token.value for token in self.tokens[self.at + 2 : following : 2])])
            self.wrong(f"expected a call, but {said!r} is a value", hint=f"use {said} where it is needed; it needs no step")
        return self.call()

    def _body(self) -> Body:
        token = self.take()
        word, start = str(token.value), token.start
        if word == "andMap" or self.word("foreach"):
            if word != "andMap":
                self.take()
            variable, iterable = self._each()
            block = self.block()
            return Body(start, self.end, "foreach", word, variable, iterable, block)
        if word == "andMatch":
            cases = self._cases()
            return Body(start, self.end, "match", word, cases=cases)
        if self.word("when"):
            self.take()
            cases = self._cases()
            return Body(start, self.end, "when", word, cases=cases)
        if self.word("script"):
            self.take()
            script = self.script()
            return Body(start, self.end, "script", word, script=script)
        block = self.block()
        return Body(start, self.end, "block", word, block=block)

    def _each(self) -> tuple[Name, Expression]:
        variable = self.name("the name of the element")
        token = self.token
        if token.kind != "name" or token.value != "in":
            self.wrong(f"expected 'in' after {variable.text!r}, not {shown(token)}")
        self.take()
        return variable, self.expression()

    def _cases(self) -> list[Case]:
        opening = self.expect("{", "'{' before the cases")
        self.deeper()
        found = []
        while self.token.kind not in ("}", "end"):
            before, depth = self.at, self.depth
            try:
                found.append(self._case())
            except Wrong:
                self._go_on(before, depth)
        self.closed(opening, "the last case")
        self.depth -= 1
        return found

    def _case(self) -> Case:
        start = self.token.start
        if not (self.token.kind == "name" and self.token.value == "case"):
            self.wrong(f"expected 'case', not {shown(self.token)}", hint="case condition => { … }")
        self.take()
        condition: Expression | None = None
        if self.token.value == "_" and self.ahead(1).kind == "=>":
            self.take()
        else:
            condition = self.expression()
        self.expect("=>", "'=>' after the condition")
        block = self.block()
        return Case(start, self.end, condition, block)

    def _go_on(self, before: int, depth: int) -> None:
        """After an error inside braces: to the next statement or case, and at least one token on."""
        self.depth = depth
        if self.at == before:
            self.take()
        self.recover(statements=True)
        if self.token.kind == "end" or self.declares():
            raise Wrong
