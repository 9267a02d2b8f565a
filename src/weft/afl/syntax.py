"""The tree of a program as it is written. Every part knows where it stands: `start` to `end` of its source."""

from typing import Any, Literal

import msgspec

from weft.afl.source import Source

Kind = Literal["facet", "event", "workflow"]
BodyKind = Literal["block", "foreach", "when", "match", "script"]


class Node(msgspec.Struct):
    start: int
    end: int


class Name(Node):
    """A name, perhaps with dots."""

    text: str


# expressions


class Literal_(Node):
    """A text, number, true, false or null."""

    value: Any


class Reference(Node):
    """`$.name`, or `name` alone."""

    name: str
    dollar: bool


class Attribute(Node):
    base: "Expression"
    name: str
    """Its place is the end of this node."""


class Subscript(Node):
    base: "Expression"
    index: "Expression"


class ListOf(Node):
    items: list["Expression"]


class MapOf(Node):
    entries: list[tuple[Name, "Expression"]]


class Unary(Node):
    operator: str
    operand: "Expression"


class Binary(Node):
    """`depth` of the tree below, so that nobody has to walk a tree that is too deep."""

    operator: str
    left: "Expression"
    right: "Expression"
    depth: int


class Chain(Node):
    """`&&`, `||` and `++` with all their operands: such chains are long in practice."""

    operator: str
    operands: list["Expression"]


Expression = Literal_ | Reference | Attribute | Subscript | ListOf | MapOf | Unary | Binary | Chain


def named_by(one: Expression) -> list[str]:
    """The steps that an expression names, perhaps."""
    match one:
        case Reference(name=name, dollar=False):
            return [name]
        case Attribute(base=base):
            return named_by(base)
        case Subscript(base=base, index=index):
            return named_by(base) + named_by(index)
        case ListOf(items=items):
            return [name for item in items for name in named_by(item)]
        case MapOf(entries=entries):
            return [name for _, value in entries for name in named_by(value)]
        case Unary(operand=operand):
            return named_by(operand)
        case Binary(left=left, right=right):
            return named_by(left) + named_by(right)
        case Chain(operands=operands):
            return [name for operand in operands for name in named_by(operand)]
        case _:
            return []


# calls and signatures


class Type(Node):
    """`lists` counts the brackets around the name."""

    name: str
    lists: int


class Argument(Node):
    name: Name
    value: Expression


class Mixin(Node):
    target: Name
    args: list[Argument]
    alias: Name | None


class Call(Node):
    target: Name
    args: list[Argument]
    mixins: list[Mixin]


class Param(Node):
    name: Name
    type: Type
    default: Expression | None


class Script(Node):
    """Code with its common indentation taken away; `start` is where its first line begins."""

    code: str
    file: str = ""
    line: int = 1
    """Where its first line stands."""
    adds: tuple[set[str], bool] | None = None
    """What it puts into `result`, once somebody has read it."""


class Prompt(Node):
    parts: list[tuple[Name, Literal_]]
    whole: bool = True
    """Whether all of it could be read."""


# what runs


class Yield(Node):
    call: Call


class Step(Node):
    name: Name
    call: Call
    bodies: list["Body"]
    catch: "Catch | None"


class Block(Node):
    statements: list[Step | Yield]


class Case(Node):
    """Without a condition: `case _`."""

    condition: Expression | None
    block: Block


class Body(Node):
    """`andThen …`, `andMap …` or `andMatch …`; `word` is how it was written."""

    kind: BodyKind
    word: str
    variable: Name | None = None
    iterable: Expression | None = None
    block: Block | None = None
    cases: list[Case] = []
    script: Script | None = None


class Catch(Node):
    """A block, or cases."""

    block: Block | None
    cases: list[Case]


# declarations


class Declaration(Node):
    kind: Kind
    name: Name
    params: list[Param]
    returns: list[Param]
    mixins: list[Mixin]
    script: Script | None
    prompt: Prompt | None
    bodies: list[Body]
    catch: Catch | None
    doc: str
    namespace: str
    source: Source
    broken: bool = False
    """Whether its signature could not be read: then nothing more is said of what it takes and gives."""

    @property
    def worked(self) -> bool:
        """Whether somebody does its work: an agent, a model, or (of an event facet) its script."""
        return self.kind == "event" or self.prompt is not None

    @property
    def is_block(self) -> bool:
        """Whether it is a block of the plan: it has something that runs inside, or is where a run begins."""
        if self.kind == "workflow" or self.bodies or self.catch is not None:
            return True
        return self.script is not None and not self.worked

    @property
    def qualified(self) -> str:
        return f"{self.namespace}.{self.name.text}" if self.namespace else self.name.text


class Schema(Node):
    name: Name
    fields: list[Param]
    doc: str
    namespace: str
    source: Source
    broken: bool = False

    @property
    def qualified(self) -> str:
        return f"{self.namespace}.{self.name.text}" if self.namespace else self.name.text


class Implicit(Node):
    name: Name
    call: Call
    namespace: str
    source: Source


class Use(Node):
    name: Name


class Namespace(Node):
    """One opening of a namespace; what is outside of any is in one without a name."""

    name: Name
    doc: str
    uses: list[Use]
    declarations: list[Declaration]
    schemas: list[Schema]
    implicits: list[Implicit]


class File(msgspec.Struct):
    source: Source
    namespaces: list[Namespace]
