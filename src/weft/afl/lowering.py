"""What was walked → blocks of a plan.

    declaration Q              block Q: [script] [work] andThen#1 … and its returns as outputs
    its n-th body              block Q/n, within Q; a step is a node of that name
    a step with a body         block Q/n/s, within Q/n: again a node s, which is the call alone, and the bodies
    a catch                    block …/catch, within what the step stands in
    params that are computed   block `Q (args)`, which gives them back

What a body yields to something further out than its owner is an output `owner^field`, and is handed on; a step that
somebody outside of its block refers to is an output `@step`.
"""

import msgspec

from weft.afl.joining import Sources
from weft.afl.references import ERRORS, SCRIPT, WORK
from weft.afl.scope import Bodied, Caught, Key, Owner, Scope, Stepped
from weft.afl.signature import Signatures
from weft.afl.syntax import Script
from weft.afl.walking import Walked
from weft.afl.working import WITH, Lowered, Working, typed
from weft.plan.expression import Apply, Expression, Get, Map, Output, Param, Value
from weft.plan.model import Block, Call, Compute, Field, Node

_TRY = "(try)"
_ERRORS = tuple(Field(name, "string") for name in ERRORS)


class Lowering(Working):
    def __init__(self, signatures: Signatures, walked: dict[str, Walked], params_read: set[str]) -> None:
        super().__init__(signatures, walked)
        self.params_read = params_read

    def declaration(self, walked: Walked) -> Lowered:
        """The blocks of a declaration that is one."""
        self.lowered = Lowered()
        declared, owner, path = walked.declared, walked.owner, walked.declared.qualified
        params = self.fields(owner.signature, walked.defaults)
        if declared.worked:
            params = (*params, *self.hidden(walked))
        first, base = self._first(walked)
        outputs: dict[str, Expression] = {}
        if path in self.params_read:
            outputs = {name: Param(name) for name in owner.signature.params if name not in owner.signature.returns}
        after = tuple(node.name for node in first[-1:])
        if owner.caught is None:
            self._add(self._container(path, None, params, first, after, owner, base, outputs))
            return self.lowered
        self._add(self._container(f"{path}/try", path, (), first, after, owner, base, {}))
        tried = self.lowered.blocks[-1]
        caught = self._caught(owner.caught, owner, path)
        names = {**tried.outputs, **caught.outputs}
        said: dict[str, Expression] = {name: Get(Output(_TRY), name) for name in names}
        for name, default in walked.returns.items():
            said[name] = Apply("present", (said[name], default)) if name in said else default
        node = Node(_TRY, Call(f"{path}/try"), catch=caught.name)
        gives = typed(owner.signature.returns)
        self._add(Block(path, params=params, nodes=(node,), outputs={**outputs, **said}, gives=gives))
        return self.lowered

    def args(self, walked: Walked) -> Block:
        """The block that computes the params which are not given, and gives back all."""
        declared = walked.declared
        outputs: dict[str, Expression] = {name: Param(name) for name in walked.owner.signature.params}
        outputs |= {name: value for name, value in self.said(walked.signed).items() if name not in outputs}
        if not declared.worked:
            outputs |= {name: value for name, value in walked.returns.items() if name not in outputs}
        params = self.fields(walked.owner.signature, walked.defaults)
        return Block(f"{declared.qualified} (args)", params=params, outputs=outputs)

    def _add(self, block: Block) -> None:
        self.lowered.blocks.append(block)

    def _first(self, walked: Walked) -> tuple[list[Node], Sources]:
        """What runs before the bodies, and what it fills the returns with."""
        declared, base = walked.declared, Sources()
        passed: dict[str, Expression] = {name: Param(name) for name in walked.owner.signature.params}
        nodes: list[Node] = []
        if declared.worked:
            work = self.task(declared, passed, self.tried(walked), passed=Param(WITH))
            nodes.append(Node(WORK, work))
            for name in self._filled(walked, every=True):
                base.fallback(name, Get(Output(WORK), name))
        elif declared.script is not None:
            nodes.append(Node(SCRIPT, self.scripted(declared.qualified, declared.script, Map(passed))))
            for name in self._filled(walked, every=walked.owner.adds_any):
                base.fallback(name, Get(Output(SCRIPT), name))
        for name, value in self.said(walked.signed).items() if declared.qualified in self.params_read else ():
            base.fallback(name, value)
        for name, default in walked.returns.items():
            base.fallback(name, default)
        return nodes, base

    def _filled(self, walked: Walked, *, every: bool) -> list[str]:
        """Which outputs the first node fills: returns, and what somebody reads besides."""
        returns, added = walked.owner.signature.returns, walked.owner.added
        more = [name for name in added if name not in returns] if walked.declared.qualified in self.params_read else []
        return [*(name for name in returns if every or name in added), *more]

    def _container(
        self, path: str, within: str | None, params: tuple[Field, ...], first: list[Node], after: tuple[str, ...],
        owner: Owner, base: Sources, outputs: dict[str, Expression],
    ) -> Block:  # fmt: skip
        """An owner's block: what comes first, its bodies, and what they yield."""
        nodes, sources = list(first), base
        for bodied in owner.bodies:
            nodes += self._body(bodied, owner, path, after, sources)
        outputs = {**outputs, **sources.outputs(owner.path)}
        gives = typed(owner.signature.returns)
        return Block(path, params=params, nodes=tuple(nodes), outputs=outputs, gives=gives, within=within)

    def _body(self, bodied: Bodied, owner: Owner, path: str, after: tuple[str, ...], sources: Sources) -> list[Node]:
        node = bodied.node
        match bodied.body.kind:
            case "block":
                keys = self._scope(bodied.scopes[0], path)
                sources.take(node, keys, owner.path)
                return [Node(node, Call(bodied.scopes[0].path), after=after)]
            case "foreach":
                assert bodied.body.variable is not None and bodied.iterable is not None
                item = bodied.body.variable.text
                keys = self._scope(bodied.scopes[0], path, params=(Field(item),))
                sources.take_each(node, keys, owner.path)
                call = Call(bodied.scopes[0].path, {item: Param(item)})
                return [Node(node, call, after=after, foreach=bodied.iterable, item=item)]
            case "when" | "match":
                first = bodied.body.kind == "match"
                return self._cases(node, bodied.scopes, bodied.conditions, owner, path, after, sources, first=first)
            case "script":
                assert bodied.script is not None
                return [self._after_script(bodied.script, node, owner, after, sources)]

    def _after_script(self, script: Script, node: str, owner: Owner, after: tuple[str, ...], sources: Sources) -> Node:
        """A script among the bodies: it sees the params, and what was yielded before it."""
        entries: dict[str, Expression] = {}
        if owner.step is None:
            entries = {name: Param(name) for name in owner.signature.params}
        else:
            owner.step.args_read = True
            for name in owner.signature.params:
                holder = owner.step.name if owner.step.record else owner.step.args_node
                entries[name] = Get(Output(holder), name)
        before = Map({name: value for name, value in sources.outputs(owner.path).items() if name not in entries})
        seen = Map({name: Apply("default", (value, Value(None))) for name, value in before.entries.items()})
        names = owner.signature.returns
        sources.take(node, {Key(owner.path, name): False for name in names}, owner.path)
        facet = owner.declared.qualified if owner.declared else owner.path
        return Node(node, self.scripted(facet, script, Map({**seen.entries, **entries})), after=after)

    def _cases(
        self, node: str, scopes: list[Scope], conditions: list[Expression | None], owner: Owner, path: str,
        after: tuple[str, ...], sources: Sources, *, first: bool,
    ) -> list[Node]:  # fmt: skip
        """A node for each condition, and a call that depends on it. `first`: only the first that is true."""
        nodes: list[Node] = []
        any_before: Expression | None = None
        for number, (scope, condition) in enumerate(zip(scopes, conditions, strict=True), start=1):
            keys = self._scope(scope, path)
            case = f"{node} case {number}"
            when: Expression | None
            if condition is None:
                when = None if any_before is None else Apply("not", (any_before,))
            else:
                test = f"{node} if {number}"
                guarded = Apply("and", (Apply("not", (any_before,)), condition)) if first and any_before else condition
                nodes.append(Node(test, Compute(guarded), after=after))
                when = Output(test)
                if any_before is None:
                    any_before = when
                else:
                    nodes.append(Node(f"{node} any {number}", Compute(Apply("or", (any_before, when)))))
                    any_before = Output(f"{node} any {number}")
            nodes.append(Node(case, Call(scope.path), when=when, after=after))
            sources.take(case, keys, owner.path)
        return nodes

    def _caught(self, caught: Caught, owner: Owner, within: str) -> Block:
        """The block that is called after a failure."""
        path = f"{owner.path}/catch"
        if caught.scope is not None:
            self._scope(caught.scope, within, params=_ERRORS)
            return self.lowered.blocks[-1]
        sources = Sources()
        nodes = self._cases("catch", caught.cases, caught.conditions, owner, path, (), sources, first=False)
        self._add(Block(path, params=_ERRORS, nodes=tuple(nodes), outputs=sources.outputs(owner.path), within=within))
        return self.lowered.blocks[-1]

    def _scope(self, scope: Scope, within: str, params: tuple[Field, ...] = ()) -> dict[Key, bool]:
        """The block of some braces. Answers what it yields, and whether that is a list already."""
        nodes: list[Node] = []
        sources = Sources()
        for step in scope.steps.values():
            if step.wrapped:
                nodes.append(self._wrapped(step, sources))
            else:
                nodes += self.work(step)
        for key, (expression, gathered) in scope.yields.items():
            sources.own(key, expression, gathered)
        exports = {f"@{name}": expression for name, expression in scope.exports.items()}
        outputs = {**sources.outputs(scope.owner.path), **exports}
        self._add(Block(scope.path, params=params, nodes=tuple(nodes), outputs=outputs, within=within))
        return sources.keys()

    def _wrapped(self, step: Stepped, sources: Sources) -> Node:
        """A step with bodies or a catch: a block of its own."""
        owner, path = step.owner, step.path
        assert owner is not None
        names = [*step.returns, *(name for name in sorted(step.attributes_read) if step.open and name not in step.returns)]
        base = Sources()
        for name in names:
            base.fallback(name, Get(Output(step.name), name))
        before = len(self.lowered.blocks)
        inside = self._container(path, step.scope.path, (), [], (step.name,), owner, base, {})
        # only now it is known what the bodies read of the arguments
        holder = step.name if step.record or step.calls_block else step.args_node
        read: dict[str, Expression] = {name: Get(Output(holder), name) for name in sorted(step.params_read)}
        exports = {f"@{name}": expression for name, expression in step.exports.items()}
        nodes = (*self.work(step), *inside.nodes)
        outputs = {**read, **inside.outputs, **exports}
        self.lowered.blocks.insert(before, msgspec.structs.replace(inside, nodes=nodes, outputs=outputs))
        outer = {key: gathered for key, gathered in base.keys().items() if key.owner != owner.path}
        catch = None
        if owner.caught is not None:
            block = self._caught(owner.caught, owner, step.scope.path)
            catch = block.name
            outer |= {key: False for key in _yielded(owner.caught) if key.owner != owner.path}
        sources.take(step.name, outer, owner.path)
        return Node(step.name, Call(path), catch=catch)


def _yielded(caught: Caught) -> set[Key]:
    """Everything that a catch yields itself or hands on."""
    found: set[Key] = set()
    stack = [*caught.cases, *([caught.scope] if caught.scope else [])]
    while stack:
        scope = stack.pop()
        found |= set(scope.yields)
        for step in scope.steps.values():
            if step.owner is not None:
                stack += [inner for bodied in step.owner.bodies for inner in bodied.scopes]
                if step.owner.caught is not None:
                    found |= _yielded(step.owner.caught)
    return found

