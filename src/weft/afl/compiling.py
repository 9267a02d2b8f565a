"""Sources → plans, one for each workflow, or everything that is wrong with them."""

from collections.abc import Sequence

import msgspec

from weft.afl import fitting, naming, parser, recursion
from weft.afl.diagnostic import Diagnostic, Report
from weft.afl.lowering import Lowering
from weft.afl.program import Program
from weft.afl.signature import Signatures
from weft.afl.source import MAX_BYTES, Source
from weft.afl.syntax import File
from weft.afl.walking import Walked, Walking
from weft.afl.working import Lowered
from weft.plan import check
from weft.plan.model import MAX_BYTES as PLAN_BYTES
from weft.plan.model import MAX_NODES, Block, Field, Plan, Record, Task

MOST_BLOCKS = 200_000
MOST_BYTES = 128 * 1024 * 1024
"""Of all plans of a program together. Each holds all that its workflow calls, so a short text can ask for much."""


class Compiled(msgspec.Struct, frozen=True):
    """`plans` by the workflows' qualified names; none if there is an error."""

    program: Program
    diagnostics: list[Diagnostic]
    plans: dict[str, Plan]
    walked: dict[str, Walked]
    signatures: Signatures

    @property
    def ok(self) -> bool:
        return not any(one.severity == "error" for one in self.diagnostics)


def compile_sources(sources: Sequence[Source], *, allow_external: bool = False) -> Compiled:
    """Reads, checks and lowers a program. Sources that are libraries are there for the others."""
    report = Report(lenient=("unknown-facet",) if allow_external else ())
    files: list[File] = []
    if sum(len(source.text) for source in sources) > MAX_BYTES:
        report.add("size", f"the program is larger than {MAX_BYTES:,} characters", sources[0], 0, 1, hint="split it")
    else:
        files = [parser.parse(source, report) for source in sources]
    program = Program(files)
    signatures = Signatures(program)
    naming.check(program, report)
    walking = Walking(program, signatures, report)
    walking.allow_external = allow_external
    walking.uses()
    for schema in program.schemas():
        walking.schema(schema)
    for space in program.spaces.values():
        for implicit in space.implicits:
            walking.implicit(implicit)
    walked = {one.qualified: walking.declaration(one) for one in program.declarations()}
    recursion.calls(walked, report)
    recursion.schemas(program, signatures, report)
    plans: dict[str, Plan] = {}
    if not report.failed:
        plans = _plans(walked, signatures, walking.params_read, report)
        _check(walked, plans, report)
    ok = not report.failed
    return Compiled(program, report.diagnostics(), plans if ok else {}, walked, signatures)


def _check(walked: dict[str, Walked], plans: dict[str, Plan], report: Report) -> None:
    """What is wrong with the plans. Blocks that many share are looked at once: workflows that call each other in a row
    would else be checked again and again.
    """
    sizes: dict[str, tuple[int, int]] = {}
    left = MOST_BYTES
    for name, plan in plans.items():
        for block in plan.blocks:
            if block.name not in sizes:
                sizes[block.name] = len(block.nodes), len(msgspec.json.encode(block))
        nodes, size = (sum(counts) for counts in zip(*(sizes[block.name] for block in plan.blocks), strict=True))
        if nodes > MAX_NODES or size > PLAN_BYTES:
            declared = walked[name].declared
            message = f"the plan of {name} is larger than {MAX_NODES:,} nodes or {PLAN_BYTES:,} bytes"
            report.add("plan", message, declared.source, declared.name.start, declared.name.end, hint="make several of it")
        left -= size
        if left < 0:
            _too_much(walked[name], f"all plans together are larger than {MOST_BYTES:,} bytes", report)
            break
    if report.failed:
        return
    blocks = {block.name: block for plan in plans.values() for block in plan.blocks}
    records = {record.name: record for plan in plans.values() for record in plan.records}
    for part in _parts(list(blocks.values()), plans, sizes):
        for problem in check.problems(msgspec.structs.replace(part, records=tuple(records.values())))[:3]:
            declared = walked[problem.block.partition("/")[0].removesuffix(" (args)") or part.name].declared
            report.add("plan", str(problem), declared.source, declared.name.start, declared.name.end)


def _parts(blocks: list[Block], plans: dict[str, Plan], sizes: dict[str, tuple[int, int]]) -> list[Plan]:
    """All blocks as one plan, if that is not too large for one; else each plan."""
    first = next(iter(plans), None)
    if first is None:
        return []
    if sum(nodes for nodes, _ in sizes.values()) <= MAX_NODES and sum(size for _, size in sizes.values()) <= PLAN_BYTES // 2:
        return [Plan(first, first, tuple(blocks))]
    return list(plans.values())


def _plans(
    walked: dict[str, Walked], signatures: Signatures, params_read: set[str], report: Report
) -> dict[str, Plan]:
    lowering = Lowering(signatures, walked, params_read)
    lowered: dict[str, Lowered] = {}
    blocks: dict[str, Block] = {}
    for name, one in walked.items():
        if one.declared.is_block:
            lowered[name] = lowering.declaration(one)
    for name, one in walked.items():
        blocks[f"{name} (args)"] = lowering.args(one)
    records = _records(signatures)
    types = {name: _named(one.blocks, records) for name, one in lowered.items()}
    plans: dict[str, Plan] = {}
    left = MOST_BLOCKS
    for name, one in walked.items():
        if one.declared.kind == "workflow" and not one.declared.source.library:
            plans[name] = _plan(name, lowered, blocks, records, types)
            left -= len(plans[name].blocks)
            if left < 0:
                _too_much(one, f"all plans together have more than {MOST_BLOCKS:,} blocks", report)
                return {}
    return plans


def _too_much(one: Walked, message: str, report: Report) -> None:
    name = one.declared.name
    hint = "a workflow's plan holds everything it calls: make fewer workflows, or several programs"
    report.add("plan", message, one.declared.source, name.start, name.end, hint=hint)


def _plan(
    name: str, lowered: dict[str, Lowered], args: dict[str, Block], records: dict[str, Record], types: dict[str, set[str]]
) -> Plan:
    """A workflow with everything it calls."""
    wanted: dict[str, None] = {name: None}
    todo = [name]
    while todo:
        for called in lowered[todo.pop()].calls:
            if called not in wanted:
                wanted[called] = None
                if called in lowered:
                    todo.append(called)
    found: list[Block] = []
    named: set[str] = set()
    for one in wanted:
        found += lowered[one].blocks if one in lowered else [args[one]]
        named |= types[one] if one in types else _named([args[one]], records)
    return Plan(name=name, entry=name, blocks=tuple(found), records=_used(named, records))


def _records(signatures: Signatures) -> dict[str, Record]:
    found = {}
    for schema in signatures.program.schemas():
        fields = tuple(Field(slot.name, fitting.planned(slot.type)) for slot in signatures.of(schema).params.values())
        found[schema.qualified] = Record(schema.qualified, fields)
    return found


def _named(blocks: list[Block], records: dict[str, Record]) -> set[str]:
    """The records that the types of these blocks name."""
    types = {field.type for block in blocks for field in block.params}
    for block in blocks:
        types |= set(block.gives.values())
        for node in block.nodes:
            if isinstance(node.work, Task):
                types |= {*node.work.takes.values(), *(field.type for field in node.work.returns or ())}
    return {name for type_ in types if (name := type_.strip("[]")) in records}


def _used(named: set[str], records: dict[str, Record]) -> tuple[Record, ...]:
    """These records, and those that they name."""
    found: dict[str, Record] = {}
    todo = list(named)
    while todo:
        name = todo.pop()
        if name in records and name not in found:
            found[name] = records[name]
            todo += [field.type.strip("[]") for field in records[name].fields]
    return tuple(found[name] for name in sorted(found))
