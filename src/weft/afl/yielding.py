"""Yields: whose returns they fill, and with what."""

from weft.afl import fitting
from weft.afl.arguments import Arguments
from weft.afl.diagnostic import Hint, Near
from weft.afl.program import ANY, Declared
from weft.afl.references import Typed
from weft.afl.scope import Key, Owner, Scope
from weft.afl.signature import Slot
from weft.afl.syntax import Call, Declaration, Mixin, Name, Yield
from weft.afl.syntax import Expression as Written
from weft.plan.expression import Expression, Get, List, Map

_Target = tuple[Owner, dict[str, Slot] | None, str]


class Yielding(Arguments):
    def fill(self, one: Yield, scope: Scope, seen: set[str]) -> None:
        """One yield of a block. What it says `with` is yielded too, if it is a mixin of what encloses this."""
        also = [mixin for mixin in one.call.mixins if mixin.alias is None and self._target(mixin.target, scope) is not None]
        kept: list[Mixin] = [mixin for mixin in one.call.mixins if mixin not in also]
        self._fill(Call(one.call.start, one.call.end, one.call.target, one.call.args, kept), scope, seen)
        for mixin in also:
            self._fill(Call(mixin.start, mixin.end, mixin.target, mixin.args, []), scope, seen)

    def _fill(self, call: Call, scope: Scope, seen: set[str]) -> None:
        name = call.target
        target = self._target(name, scope)
        if target is None:
            owners = [owner.declared.name.text for owner in scope.owners() if owner.declared is not None]
            message = f"{name.text!r} encloses nothing here, so nothing of it can be yielded"
            hint: Hint = f"write yield {owners[0]}(…)" if len(set(owners)) == 1 else Near(name.text, lambda: owners)
            self.tell("yield-target", message, name.start, name.end, hint)
            for argument in call.args:
                self.value(argument.value, scope)
            return
        owner, slots, said = target
        self.idle(call, scope, "on a yield, which calls nothing", {})
        if f"{owner.path} {said}" in seen:
            message = f"this block yields {said} twice"
            self.tell("duplicate-yield", message, name.start, name.end, "put all outputs into one yield")
        seen.add(f"{owner.path} {said}")
        repeated = self._repeated(scope, owner)
        given: set[str] = set()
        filled: dict[Key, tuple[Expression, bool]] = {}
        self.caught_read = False
        for argument in call.args:
            field, start, end = argument.name.text, argument.name.start, argument.name.end
            slot = slots.get(field) if slots is not None else None
            wanted = slot.type if slot else "Json"
            many = wanted.startswith("[")
            expression, type_ = self._yielded(wanted, argument.value, scope, repeated=repeated)
            if field in given:
                self.tell("duplicate-argument", f"{field!r} is yielded twice", start, end, "remove one")
            given.add(field)
            if slots is not None and slot is None:
                message = f"{said} declares no output {field!r}"
                hint = Near(field, lambda: slots, f"declare it: => ({field}: …)")
                self.tell("unknown-output", message, start, end, hint)
            if slot is not None:
                single = many and repeated and fitting.lists(type_) < fitting.lists(wanted)
                self.fit(wanted[1:-1] if single else wanted, type_, f"the output {field!r} of {said}", argument.value)
                if repeated and not many:
                    message = f"every element yields {field!r}, and the last one counts"
                    hint = f"declare it as [{fitting.called(wanted)}] to collect them"
                    self.tell("last-wins", message, start, end, hint)
            gathered = fitting.lists(type_) >= max(fitting.lists(wanted), 1)
            filled[Key(owner.path, field, many)] = expression, gathered
        if self.caught_read and len(filled) > 1:
            # a yield is one thing: if a caught step has not what it needs, all of it is left out
            whole = Map({key.field: expression for key, (expression, _) in filled.items()})
            filled = {key: (Get(whole, key.field), gathered) for key, (_, gathered) in filled.items()}
        scope.yields |= filled

    def _yielded(self, wanted: str, one: Written, scope: Scope, *, repeated: bool) -> Typed:
        """What an argument of a yield gives. One value for a list is a list of it; many elements yield one each."""
        if not wanted.startswith("["):
            return self.value(one, scope)
        inner = wanted[1:-1]
        if repeated and fitting.verdict(inner, "String") != "type-mismatch":
            return self.value(one, scope)
        expression, type_ = self.wanted(wanted, one, scope)
        alone = not repeated and fitting.lists(type_) < fitting.lists(wanted) and type_ not in ("Json", ANY)
        if not alone or fitting.verdict(inner, type_) == "type-mismatch":
            return expression, type_
        message = f"one {fitting.called(type_)} makes a list here, as {fitting.called(wanted)} is wanted"
        self.tell("made-list", message, one.start, one.end, "put it into brackets: [value]")
        return List((expression,)), f"[{type_}]"

    def _target(self, name: Name, scope: Scope) -> _Target | None:
        """The innermost enclosing declaration or step of that name, or a mixin of its signature."""
        wanted: list[Declared] = self.program.find(name.text, self.namespace)
        short = name.text.rpartition(".")[2]
        for owner in scope.owners():
            declared = owner.declared
            if declared is None:
                if owner.step is not None and owner.step.called.name == name.text:
                    return owner, None, name.text
                continue
            if declared in wanted or declared.name.text == name.text:
                slots = owner.signature.returns if isinstance(declared, Declaration) else owner.signature.params
                return owner, None if declared.broken else slots, declared.name.text
            for mixin, known, signature in owner.mixins:
                if known == short or (mixin is not None and mixin in wanted):
                    both = {**signature.params, **signature.returns} if signature else None
                    return owner, both, known
        return None

    def _repeated(self, scope: Scope, owner: Owner) -> bool:
        """Whether a foreach lies between a block and whom it yields to."""
        for block in scope.chain():
            if block.variables:
                return True
            if block.owner is owner:
                return False
        return False
