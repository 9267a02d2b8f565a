"""Yields: whose returns they fill, and with what."""

from weft.afl import fitting
from weft.afl.arguments import Arguments
from weft.afl.diagnostic import Hint, Near
from weft.afl.program import Declared
from weft.afl.scope import Key, Owner, Scope
from weft.afl.signature import Slot
from weft.afl.syntax import Declaration, Yield
from weft.plan.expression import Expression, Get, Map

_Target = tuple[Owner, dict[str, Slot] | None, str]


class Yielding(Arguments):
    def fill(self, one: Yield, scope: Scope, seen: set[str]) -> None:
        """One yield of a block."""
        target = self._target(one, scope)
        name = one.call.target
        if target is None:
            owners = [owner.declared.name.text for owner in scope.owners() if owner.declared is not None]
            message = f"{name.text!r} encloses nothing here, so nothing of it can be yielded"
            hint: Hint = f"write yield {owners[0]}(…)" if len(set(owners)) == 1 else Near(name.text, lambda: owners)
            self.tell("yield-target", message, name.start, name.end, hint)
            for argument in one.call.args:
                self.value(argument.value, scope)
            return
        owner, slots, said = target
        self.idle(one.call, scope, "on a yield, which calls nothing", {})
        if f"{owner.path} {said}" in seen:
            message = f"this block yields {said} twice"
            self.tell("duplicate-yield", message, name.start, name.end, "put all outputs into one yield")
        seen.add(f"{owner.path} {said}")
        repeated = self._repeated(scope, owner)
        given: set[str] = set()
        filled: dict[Key, tuple[Expression, bool]] = {}
        self.caught_read = False
        for argument in one.call.args:
            field, start, end = argument.name.text, argument.name.start, argument.name.end
            expression, type_ = self.value(argument.value, scope)
            if field in given:
                self.tell("duplicate-argument", f"{field!r} is yielded twice", start, end, "remove one")
            given.add(field)
            slot = slots.get(field) if slots is not None else None
            if slots is not None and slot is None:
                message = f"{said} declares no output {field!r}"
                hint = Near(field, lambda: slots, f"declare it: => ({field}: …)")
                self.tell("unknown-output", message, start, end, hint)
            wanted = slot.type if slot else "Json"
            many = wanted.startswith("[")
            if slot is not None:
                single = many and repeated and _lists(type_) < _lists(wanted)
                self.fit(wanted[1:-1] if single else wanted, type_, f"the output {field!r} of {said}", argument.value)
                if repeated and not many:
                    message = f"every element yields {field!r}, and the last one counts"
                    hint = f"declare it as [{fitting.called(wanted)}] to collect them"
                    self.tell("last-wins", message, start, end, hint)
            gathered = _lists(type_) >= max(_lists(wanted), 1)
            filled[Key(owner.path, field, many)] = expression, gathered
        if self.caught_read and len(filled) > 1:
            # a yield is one thing: if a caught step has not what it needs, all of it is left out
            whole = Map({key.field: expression for key, (expression, _) in filled.items()})
            filled = {key: (Get(whole, key.field), gathered) for key, (_, gathered) in filled.items()}
        scope.yields |= filled

    def _target(self, one: Yield, scope: Scope) -> _Target | None:
        """The innermost enclosing declaration or step of that name, or a mixin of its signature."""
        wanted: list[Declared] = self.program.find(one.call.target.text, self.namespace)
        short = one.call.target.text.rpartition(".")[2]
        for owner in scope.owners():
            declared = owner.declared
            if declared is None:
                if owner.step is not None and owner.step.called.name == one.call.target.text:
                    return owner, None, one.call.target.text
                continue
            if declared in wanted or declared.name.text == one.call.target.text:
                slots = owner.signature.returns if isinstance(declared, Declaration) else owner.signature.params
                return owner, None if declared.broken else slots, declared.name.text
            for mixin, name, signature in owner.mixins:
                if name == short or (mixin is not None and mixin in wanted):
                    both = {**signature.params, **signature.returns} if signature else None
                    return owner, both, name
        return None

    def _repeated(self, scope: Scope, owner: Owner) -> bool:
        """Whether a foreach lies between a block and whom it yields to."""
        for block in scope.chain():
            if block.variables:
                return True
            if block.owner is owner:
                return False
        return False


def _lists(type_: str) -> int:
    """How many lists a type has inside each other: a list with fewer than an output is an element of it."""
    return len(type_) - len(type_.lstrip("["))
