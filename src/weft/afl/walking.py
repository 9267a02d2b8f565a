"""Every declaration walked once: names, types and rules checked, expressions made. `lowering` makes blocks of it."""

from weft.afl import fitting, naming
from weft.afl import scope as scopes
from weft.afl.bodies import Bodies
from weft.afl.program import ANY
from weft.afl.scope import Bodied, Called, Caught, Owner, Scope, Stepped
from weft.afl.signature import Signature, element
from weft.afl.syntax import Block, Body, Case, Catch, Declaration, Implicit, Param, Schema, Step, Yield
from weft.plan.expression import Expression


class Walked:
    """A declaration, ready to be lowered."""

    def __init__(self, declared: Declaration, owner: Owner, signed: Called, defaults: dict[str, Expression]) -> None:
        self.declared, self.owner, self.signed, self.defaults = declared, owner, signed, defaults
        self.returns: dict[str, Expression] = {}
        """Defaults of the returns."""
        self.calls: list[Called] = []


class Walking(Bodies):
    def declaration(self, declared: Declaration) -> Walked:
        self.source, self.namespace = declared.source, declared.namespace
        self.types(declared.params)
        self.types(declared.returns)
        signature = self.signatures.of(declared)
        owner = Owner(declared.qualified, declared=declared, signature=signature)
        owner.names = {step.name.text for step in steps_of(declared)}
        outside = Scope(owner, declared.qualified, outer=None)
        defaults = self._defaults(declared.params, outside, "the default of")
        walked = Walked(declared, owner, self.signed(declared, outside), defaults)
        self._calls = walked.calls
        walked.returns = self._defaults(declared.returns, outside, "the default of the return")
        for mixin in declared.mixins:
            target = next(iter(self.program.find(mixin.target.text, self.namespace)), None)
            short = mixin.target.text.rpartition(".")[2]
            owner.mixins.append((target, short, self.signatures.of(target) if target else None))
        if declared.prompt is not None:
            self.prompt(declared.prompt, declared)
        if declared.script is not None:
            names, more = self.script(declared.script)
            owner.added, owner.adds_any = dict.fromkeys(names, True), more
        self._owned(owner, declared.bodies, None)
        if declared.catch is not None:
            owner.caught = self._catch(declared.catch, owner, None, "")
        return walked

    def implicit(self, one: Implicit) -> None:
        """An implicit's arguments: constants that fit."""
        self.source, self.namespace = one.source, one.namespace
        declared = self.callee(one.call.target)
        scope = _nowhere()
        slots = self.signatures.of(declared).params if declared else None
        self._given(one.call.args, scope, slots, one.call.target.text)
        self.idle(one.call, scope, "on an implicit, which gives params their values", slots or {})

    def schema(self, one: Schema) -> None:
        self.source, self.namespace = one.source, one.namespace
        self.types(one.fields)
        self._defaults(one.fields, _nowhere(), "the default of")

    def _defaults(self, params: list[Param], scope: Scope, what: str) -> dict[str, Expression]:
        found: dict[str, Expression] = {}
        for one in params:
            if one.default is None:
                continue
            wanted, _ = self.program.type(one.type.name, one.type.lists, self.namespace)
            expression, type_ = self.wanted(wanted, one.default, scope)
            if type_ != fitting.NULL:
                self.fit(wanted, type_, f"{what} {one.name.text!r}", one.default)
            found[one.name.text] = expression
        return found

    # bodies

    def _owned(self, owner: Owner, bodies: list[Body], outer: Scope | None) -> None:
        """The bodies of an owner, in order: later ones may see earlier ones."""
        for number, body in enumerate(bodies, start=1):
            # unique among all that enclose it, so that a body may be named from deep inside another
            node = f"{owner.step.name} {body.word}#{number}" if owner.step else f"{body.word}#{number}"
            path = f"{owner.path}/{number}"
            beside = Scope(owner, path, outer=outer)
            bodied = Bodied(node, body)
            match body.kind:
                case "block":
                    assert body.block is not None
                    bodied.scopes.append(self._block(body.block, beside))
                case "foreach":
                    bodied.iterable = self._each(body, beside)
                    assert body.block is not None
                    bodied.scopes.append(self._block(body.block, beside))
                case "when" | "match":
                    word = "andMatch" if body.kind == "match" else "when"
                    at = body.start if body.kind == "match" else self.source.text.find("when", body.start)
                    self.cases(body.cases, word, at)
                    bodied.scopes, bodied.conditions = self._cases(body.cases, beside, None)
                case "script":
                    assert body.script is not None
                    bodied.script = body.script
                    # it is given all that the bodies before it may have yielded
                    self.spend(number * len(owner.signature.returns), body.start, body.end)
                    self.script(body.script)
            owner.bodies.append(bodied)
            scopes.keep(bodied, owner)

    def _each(self, body: Body, scope: Scope) -> Expression:
        assert body.iterable is not None and body.variable is not None
        expression, type_ = self.value(body.iterable, scope)
        inner = element(type_)
        if inner is None:
            message = f"foreach needs a list, a map or a text, not {fitting.called(type_)}"
            hint = "loop over a list of what it is done for, as [1, 2, 3] or a param of a list type"
            self.tell("not-iterable", message, body.iterable.start, body.iterable.end, hint)
        scope.variables[body.variable.text] = fitting.single(inner or ANY)
        return expression

    def _cases(self, cases: list[Case], beside: Scope, catching: str | None) -> tuple[list[Scope], list[Expression | None]]:
        found: list[Scope] = []
        conditions: list[Expression | None] = []
        for number, one in enumerate(cases, start=1):
            condition = None if one.condition is None else self.condition(one.condition, beside)
            conditions.append(condition)
            scope = Scope(beside.owner, f"{beside.path}/{number}", outer=beside.outer, catching=catching)
            found.append(self._block(one.block, scope))
        return found, conditions

    def _catch(self, catch: Catch, owner: Owner, outer: Scope | None, step: str) -> Caught:
        beside = Scope(owner, f"{owner.path}/catch", outer=outer, catching=step)
        if catch.block is not None:
            return Caught(self._block(catch.block, beside), [], [])
        self.cases(catch.cases, "catch", catch.start)
        cases, conditions = self._cases(catch.cases, beside, step)
        return Caught(None, cases, conditions)

    def _block(self, block: Block, scope: Scope) -> Scope:
        naming.steps(block, self.source, self.report)
        scope.statements = block.statements
        scope.later = {one.name.text for one in block.statements if isinstance(one, Step)}
        yields: list[Yield] = []
        for one in block.statements:
            if isinstance(one, Yield):
                yields.append(one)
            else:
                self._step_of(one, scope)
        seen: set[str] = set()
        for filled in yields:
            self.fill(filled, scope, seen)
        return scope

    def _step_of(self, step: Step, scope: Scope) -> None:
        name = step.name.text
        scope.current = name
        if any(owner.step is not None and owner.step.name == name for owner in scope.owners()):
            message = f"a step inside the step {name!r} has the same name"
            self.tell("duplicate-step", message, step.name.start, step.name.end, "rename one")
        before = scope.steps.pop(name, None)
        called = self.call(step.call, scope)
        self._calls.append(called)
        scope.current = None
        scope.later.discard(name)
        stepped = self._stepped(step, scope, called)
        scope.steps[name] = stepped
        if before is not None:
            return  # a second step of that name was told; the last one is seen
        if stepped.wrapped:
            signature = self.signatures.of(called.declared) if called.declared else Signature({}, {})
            self.spend(len(stepped.path) // 64, step.start, step.name.end)
            owner = Owner(stepped.path, declared=called.declared, signature=signature, step=stepped)
            stepped.owner = owner
            if isinstance(called.declared, Declaration) and called.declared.script is not None:
                owner.added = dict.fromkeys(stepped.returns, True)
            self._owned(owner, step.bodies, scope)
            scope.inner |= dict.fromkeys(owner.inner, stepped)
            if step.catch is not None:
                owner.caught = self._catch(step.catch, owner, scope, name)

    def _stepped(self, step: Step, scope: Scope, called: Called) -> Stepped:
        found = Stepped(step, scope, called)
        declared = called.declared
        if declared is None:
            found.attributes = dict.fromkeys((*called.entries, *called.extra), ANY)
            return found
        signature = self.signatures.of(declared)
        params = {slot.name: slot.type for slot in signature.params.values()}
        if isinstance(declared, Schema):
            found.attributes, found.returns, found.type, found.record = params, params, declared.qualified, True
            return found
        found.returns = {slot.name: slot.type for slot in signature.returns.values()}
        if declared.script is not None:
            before, self.quiet = self.quiet, True
            names, more = self.script(declared.script)
            self.quiet = before
            found.returns |= {name: ANY for name in names if name not in found.returns}
            found.open = more and declared.worked
        passed = dict.fromkeys(called.extra, ANY)
        if declared.is_block and not step.bodies:
            passed = {}
            for mixin in declared.mixins:
                for target in self.program.find(mixin.target.text, declared.namespace)[:1]:
                    mixed = self.signatures.of(target)
                    found.returns |= {name: ANY for name in (*mixed.params, *mixed.returns) if name not in found.returns}
        found.attributes = {**params, **passed, **found.returns}
        found.record = not declared.worked and (not declared.is_block or bool(step.bodies))
        found.calls_block = declared.is_block and not step.bodies
        return found


def _nowhere() -> Scope:
    """Where nothing can be named."""
    return Scope(Owner("", declared=None, signature=Signature({}, {})), "", outer=None)


def steps_of(declared: Declaration) -> list[Step]:
    """All steps of a declaration, however deep."""
    found: list[Step] = []
    stack: list[Block] = []

    def bodies(all_: list[Body], catch: Catch | None) -> None:
        for body in all_:
            stack.extend(one for one in (body.block, *(case.block for case in body.cases)) if one is not None)
        if catch is not None:
            stack.extend(one for one in (catch.block, *(case.block for case in catch.cases)) if one is not None)

    bodies(declared.bodies, declared.catch)
    while stack:
        for one in stack.pop().statements:
            if isinstance(one, Step):
                found.append(one)
                bodies(one.bodies, one.catch)
    return found
