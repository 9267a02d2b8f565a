"""A call → what a node does: a task, a value, or a block."""

from weft.afl import fitting
from weft.afl.scope import Called, Stepped
from weft.afl.signature import RETRIED, Signature, Signatures, Slot
from weft.afl.syntax import Declaration, Schema, Script
from weft.afl.values import constant, folded
from weft.afl.walking import Walked
from weft.plan.expression import Apply, Expression, Get, Map, Output, Param, Secret, Value
from weft.plan.model import Block, Call, Compute, Field, Node, OptionName, Task, Work

SCRIPT_KIND = "afl.script"
PROMPT_KIND = "afl.prompt"
WITH = "(with)"
"""The param by which a call passes on what its mixins bring to an event facet that has a body."""

SCRIPT_SECONDS = 40
"""Longer than the half minute that its process gives it, so that it is told by that what was wrong."""


class Lowered:
    """The blocks of one declaration, and the blocks of others that they call."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.calls: dict[str, None] = {}


class Working:
    def __init__(self, signatures: Signatures, walked: dict[str, Walked]) -> None:
        self.signatures, self.walked = signatures, walked
        self.lowered = Lowered()
        self._options = self._asked()

    def work(self, step: Stepped) -> list[Node]:
        """The nodes of a step's call: the last one has the step's name."""
        called = step.called
        declared = called.declared
        if step.record:
            return self._record(step)
        if step.calls_block and isinstance(declared, Declaration):
            return [Node(step.name, self._call(declared, called))]
        given = {**called.defaults, **called.entries}
        if not (step.args_read or called.computed):
            return [Node(step.name, self.task(declared, given, called))]
        plain = {name: value for name, value in called.extra.items() if not isinstance(value, Secret)}
        args = self._args(step, declared, {**plain, **given}, called)
        names = [*plain, *(self.signatures.of(declared).params if declared else given)]
        read: dict[str, Expression] = {name: Get(Output(step.args_node), name) for name in names}
        if called.computed and isinstance(declared, Declaration):
            signed = self.said(self.walked[declared.qualified].signed)
            read = {**{name: Get(Output(step.args_node), name) for name in signed}, **read}
        secrets: dict[str, Expression] = {name: value for name, value in called.extra.items() if isinstance(value, Secret)}
        bare = Called(declared, called.name, {}, {}, False, secrets, called.options)
        return [args, Node(step.name, self.task(declared, read, bare))]

    def said(self, called: Called) -> dict[str, Expression]:
        """What mixins pass on, but for secrets."""
        return {name: value for name, value in called.extra.items() if not isinstance(value, Secret)}

    def _args(self, step: Stepped, declared: object, given: dict[str, Expression], called: Called) -> Node:
        """The node that holds what a step was given."""
        if called.computed and isinstance(declared, Declaration):
            name = f"{declared.qualified} (args)"
            self.lowered.calls[name] = None
            return Node(step.args_node, Call(name, called.entries))
        return Node(step.args_node, Compute(folded(Map(given))))

    def _record(self, step: Stepped) -> list[Node]:
        """A step that only is a value: its params, and the defaults of its returns."""
        called, declared = step.called, step.called.declared
        assert declared is not None
        script = declared.script if isinstance(declared, Declaration) else None
        computed = called.computed
        returns: dict[str, Expression] = {}
        if isinstance(declared, Declaration) and declared.qualified in self.walked:
            walked = self.walked[declared.qualified]
            returns = walked.returns
            computed = computed or not all(constant(one.default) for one in declared.returns if one.default is not None)
        if computed and isinstance(declared, Declaration):
            name = f"{declared.qualified} (args)"
            self.lowered.calls[name] = None
            work: Work = Call(name, called.entries)
        else:
            entries = {**returns, **self.said(called), **called.defaults, **called.entries}
            if isinstance(declared, Schema):
                entries = {name: entries[name] for name in self.signatures.of(declared).params if name in entries}
            work = Compute(folded(Map(entries)))
        if script is None:
            return [Node(step.name, work)]
        before, ran = step.args_node, f"{step.name} (script)"
        task = self.scripted(declared.qualified, script, Output(before))
        return [Node(before, work), Node(ran, task), Node(step.name, Compute(Apply("merge", (Output(before), Output(ran)))))]

    def _call(self, declared: Declaration, called: Called) -> Call:
        """A declaration that is a block."""
        self.lowered.calls[declared.qualified] = None
        given = dict(called.entries)
        signed = self.walked[declared.qualified].signed
        if declared.worked:
            extra = {name: value for name, value in self.said(called).items() if signed.extra.get(name) != value}
            if extra:
                given[WITH] = folded(Map(extra))
            given |= {f"({name})": value for name, value in called.options.items() if signed.options.get(name) != value}
        return Call(declared.qualified, given)

    def task(
        self, declared: object, given: dict[str, Expression], called: Called, *, passed: Expression | None = None
    ) -> Task:
        """The task of an event facet, a prompt, or of something that is not in this program."""
        entries = {**called.extra, **given}
        if not isinstance(declared, Declaration):
            return Task(called.name, folded(Map(entries)), _tried(called.options))
        returns = self.returns(declared)
        args: Expression = folded(Map(entries))
        if passed is not None:
            args = Apply("merge", (folded(Map(called.extra)), passed, folded(Map(given))))
        if declared.prompt is not None:
            parts: dict[str, Expression] = {word.text: Value(text.value) for word, text in declared.prompt.parts}
            wanted = {field.name: field.type for field in returns or ()}
            asked = Map({"facet": Value(declared.qualified), **parts, "returns": Value(wanted), "params": args})
            return Task(PROMPT_KIND, asked, called.options, returns)
        if declared.script is not None:
            made = self.scripted(declared.qualified, declared.script, args)
            return Task(SCRIPT_KIND, made.args, {**made.options, **called.options}, returns)
        return Task(declared.qualified, args, _tried(called.options), returns, typed(self.signatures.of(declared).params))

    def _asked(self) -> dict[str, set[OptionName]]:
        """Which options calls of event facets with bodies give: these come as params, null where they are not given."""
        found: dict[str, set[OptionName]] = {}
        for one in self.walked.values():
            for called in one.calls:
                if isinstance(called.declared, Declaration) and called.declared.is_block and called.declared.worked:
                    signed = self.walked[called.name].signed.options
                    names = {name for name, value in called.options.items() if signed.get(name) != value}
                    found.setdefault(called.name, set()).update(names)
        return found

    def hidden(self, walked: Walked) -> tuple[Field, ...]:
        """Params of an event facet with a body that its callers do not write."""
        names = sorted(self._options.get(walked.declared.qualified, ()))
        return (Field(WITH, "map", default=Value({})), *(Field(f"({name})", nullable=True) for name in names))

    def tried(self, walked: Walked) -> Called:
        """The signature's mixins, with the options that a call may give before them."""
        signed = walked.signed
        options = dict(signed.options)
        if walked.declared.prompt is None and walked.declared.script is None:
            options = _tried(options)
        for name in sorted(self._options.get(walked.declared.qualified, ())):
            given = Param(f"({name})")
            options[name] = Apply("default", (given, options[name])) if name in options else given
        return Called(signed.declared, signed.name, signed.entries, {}, False, signed.extra, options)

    def scripted(self, facet: str, script: Script, params: Expression) -> Task:
        """A script: run once, for at most half a minute."""
        args = Map({"facet": Value(facet), "language": Value("python"), "code": Value(script.code), "params": params,
                    "file": Value(script.file), "line": Value(script.line)})  # fmt: skip
        return Task(SCRIPT_KIND, args, {"timeout": Value(SCRIPT_SECONDS), "max_attempts": Value(1)})

    def returns(self, declared: Declaration) -> tuple[Field, ...] | None:
        """What the result must be; anything, if nothing is declared."""
        found = []
        for slot in self.signatures.of(declared).returns.values():
            default = self.walked[declared.qualified].returns.get(slot.name) if slot.default is not None else None
            fixed = slot.default is not None and constant(slot.default)
            found.append(Field(slot.name, fitting.planned(slot.type), default=default if fixed else None,
                               nullable=slot.nullable or (slot.default is not None and not fixed)))  # fmt: skip
        return tuple(found) or None

    def fields(self, signature: Signature, defaults: dict[str, Expression]) -> tuple[Field, ...]:
        return tuple(
            Field(slot.name, fitting.planned(slot.type), default=defaults.get(slot.name), nullable=slot.nullable)
            for slot in signature.params.values()
        )


def typed(slots: dict[str, Slot]) -> dict[str, str]:
    """The types that are known, in the words of a plan. A fraction where a whole number is wanted was only warned of."""
    found = {slot.name: fitting.planned(slot.type).replace("integer", "number") for slot in slots.values()}
    return {name: type_ for name, type_ in found.items() if type_.strip("[]") != "any"}


def _tried(options: dict[OptionName, Expression]) -> dict[OptionName, Expression]:
    """An agent's work is tried once unless the program asks for more: a `catch` must not come a minute late. (That a
    worker was lost counts as no try.)"""
    return {"max_attempts": Value(RETRIED if "retry" in options else 1), **options}
