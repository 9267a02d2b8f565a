"""The seed's FlowDefinition, filled from a program; its entities have the seed's fields."""

import dataclasses
import re
import uuid
from pathlib import Path

import pytest
from afl_programs import build, clean

from weft.afl import definition, entities

SEED = Path(__file__).parents[3] / "shared" / "seeds" / "000_0644886050e2cb12.txt"
FLOW = uuid.UUID(int=7)
FIELDS = {
    "FlowIdentity": ["name", "path", "uuid"],
    "FlowDefinition": ["uuid", "name", "namespaces", "facets", "workflows", "mixins", "blocks", "statements", "arguments",
                       "references", "script_code", "file_artifacts", "jar_artifacts", "resources", "text_sources", "inline",
                       "classification", "publisher", "ownership", "compiled_sources"],
    "WorkflowDefinition": ["uuid", "name", "namespace_id", "facet_id", "flow_id", "starting_step", "version", "metadata",
                           "documentation", "date"],
}  # fmt: skip
PROGRAM = """
/** All of it. */
namespace n {
    schema Cfg { a: Int }
    /** Adds. */
    event facet Add(a: Int, b: Int = 2) => (sum: Int) with Timeout(minutes = 1)
    /** Runs. */
    workflow W(n: Int, all: [Int]) => (out: [Int]) script { result["m"] = 1 } andThen foreach v in $.all {
        c = Cfg(a = v)
        x = Add(a = c.a) with Retry(maxAttempts = 2) as again andThen when {
            case x.sum > 1 => { y = Add(a = x.sum, b = c.a) }
            case _ => { }
        } catch { z = Add(a = 1) }
        yield W(out = [x.sum, c.a])
    }
}
"""


@pytest.mark.parametrize("name", FIELDS)
def test_the_entities_have_the_seeds_fields(name: str) -> None:
    assert [one.name for one in dataclasses.fields(getattr(entities, name))] == FIELDS[name]
    if SEED.exists():
        found = re.search(rf"class {name}:\n(.*?)(?=\n\n\n|```)", SEED.read_text(), re.S)
        assert found and re.findall(r"^    (\w+): ", found[1], re.M) == FIELDS[name]


def test_every_list_is_filled() -> None:
    made = definition.define(clean(PROGRAM), name="demo", path="demo.afl", flow_id=FLOW, date=5)
    assert (made.uuid, made.name.name, made.name.path) == (str(FLOW), "demo", "demo.afl")
    assert [(one.name, one.documentation) for one in made.namespaces] == [("n", "All of it.")]
    assert [(one.name, one.kind) for one in made.facets] == [("Cfg", "schema"), ("Add", "event"), ("W", "workflow")]
    [workflow] = made.workflows
    assert (workflow.name, workflow.starting_step, workflow.documentation, workflow.date) == ("W", "n.W", "Runs.", 5)
    assert workflow.flow_id == made.uuid and workflow.facet_id == made.facets[2].uuid
    assert [(one.name, one.alias) for one in made.mixins] == [("Timeout", None), ("Retry", "again")]
    assert [one.kind for one in made.blocks] == ["AndMap", "When", "Case", "Case", "Catch"]
    assert [(one.name, one.object_type) for one in made.statements] == [
        ("c", "Schema"), ("x", "VariableAssignment"), ("y", "VariableAssignment"), ("z", "VariableAssignment"),
        ("yield 3", "Yield")]  # fmt: skip
    names = {one.uuid: one.name for one in made.statements}
    names |= {one.uuid: f"{one.kind} {one.order}" for one in made.blocks}
    assert {names[one.statement_id]: [names[other] for other in one.references] for one in made.references} == {
        "AndMap 1": [], "c": [], "x": ["c"], "Case 1": ["x"], "y": ["x", "c"], "z": [], "yield 3": ["x", "c"]}  # fmt: skip
    assert [[arg.value for arg in one.arguments] for one in made.arguments][1] == ["c.a"]
    assert [(one.code, one.line) for one in made.script_code] == [('result["m"] = 1', 8)]
    assert made.text_sources[0].text == PROGRAM and made.compiled_sources[0].name == "n.W"
    ids = [one.uuid for one in (*made.namespaces, *made.facets, *made.blocks, *made.statements, *made.mixins)]
    assert len(set(ids)) == len(ids)


def test_the_same_program_is_the_same_definition() -> None:
    one, two = (definition.define(clean(PROGRAM), name="demo", path="p", flow_id=FLOW) for _ in range(2))
    assert one == two


def test_references_reach_from_block_to_block_and_into_loops_and_conditions() -> None:
    text = """namespace n { event facet E(a: Int = 1) => (b: Int, l: [Int])
      workflow W() andThen { x = E() andThen { y = E() } z = E(a = y.b) }
        andThen foreach v in x.l { u = E(a = z.b) }
        andThen when { case z.b > 1 => { } case _ => { } } }"""
    made = definition.define(build(text), name="demo", path="p", flow_id=FLOW)
    names = {one.uuid: one.name for one in made.statements}
    names |= {one.uuid: one.kind for one in made.blocks}
    found = {names[one.statement_id]: [names[other] for other in one.references] for one in made.references}
    assert found == {"x": [], "y": [], "z": ["y"], "AndMap": ["x"], "u": ["z"], "Case": ["z"]}
