"""What names inside a body mean: `$.x`, steps, their attributes, elements of foreach, the error in a catch."""

from weft.afl import scope as scopes
from weft.afl.diagnostic import Hint, Near, Report
from weft.afl.fitting import is_record
from weft.afl.program import ANY, Program
from weft.afl.scope import Owner, Scope, Stepped
from weft.afl.signature import Signatures
from weft.afl.source import Source
from weft.afl.syntax import Attribute, Reference, Schema
from weft.plan.expression import NOTHING, Apply, Expression, Get, Output, Param

Typed = tuple[Expression, str]

ERRORS = {"error": "String", "error_type": "String"}
SCRIPT = "(script)"
WORK = "(work)"
"""Nodes that nobody wrote have names that no step can have."""


WORK_LIMIT = 2_000_000
"""Arguments, defaults and alternatives that all calls and references of a program come to: a short text can ask for
many of them, and each is a part of a plan."""


class References:
    def __init__(self, program: Program, signatures: Signatures, report: Report) -> None:
        self.program, self.signatures, self.report = program, signatures, report
        self.source = Source("", "")
        self.namespace = ""
        self.quiet = False
        """While what is read again was told of before."""
        self.caught_read = False
        """Whether a step was named that may have been caught, and then has not what it else has."""
        self.params_read: set[str] = set()
        """Declarations of which somebody reads a param after the call: their blocks must hand them out."""
        self._left = WORK_LIMIT

    def tell(self, rule: str, message: str, start: int, end: int, hint: Hint = "") -> None:
        if not self.quiet:
            self.report.add(rule, message, self.source, start, end, hint=hint)

    def spend(self, parts: int, start: int, end: int) -> bool:
        """Whether what is made here is still within what one program may come to; told once if it is not."""
        within = self._left >= 0
        self._left -= parts
        if within and self._left < 0:
            message = f"up to here the program comes to more than {WORK_LIMIT:,} arguments and alternatives"
            self.report.add("size", message, self.source, start, end, hint="split it")
        return self._left >= 0

    def reference(self, one: Reference, scope: Scope) -> Typed:
        """A name alone, or `$.name`."""
        return self._param(one, scope) if one.dollar else self._named(one, scope)

    def attribute(self, one: Attribute, scope: Scope, base: Typed | None) -> Typed:
        """`base.name`; `base` is None if it is a name alone, which may be a step."""
        if base is None:
            assert isinstance(one.base, Reference)
            if self._failed(one.base.name, scope):
                if one.name not in ERRORS:
                    message = f"the step {one.base.name!r} has failed here, so it has no {one.name!r}"
                    self.tell("unknown-attribute", message, one.end - len(one.name), one.end, "it has error and error_type")
                return Param(one.name if one.name in ERRORS else "error"), "String"
            step = self._step(one.base, scope)
            if step is not None:
                return self._of_step(one, scope, *step)
            base = self._named(one.base, scope)
        expression, type_ = base
        return Get(expression, one.name), self._field(one, type_)

    def _field(self, one: Attribute, type_: str) -> str:
        start = one.end - len(one.name)
        if is_record(type_):
            schema = next((found for found in self.program.find(type_, "") if isinstance(found, Schema)), None)
            fields = self.signatures.of(schema).params if schema else {}
            if one.name in fields:
                return fields[one.name].type
            if schema and not schema.broken:
                message = f"the schema {schema.name.text} has no field {one.name!r}"
                self.tell("unknown-attribute", message, start, one.end, Near(one.name, lambda: fields))
        elif type_ not in ("Json", ANY):
            self.tell("unknown-attribute", f"a {type_} has no attribute {one.name!r}", start, one.end)
        return ANY

    # $.x

    def _param(self, one: Reference, scope: Scope) -> Typed:
        previous: Owner | None = None
        for block in scope.chain():
            if one.name in block.variables:
                return Param(one.name), block.variables[one.name]
            if block.catching is not None and one.name in ERRORS:
                return Param(one.name), "String"
            outermost = block.outer is None or block.outer.owner is not block.owner
            if block.owner is previous or not outermost:
                continue
            previous = block.owner
            found = self._of_owner(one, block)
            if found is not None:
                return found
        if (found := self._of_earlier(one, scope)) is not None:
            return found
        if any(owner.declared is not None and owner.declared.broken for owner in scope.owners()):
            return NOTHING, ANY
        message = f"there is no param {one.name!r} here"
        self.tell("unknown-param", message, one.start, one.end, Near(one.name, lambda: _readable(scope)))
        return NOTHING, ANY

    def _of_earlier(self, one: Reference, scope: Scope) -> Typed | None:
        """`$.x` where only one step of the bodies before has a return `x`: some programs mean that."""
        for owner in scope.owners():
            steps = owner.returned.get(one.name, ())
            if len(steps) != 1 or not (found := scopes.exported(scope, steps[0].name)) or found[1] is not steps[0]:
                continue
            message = f"there is no param {one.name!r} here; it is what the step {steps[0].name!r} of an earlier block gives"
            self.tell("sibling-step", message, one.start, one.end, f"write {steps[0].name}.{one.name}")
            read = Attribute(one.start, one.end, one, one.name)
            return self._of_step(read, scope, found[0], found[1], False)
        return None

    def _of_owner(self, one: Reference, block: Scope) -> Typed | None:
        """A param of whose body this is, what its script added, or what it came to so far."""
        name, owner = one.name, block.owner
        step = owner.step
        slot = owner.signature.params.get(name)
        if step is not None:
            if block.catching is not None:
                return None
            if slot is not None:
                return self._argument(step, name, inside=True), slot.type
            if name in owner.signature.returns:
                return Get(Output(step.name), name), owner.signature.returns[name].type
            return (Get(Output(step.name), name), ANY) if name in owner.added else None
        if slot is not None:
            plain: Expression = Param(name)
            if block.catching is None and not owner.worked and (name in owner.added or owner.adds_any):
                plain = Apply("default", (Get(Output(SCRIPT), name), plain))
            return plain, slot.type
        if block.catching is not None:
            return None
        if name in owner.signature.returns:
            type_ = owner.signature.returns[name].type
            found = self._so_far(one, owner)
            if found:
                return Apply("default", (*found, NOTHING)) if len(found) > 1 else found[0], type_
        if name in owner.added or owner.adds_any:
            return Get(Output(WORK if owner.worked else SCRIPT), name), ANY
        return None

    def _so_far(self, one: Reference, owner: Owner) -> list[Expression]:
        """What fills a return before this body: earlier bodies, the agent, the script."""
        name = one.name
        found: list[Expression] = []
        self.spend(len(owner.bodies), one.start, one.end)
        for bodied in reversed(owner.bodies) if self._left >= 0 else ():
            if bodied.body.kind == "block" and any(key.field == name and key.owner == owner.path
                                                  for inner in bodied.scopes for key in inner.yields):  # fmt: skip
                found.append(Get(Output(bodied.node), name))
        if owner.worked:
            found.append(Get(Output(WORK), name))
        elif name in owner.added or owner.adds_any:
            found.append(Get(Output(SCRIPT), name))
        return found

    def _argument(self, step: Stepped, name: str, *, inside: bool) -> Expression:
        """What a step was given for a param."""
        if step.record:
            if not inside:
                step.params_read.add(name)
            return Get(Output(step.name), name)
        if step.calls_block and step.called.declared is not None:
            self.params_read.add(step.called.declared.qualified)
            step.params_read.add(name)
            return Get(Output(step.name), name)
        step.args_read = True
        if inside or not step.wrapped:
            return Get(Output(step.args_node), name)
        step.params_read.add(name)
        return Get(Output(step.name), name)

    # steps

    def _named(self, one: Reference, scope: Scope) -> Typed:
        """An element of foreach, the error in a catch, or a step as a whole."""
        for block in scope.chain():
            if one.name in block.variables:
                return Param(one.name), block.variables[one.name]
            if one.name in block.steps:
                break
            if block.catching is not None and one.name in ERRORS:
                return Param(one.name), "String"
        if self._failed(one.name, scope):
            message = f"the step {one.name!r} has failed here, so there is nothing of it"
            self.tell("unknown-step", message, one.start, one.end, f"{one.name}.error says why")
            return NOTHING, ANY
        step = self._step(one, scope)
        if step is None:
            return NOTHING, ANY
        base, found, _ = step
        return base, found.type or ANY

    def _failed(self, name: str, scope: Scope) -> bool:
        """Whether this is the step that a catch around here is for."""
        for block in scope.chain():
            if name in block.steps or name in block.variables:
                return False
            if block.catching == name:
                return True
        return False

    def _step(self, one: Reference, scope: Scope) -> tuple[Expression, Stepped, bool] | None:
        """The step of a name, as an expression; None after it was told that there is none, or if it is no step."""
        for block in scope.chain():
            if one.name in block.variables:
                return None
            if one.name in block.steps:
                step = block.steps[one.name]
                return Output(one.name), step, self._inside(step, scope)
            if block.catching is not None and one.name in ERRORS:
                return None
            if block.current == one.name:
                message = f"the step {one.name!r} refers to itself"
                self.tell("self-step", message, one.start, one.end, "only its own body can read what it came to")
                return NOTHING, _NOBODY, False
            if one.name in block.later and block.current and (circle := scopes.circle(block, block.current, one.name)):
                message = f"these steps wait for each other: {' → '.join(circle)}"
                self.tell("step-cycle", message, one.start, one.end, "let one of them do without the other")
                return NOTHING, _NOBODY, False
            if one.name in block.later:
                message = f"the step {one.name!r} is written later"
                self.tell("forward-step", message, one.start, one.end, "write it before this one")
                return NOTHING, _NOBODY, False
        root = list(scope.owners())[-1]
        if one.name in root.names:
            if found := scopes.exported(scope, one.name):
                message = f"the step {one.name!r} belongs to another block, which now runs before this one"
                self.tell("sibling-step", message, one.start, one.end, "put both into one block")
                return found[0], found[1], False
            message = f"the step {one.name!r} is inside another block and cannot be seen from here"
            self.tell("hidden-step", message, one.start, one.end, "yield what is needed, or move the step")
            return NOTHING, _NOBODY, False
        param = any(one.name in owner.signature.params for owner in scope.owners())
        hint: Hint = f"a param is written $.{one.name}" if param else Near(one.name, lambda: _steps_before(one, scope))
        self.tell("unknown-step", f"there is no step {one.name!r} here", one.start, one.end, hint)
        return NOTHING, _NOBODY, False

    def _inside(self, step: Stepped, scope: Scope) -> bool:
        return any(owner is step.owner for owner in scope.owners())

    def _of_step(self, one: Attribute, scope: Scope, base: Expression, step: Stepped, inside: bool) -> Typed:
        if step is _NOBODY:
            return NOTHING, ANY
        name = one.name
        step.attributes_read.add(name)
        self.caught_read = self.caught_read or step.step.catch is not None
        if name in step.returns or (step.open and name not in step.attributes):
            declared = step.called.declared
            if declared is not None and step.calls_block and name not in self.signatures.of(declared).returns:
                self.params_read.add(declared.qualified)
            return Get(base, name), step.returns.get(name, ANY)
        if name in step.attributes:
            type_ = step.attributes[name]
            if isinstance(base, Output):
                return self._argument(step, name, inside=inside), type_
            step.params_read.add(name)
            if step.calls_block and step.called.declared is not None:
                self.params_read.add(step.called.declared.qualified)
            elif not step.record:
                step.args_read = True
            if not (step.wrapped or step.record or step.calls_block):
                message = f"the param {name!r} of step {step.name!r} cannot be seen from here"
                self.tell("hidden-step", message, one.start, one.end, "only its returns can")
            return Get(base, name), type_
        message = f"the step {step.name!r} ({step.called.name}) has no attribute {name!r}"
        self.tell("unknown-attribute", message, one.end - len(name), one.end, Near(name, lambda: step.attributes))
        return NOTHING, ANY


def _readable(scope: Scope) -> dict[str, None]:
    """What `$.` could be followed by."""
    found: dict[str, None] = {}
    for block in scope.chain():
        found |= dict.fromkeys([*block.variables, *(ERRORS if block.catching is not None else ())])
        if block.catching is None or block.owner.step is None:
            found |= dict.fromkeys(block.owner.signature.params)
        if block.catching is None:
            found |= dict.fromkeys(block.owner.added)
    return found


def _steps_before(one: Reference, scope: Scope) -> list[str]:
    """Steps and elements that could have been meant: those written before."""
    return [name for block in scope.chain() for name in
            (*(name for name, step in block.steps.items() if step.step.start < one.start), *block.variables)]  # fmt: skip


class _Nobody(Stepped):
    """Stands for a step that is not there, so that it is told once."""

    def __init__(self) -> None:
        self.type = ""
        self.name = ""


_NOBODY = _Nobody()
