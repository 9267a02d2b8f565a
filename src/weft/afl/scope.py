"""What is known while a body is walked: whose body it is, its steps so far, and what encloses it.

    Owner   a declaration, or a step that has bodies or a catch: whom `$` and `yield` speak of. A block of the plan
    Scope   the braces of one block: its steps, its yields. Another block of the plan, written inside the owner's
    Stepped a step, with what others read of it; only at the end it is known what has to be kept for them

An expression of the plan is made while walking; the blocks are made afterwards, by `lowering`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from weft.afl.program import Declared
from weft.afl.signature import Signature
from weft.afl.syntax import Body, Declaration, Script, Step, Yield, named_by
from weft.plan.expression import Expression, Get, Output
from weft.plan.model import OptionName

_LOOKED_AT = 200
"""Steps through which a circle is looked for."""


class Key(NamedTuple):
    """What a yield fills: a field of an owner. `many`: a list, which collects what elements yield."""

    owner: str
    field: str
    many: bool = False

    def said(self, path: str) -> str:
        """Its name among the outputs of a block that belongs to the owner `path`."""
        return self.field if self.owner == path else f"{self.owner}^{self.field}"


class Called(msgspec.Struct):
    """A call, ready to be lowered."""

    declared: Declared | None
    """None: nobody in this program, so an agent of that name."""
    name: str
    entries: dict[str, Expression]
    """The params that are given, by arguments, mixins and implicits."""
    defaults: dict[str, Expression]
    """The other ones, if their defaults are constants."""
    computed: bool
    """Whether some default must be computed from other params: then the callee's own block does it."""
    extra: dict[str, Expression]
    """What mixins pass on besides."""
    options: dict[OptionName, Expression]


class Bodied(msgspec.Struct):
    """One body of an owner, walked."""

    node: str
    body: Body
    scopes: list["Scope"] = []
    """One for each case, or the only one."""
    conditions: list[Expression | None] = []
    iterable: Expression | None = None
    script: Script | None = None


class Caught(msgspec.Struct):
    scope: "Scope | None"
    cases: list["Scope"]
    conditions: list[Expression | None]


class Stepped:
    """A step and what is known of it."""

    def __init__(self, step: Step, scope: "Scope", called: Called) -> None:
        self.step, self.scope, self.called = step, scope, called
        self.name = step.name.text
        self.wrapped = bool(step.bodies) or step.catch is not None
        self.attributes: dict[str, str] = {}
        """Returns, and params that are no returns, with their types."""
        self.returns: dict[str, str] = {}
        self.open = called.declared is None
        """Whether it may have attributes that nobody declared."""
        self.type = ""
        """Of the step as a whole, if it builds a record."""
        self.record = False
        """Whether it is only a value: nothing runs."""
        self.calls_block = False
        """Whether a block of the callee's own does it all."""
        self.owner: Owner | None = None
        self.caught: Caught | None = None
        self.args_read = False
        self.params_read: set[str] = set()
        self.attributes_read: set[str] = set()
        self.exports: dict[str, Expression] = {}

    @property
    def args_node(self) -> str:
        return f"{self.name} (args)"

    @property
    def path(self) -> str:
        return f"{self.scope.path}/{self.name}"


class Owner:
    def __init__(
        self, path: str, *, declared: Declared | None, signature: Signature, step: Stepped | None = None
    ) -> None:
        self.path, self.declared, self.signature, self.step = path, declared, signature, step
        self.mixins: list[tuple[Declared | None, str, Signature | None]] = []
        self.bodies: list[Bodied] = []
        self.caught: Caught | None = None
        self.added: dict[str, bool] = {}
        """Names a script adds to the params."""
        self.adds_any = False
        """Whether the script may add names that cannot be seen in it."""
        self.names: set[str] = set()
        """Of all steps anywhere inside, for a declaration: what is not here need not be searched."""
        self.inner: dict[str, Bodied] = {}
        """By the name of each step that can be handed out: the first plain body it is in, however deep."""
        self.returned: dict[str, list[Stepped]] = {}
        """By the name of each return: the steps of the plain bodies that have it."""

    @property
    def worked(self) -> bool:
        """Whether somebody does its work: an agent, a model, or its script."""
        return isinstance(self.declared, Declaration) and self.declared.worked

    @property
    def outer(self) -> "Scope | None":
        return self.step.scope if self.step else None


class Scope:
    def __init__(self, owner: Owner, path: str, *, outer: "Scope | None", catching: str | None = None) -> None:
        self.owner, self.path, self.outer, self.catching = owner, path, outer, catching
        self.variables: dict[str, str] = {}
        self.steps: dict[str, Stepped] = {}
        self.later: set[str] = set()
        self.waits: dict[str, list[str]] = {}
        """Of a block in which something names a later step: the steps that each step names."""
        self.statements: Sequence[Step | Yield] = ()
        self.current: str | None = None
        """The step whose arguments are being read."""
        self.yields: dict[Key, tuple[Expression, bool]] = {}
        """With each expression, whether it is a list already."""
        self.exports: dict[str, Expression] = {}
        self.inner: dict[str, Stepped] = {}
        """By the name of each step that is inside of a step of this block: the last such step."""

    def chain(self) -> Iterator["Scope"]:
        """This block and those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def owners(self) -> Iterator[Owner]:
        """Whose body this is, from the innermost on."""
        seen: Owner | None = None
        for scope in self.chain():
            if scope.owner is not seen:
                seen = scope.owner
                yield seen


def circle(scope: Scope, first: str, second: str) -> list[str]:
    """The steps by which `second`, which `first` names, waits for `first` again; empty if it does not."""
    if not scope.waits:
        for one in scope.statements:
            if isinstance(one, Step):
                args = [*one.call.args, *(arg for mixin in one.call.mixins for arg in mixin.args)]
                scope.waits[one.name.text] = [name for arg in args for name in named_by(arg.value)]
    before: dict[str, str] = {second: first}
    todo = [second]
    for step in todo:
        for name in scope.waits.get(step, ()) if len(before) < _LOOKED_AT else ():
            if name == first:
                found = [step]
                while found[-1] != first:
                    found.append(before[found[-1]])
                return [*reversed(found), first]
            if name not in before:
                before[name] = step
                todo.append(name)
    return []


def exported(scope: Scope, name: str) -> tuple[Expression, Stepped] | None:
    """A step inside of a body of an earlier step or of an earlier body beside this one; from now on it is handed out."""
    around = [id(owner) for owner in scope.owners()]
    nearer: list[Scope] = []
    for one in scope.chain():
        step = one.inner.get(name)
        if step is not None and step.owner is not None and id(step.owner) not in around and not _means(step.name, nearer):
            found = _handed(step.owner, name)
            if found:
                step.exports[name] = found[0]
                return Get(Output(step.name), f"@{name}"), found[1]
        nearer.append(one)
        first = one.outer is None or one.outer.owner is not one.owner
        if first and one.catching is None and (found := _handed(one.owner, name)):
            return found
    return None


def keep(bodied: Bodied, owner: Owner) -> None:
    """A body that was walked: what of it can be handed out."""
    for scope in bodied.scopes if bodied.body.kind == "block" else ():
        for name in (*scope.steps, *scope.inner):
            owner.inner.setdefault(name, bodied)
        for step in scope.steps.values():
            for name in step.returns:
                owner.returned.setdefault(name, []).append(step)


def _means(name: str, nearer: list[Scope]) -> bool:
    """Whether a name means another step in a block further inside."""
    return any(name in one.steps or name in one.later or name == one.current for one in nearer)


def _handed(owner: Owner, name: str) -> tuple[Expression, Stepped] | None:
    """From the plain bodies of an owner that have been walked."""
    bodied = owner.inner.get(name)
    if bodied is None:
        return None
    scope = bodied.scopes[0]
    if name in scope.steps:
        scope.exports[name] = Output(name)
        return Get(Output(bodied.node), f"@{name}"), scope.steps[name]
    step = scope.inner[name]
    found = _handed(step.owner, name) if step.owner is not None else None
    if found is None:
        return None
    step.exports[name] = found[0]
    scope.exports[name] = Get(Output(step.name), f"@{name}")
    return Get(Output(bodied.node), f"@{name}"), found[1]
