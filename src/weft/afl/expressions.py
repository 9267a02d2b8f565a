"""The grammar of expressions, by precedence: `||`, `&&`, comparison, `++`, `+ -`, `* / %`, unary, postfix, atom."""

from weft.afl.lexer import LARGEST, LITERALS
from weft.afl.reading import MAX_DEPTH, Reader, literal, shown
from weft.afl.syntax import (
    Argument,
    Attribute,
    Binary,
    Chain,
    Expression,
    ListOf,
    Literal_,
    MapOf,
    Name,
    Reference,
    Subscript,
    Unary,
)  # fmt: skip

_COMPARE = frozenset({"==", "!=", ">=", "<=", ">", "<"})


class Expressions(Reader):
    def expression(self) -> Expression:
        self.deeper()
        found = self._chain("||")
        self.depth -= 1
        return found

    def arguments(self) -> list[Argument]:
        """`(name = value, …)`."""
        opening = self.expect("(", "'('")
        found: list[Argument] = []
        while self.token.kind != ")":
            if self.token.kind == "end":
                self.closed(opening, "the arguments")
            if self.token.kind == "name" and self.ahead(1).kind == ":":
                given = str(self.take().value)
                self.wrong("an argument is given by '=', not by ':'", hint=f"write {given} = …")
            if self.token.kind == "name" and self.ahead(1).kind != "=":
                given = str(self.token.value)
                self.wrong(f"expected an argument as name = value, not {given!r} alone", hint=f"write name = {given}")
            if self.token.kind != "name":
                self.wrong(f"expected an argument as name = value, not {shown(self.token)}",
                           hint="arguments are given by name, as city = $.city")  # fmt: skip
            name = self.name("an argument as name = value")
            self.expect("=", "'='", hint="arguments are given by name, as city = $.city")
            value = self.expression()
            found.append(Argument(name.start, value.end, name, value))
            if not self.skip(","):
                break
        self.closed(opening, "the arguments")
        return found

    def _chain(self, operator: str) -> Expression:
        """Operators with all their operands in one node."""
        inner = {"||": "&&", "&&": "compare", "++": "add"}[operator]
        first = self._below(inner)
        if self.token.kind != operator:
            return first
        operands = [first]
        while self.skip(operator):
            operands.append(self._below(inner))
        return Chain(first.start, operands[-1].end, operator, operands)

    def _below(self, level: str) -> Expression:
        match level:
            case "&&":
                return self._chain("&&")
            case "compare":
                return self._comparison()
            case "++":
                return self._chain("++")
            case "add":
                return self._binary(("+", "-"), "multiply")
            case "multiply":
                return self._binary(("*", "/", "%"), "unary")
            case _:
                return self._unary()

    def _comparison(self) -> Expression:
        left = self._chain("++")
        if self.token.kind not in _COMPARE:
            if self.token.kind == "=":
                self.wrong("expected '==' to compare, not '='")
            return left
        operator = self.take().kind
        right = self._chain("++")
        if self.token.kind in _COMPARE:
            self.wrong(f"{self.token.kind!r} cannot follow a comparison", hint="join two comparisons by &&")
        return Binary(left.start, right.end, operator, left, right, 0)

    def _binary(self, operators: tuple[str, ...], inner: str) -> Expression:
        left = self._below(inner)
        while self.token.kind in operators:
            operator = self.take().kind
            right = self._below(inner)
            depth = 1 + max(left.depth if isinstance(left, Binary) else 0, right.depth if isinstance(right, Binary) else 0)
            if depth > MAX_DEPTH:
                self.wrong(f"more than {MAX_DEPTH} operators in a row", rule="depth", hint="make steps of its parts")
            left = Binary(left.start, right.end, operator, left, right, depth)
        return left

    def _unary(self) -> Expression:
        token = self.token
        if token.kind not in ("-", "+", "!"):
            return self._postfix()
        self.take()
        if token.kind == "-" and self.token.kind == "int" and self.token.value > LARGEST:
            smallest = self.take()
            return Literal_(token.start, smallest.end, -smallest.value)
        self.deeper()
        operand = self._unary()
        self.depth -= 1
        if token.kind == "-" and isinstance(operand, Literal_) and type(operand.value) in (int, float):
            return Literal_(token.start, operand.end, -operand.value)
        return Unary(token.start, operand.end, token.kind, operand)

    def _postfix(self) -> Expression:
        found = self._atom()
        count = 0
        while self.token.kind in (".", "["):
            count += 1
            if count > MAX_DEPTH:
                self.wrong(f"more than {MAX_DEPTH} parts of one reference", rule="depth", hint="make steps of it")
            if self.token.kind == ".":
                self.take()
                name = self.name("a name after '.'")
                found = Attribute(found.start, name.end, found, name.text)
            else:
                opening = self.take()
                index = self.expression()
                self.closed(opening, "the index")
                found = Subscript(found.start, self.end, found, index)
        return found

    def _atom(self) -> Expression:
        token = self.token
        match token.kind:
            case "string" | "int" | "float":
                self.take()
                if token.kind == "int" and token.value > LARGEST:
                    self.report.add("number", "this number is too large", self.source, token.start, token.end,
                                    hint=f"the most is {LARGEST}")  # fmt: skip
                return literal(token)
            case "name":
                self.take()
                if token.value in LITERALS:
                    return Literal_(token.start, token.end, LITERALS[token.value])
                if self.token.kind == "(":
                    self.at -= 1
                    self.wrong(f"a call of {token.value!r} cannot stand inside an expression",
                               hint=f"make it a step, x = {token.value}(…), and refer to x")  # fmt: skip
                return Reference(token.start, token.end, token.value, False)
            case "$":
                self.take()
                self.expect(".", "'.' after '$'", hint="$.name is a param of what encloses this")
                name = self.name("a name after '$.'")
                return Reference(token.start, name.end, name.text, True)
            case "(":
                self.take()
                found = self.expression()
                self.closed(token, "the expression")
                return found
            case "[":
                return self._list()
            case "#{":
                return self._map()
            case "{" if self.ahead(1).kind == "}":
                self.report.add("bare-map", "an empty map is written #{}", self.source, token.start, self.ahead(1).end,
                                hint="write #{}")  # fmt: skip
                return self._map()
            case "{":
                self.wrong("expected a value, not '{'", hint="a map is written #{…}")
            case _:
                self.wrong(f"expected a value, not {shown(token)}")

    def _list(self) -> ListOf:
        opening = self.take()
        items: list[Expression] = []
        while self.token.kind not in ("]", "end"):
            items.append(self.expression())
            if not self.skip(","):
                break
        self.closed(opening, "the elements")
        return ListOf(opening.start, self.end, items)

    def _map(self) -> MapOf:
        opening = self.take()
        entries: list[tuple[Name, Expression]] = []
        while self.token.kind not in ("}", "end"):
            if self.token.kind not in ("string", "name"):
                self.wrong(f"expected a key, not {shown(self.token)}", hint='a map is written #{"key": value}')
            key = self.take()
            self.expect(":", "':' after a key", hint='a map is written #{"key": value}')
            entries.append((Name(key.start, key.end, key.value), self.expression()))
            if not self.skip(","):
                break
        self.closed(opening, "the entries")
        return MapOf(opening.start, self.end, entries)
