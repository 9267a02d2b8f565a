"""Every rule of the checks: its id, how grave it is, and what it says. The reference page is made from this table."""

from typing import Literal

import msgspec

Severity = Literal["error", "warning"]


class Rule(msgspec.Struct, frozen=True):
    """`family` is where it is checked: a file of `afl/` carries that name, or it is the reader of the text itself."""

    family: str
    severity: Severity
    says: str


RULES: dict[str, Rule] = {
    "syntax": Rule("syntax", "error", "The text does not follow the grammar."),
    "character": Rule("syntax", "error", "A character that has no meaning outside of texts and comments."),
    "string": Rule("syntax", "error", "A text that is not closed, or holds what cannot be stored."),
    "number": Rule("syntax", "error", "A number that cannot be written so, or is too large."),
    "unclosed": Rule("syntax", "error", "A bracket, brace, comment or script that is never closed."),
    "depth": Rule("syntax", "error", "Nested too deep."),
    "size": Rule("syntax", "error", "The program is too large."),
    "bare-map": Rule("syntax", "warning", "`{}` where a value is wanted; it is read as `#{}`."),
    "duplicate-name": Rule("naming", "error", "Two declarations of one namespace have the same name."),
    "duplicate-step": Rule("naming", "error", "Two steps of one block have the same name."),
    "duplicate-field": Rule("naming", "error", "Two fields of a schema have the same name."),
    "duplicate-param": Rule("naming", "error", "Two params have the same name."),
    "duplicate-return": Rule("naming", "error", "Two returns have the same name."),
    "duplicate-argument": Rule("naming", "error", "An argument is given twice."),
    "duplicate-key": Rule("naming", "error", "A map has a key twice."),
    "duplicate-alias": Rule("naming", "error", "Two mixins of one call have the same alias."),
    "workflow-outside": Rule("naming", "warning", "A workflow outside of any namespace."),
    "schema-outside": Rule("naming", "error", "A schema outside of any namespace."),
    "unknown-use": Rule("resolving", "error", "`use` names a namespace that is not there."),
    "unknown-facet": Rule("resolving", "error", "A call of something that is not there; a warning with `--allow-external`."),
    "unknown-type": Rule("resolving", "error", "A type that is not there."),
    "ambiguous-name": Rule("resolving", "error", "A short name that several namespaces have."),
    "unknown-param": Rule("references", "error", "`$.x` names nothing that is there."),
    "unknown-step": Rule("references", "error", "A reference to a step that is not there."),
    "forward-step": Rule("references", "error", "A reference to a step that is written later."),
    "step-cycle": Rule("references", "error", "Steps that wait for each other."),
    "self-step": Rule("references", "error", "A step refers to itself."),
    "sibling-step": Rule("references", "warning", "A reference to a step of another block, which must then come first."),
    "hidden-step": Rule("references", "error", "A reference into a block that may run never or many times."),
    "unknown-attribute": Rule("references", "error", "A step or record has no such attribute."),
    "missing-argument": Rule("arguments", "error", "A param without default is not given."),
    "unknown-argument": Rule("arguments", "error", "An argument that the callee does not have."),
    "no-effect": Rule("arguments", "warning", "A mixin where it does nothing, as Timeout or Retry on what no agent does."),
    "secret-constant": Rule("arguments", "error", "A secret's name must be a text, as it is."),
    "type-mismatch": Rule("fitting", "error", "A value of another type than what it is for."),
    "narrowing": Rule("fitting", "warning", "A number with a fraction where a whole one is wanted."),
    "record-as-text": Rule("fitting", "warning", "A record where a text is wanted."),
    "made-list": Rule("fitting", "warning", "One value, or values joined by `++`, where a list is wanted: they make one."),
    "operator-type": Rule("fitting", "error", "An operator is applied to what it cannot take."),
    "condition-type": Rule("fitting", "error", "A condition that is neither true nor false."),
    "not-iterable": Rule("fitting", "error", "foreach over what has no elements."),
    "yield-target": Rule("yielding", "error", "A yield of something that does not enclose it."),
    "unknown-output": Rule("yielding", "error", "A yield of an output that is not declared."),
    "duplicate-yield": Rule("yielding", "error", "Two yields of one block have the same target."),
    "last-wins": Rule("yielding", "warning", "Many elements yield one value; the last one counts."),
    "no-default-case": Rule("branching", "error", "Cases without `case _`."),
    "default-not-last": Rule("branching", "error", "`case _` is not the last one."),
    "prompt-template": Rule("bodies", "error", "A prompt without a template."),
    "unknown-placeholder": Rule("bodies", "error", "A placeholder of a prompt that names no param."),
    "empty-script": Rule("bodies", "error", "A script without code."),
    "script-syntax": Rule("bodies", "warning", "A script that this Python cannot read."),
    "recursive-call": Rule("recursion", "warning", "A workflow or facet that calls itself, perhaps through others."),
    "recursive-schema": Rule("recursion", "warning", "A schema that contains itself."),
    "plan": Rule("compiling", "error", "What it compiles to is beyond the limits of a plan."),
}  # fmt: skip
