"""The plan: blocks of nodes, as data with one JSON form and a hash."""

import hashlib
from typing import Any, Literal

import msgspec

from weft.base import errors
from weft.plan.expression import Expression, Value
from weft.plan.rules import Rule

FORMAT = 1
MAX_BYTES = 8 * 1024 * 1024
MAX_NODES = 50_000
MAX_EDGES = 500_000
MAX_CALLS = 100
"""How deep blocks may call each other in a run; a block that calls itself for ever ends there."""

OptionName = Literal["queue", "priority", "timeout", "max_attempts", "retry", "pool", "capabilities", "tags"]
"""What a task is told besides its arguments, in the words of `enqueue`; `pool` names a limit that tasks share."""


class Field(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A param or a return. `type`: string, integer, number, boolean, map, any, [type], or a record's name."""

    name: str
    type: str = "any"
    default: Expression | None = None
    """If it is missing. May name the params before it. Without one, a param must be given."""
    nullable: bool = False
    choices: tuple[Any, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    description: str = ""


class Record(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A named type: a map with these fields."""

    name: str
    fields: tuple[Field, ...]


class Task(msgspec.Struct, frozen=True, tag="task", tag_field="do", omit_defaults=True, forbid_unknown_fields=True):
    """Work that goes through the queue. The node's output is the task's result."""

    kind: str
    args: Expression = Value({})
    """Must be a map when evaluated."""
    options: dict[OptionName, Expression] = {}
    returns: tuple[Field, ...] | None = None
    """If given, the result must be a map that fits."""
    takes: dict[str, str] = {}
    """The types of arguments, where they are given and not null."""


class Compute(msgspec.Struct, frozen=True, tag="compute", tag_field="do", omit_defaults=True, forbid_unknown_fields=True):
    """A value, found at once."""

    value: Expression


class Call(msgspec.Struct, frozen=True, tag="call", tag_field="do", omit_defaults=True, forbid_unknown_fields=True):
    """A block, run in a scope of its own. The node's output is the map of its outputs."""

    block: str
    args: dict[str, Expression] = {}


Work = Task | Compute | Call


class Node(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    work: Work
    after: tuple[str, ...] = ()
    """Nodes of the same block, besides those whose output is named."""
    rule: Rule = "all_success"
    when: Expression | None = None
    foreach: Expression | None = None
    item: str = "item"
    """What an element is called, where a node has foreach."""
    at_once: int | None = None
    """At most so many instances at a time, where a node has foreach."""
    catch: str | None = None
    """A block with the params `error` and `error_type`, and the element's name if there is one: where a node has foreach,
    each element is caught, and not their list."""
    allow_failure: bool = False
    """Its failure does not make its block fail. What hangs on it sees it all the same."""
    group: str = ""
    """How people sort nodes, parts joined by dots. Means nothing to the run."""


class Block(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    params: tuple[Field, ...] = ()
    nodes: tuple[Node, ...] = ()
    outputs: dict[str, Expression] = {}
    """Evaluated when all nodes have ended and none failed. One that nobody fills is left out."""
    gives: dict[str, str] = {}
    """The types of outputs, where they are given and not null."""
    within: str | None = None
    """The block whose names it sees too."""


class Plan(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    entry: str
    """The block that a run calls with the run's params."""
    blocks: tuple[Block, ...]
    records: tuple[Record, ...] = ()
    format: int = msgspec.field(default=0)
    """Set by `encode`; a reader refuses what it does not know."""

    def block(self, name: str) -> Block | None:
        return next((block for block in self.blocks if block.name == name), None)


_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Plan)


def encode(plan: Plan) -> bytes:
    """The one JSON form: equal plans are equal bytes."""
    return _encoder.encode(msgspec.structs.replace(plan, format=FORMAT))


def decode(encoded: bytes | str) -> Plan:
    """A plan from its JSON form; InvalidPlan if it is of another format or no plan."""
    try:
        if msgspec.json.decode(encoded, type=_Format).format != FORMAT:
            raise errors.InvalidPlan(f"this plan's format is not {FORMAT}; it was written by another version of Weft")
        return msgspec.structs.replace(_decoder.decode(encoded), format=0)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise errors.InvalidPlan(f"this is no plan: {error}") from None


def digest(plan: Plan) -> str:
    """What names this very plan: the SHA-256 of its JSON form, in hex."""
    return hashlib.sha256(encode(plan)).hexdigest()


class _Format(msgspec.Struct):
    format: int = 0
