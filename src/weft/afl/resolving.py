"""Names of facets, schemas and types: found, or told what is wrong with them."""

from weft.afl.diagnostic import Hint, Near
from weft.afl.lexer import TYPES
from weft.afl.program import Declared
from weft.afl.syntax import Declaration, Name, Param
from weft.afl.values import Values


class Resolving(Values):
    allow_external = False

    def callee(self, name: Name, *, builtin: bool = False) -> Declared | None:
        """What a call names; None if it is nothing of this program, which has been told unless it is built in."""
        found = self.program.find(name.text, self.namespace)
        if len(found) == 1:
            return None if found[0].broken else found[0]
        if builtin:
            return None
        if found:
            spaces = ", ".join(sorted(one.qualified for one in found[:5]))
            message = f"{name.text!r} is ambiguous: {spaces}"
            self.tell("ambiguous-name", message, name.start, name.end, "write the whole name, or `use` one of them")
            return None
        short = name.text.rpartition(".")[2]
        namespace = self.namespace
        full = self.program.find(short, "") if "." in name.text else []
        hint: Hint = Near(name.text, lambda: self.program.names(namespace))
        if len(full) == 1:
            hint = f"did you mean {full[0].qualified!r}?"
        if self.allow_external:
            hint = "the task waits for an agent of that name"
        self.tell("unknown-facet", f"there is no facet or schema {name.text!r}", name.start, name.end, hint)
        return None

    def types(self, params: list[Param]) -> None:
        """Tells which types are not there."""
        for one in params:
            type_, found = self.program.type(one.type.name, one.type.lists, self.namespace)
            if "?" not in type_:
                continue
            start, end = one.type.start, one.type.end
            if len(found) > 1:
                spaces = ", ".join(sorted(schema.qualified for schema in found[:5]))
                message = f"the type {one.type.name!r} is ambiguous: {spaces}"
                self.tell("ambiguous-name", message, start, end, "write the whole name, or `use` one of them")
            elif any(isinstance(other, Declaration) for other in self.program.find(one.type.name, self.namespace)):
                message = f"{one.type.name!r} is a facet, not a type"
                self.tell("unknown-type", message, start, end, "make a schema, or use Json")
            else:
                hint = Near(one.type.name, lambda: [*TYPES, *(schema.name.text for schema in self.program.schemas())])
                self.tell("unknown-type", f"there is no type {one.type.name!r}", start, end, hint)

    def uses(self) -> None:
        """Tells which `use` names nothing."""
        for space in self.program.spaces.values():
            for file, use in space.uses:
                if not self.program.usable(use.name.text):
                    hint = Near(use.name.text, lambda: (name for name in self.program.spaces if name),
                                "give its file too, or name it with --library")  # fmt: skip
                    message = f"there is no namespace {use.name.text!r}"
                    self.report.add("unknown-use", message, file.source, use.name.start, use.name.end, hint=hint)
