"""What each step is called in the seed's words, for every kind of block, on a declaration and on a step."""

from weft.afl.entities import FlowDefinition, FlowIdentity, Parameter, TextSource
from weft.afl.records import RunnerDefinition
from weft.services.postgres import Services

SOURCE = """
namespace n {
    schema S { a: Int }
    facet F(x: Int) => (y: Int)
    workflow W(l: [Int]) => (out: Json) script { result["m"] = 1 } andThen {
        a_b = F(x = 1) andThen { s = S(a = 1) yield F(y = s.a) }
        h = F(x = 1) andThen foreach v in $.l { i = F(x = v) }
        k = F(x = 1) andMap v in $.l { j = F(x = v) }
        c = F(x = 1) andMatch { case true => { p = F(x = 1) } case _ => { } }
    } andMap v in $.l { q = F(x = v) } andMatch {
        case false => { }
        case _ => { r = F(x = 1) }
    } andThen when { case true => { t = F(x = 1) } case _ => { } }
}
"""


def test_every_kind_of_block_has_its_word(services: Services) -> None:
    sources = [TextSource("k.afl", "afl", SOURCE)]
    services.flow.save(FlowDefinition("", FlowIdentity("kinds", "k.afl", ""), text_sources=sources))
    workflow = services.workflow.get_by_name("W")
    assert workflow is not None
    runner = RunnerDefinition("", workflow.uuid, workflow, parameters=[Parameter("l", "[Int]", [1])])
    services.runner.save(runner)
    [event] = services.event.get_by_runner(runner.uuid)
    # a script is the engine's own work
    assert (event.handler, event.purpose) == ("afl.script", "workflow")
    services.event.update_state(event.uuid, "running")
    services.event.update_state(event.uuid, "completed", result={"m": 1})
    found = services.runner.get_by_id(runner.uuid)
    assert found is not None and found.state == "completed"
    steps = [one for one in services.step.get_by_runner(runner.uuid) if one.object_type != "Yield"]
    kinds = {(one.container_type, one.extra_data.node): one.object_type for one in steps}
    assert kinds == {
        ("Facet", "(script)"): "Facet",
        ("Facet", "andThen#1"): "AndThen",
        ("AndThen", "a_b"): "VariableAssignment", ("VariableAssignment", "a_b"): "Facet",
        ("VariableAssignment", "a_b andThen#1"): "AndThen", ("AndThen", "s"): "Schema",
        ("AndThen", "h"): "VariableAssignment", ("VariableAssignment", "h"): "Facet",
        ("VariableAssignment", "h andThen#1"): "AndMap", ("AndMap", "i"): "VariableAssignment",
        ("AndThen", "k"): "VariableAssignment", ("VariableAssignment", "k"): "Facet",
        ("VariableAssignment", "k andMap#1"): "AndMap", ("AndMap", "j"): "VariableAssignment",
        ("AndThen", "c"): "VariableAssignment", ("VariableAssignment", "c"): "Facet",
        ("VariableAssignment", "c andMatch#1 if 1"): "AndMatch", ("VariableAssignment", "c andMatch#1 case 1"): "AndMatch",
        ("VariableAssignment", "c andMatch#1 case 2"): "AndMatch", ("AndMatch", "p"): "VariableAssignment",
        ("Facet", "andMap#2"): "AndMap", ("AndMap", "q"): "VariableAssignment",
        ("Facet", "andMatch#3 if 1"): "AndMatch", ("Facet", "andMatch#3 case 1"): "AndMatch",
        ("Facet", "andMatch#3 case 2"): "AndMatch", ("AndMatch", "r"): "VariableAssignment",
        ("Facet", "andThen#4 if 1"): "AndMatch", ("Facet", "andThen#4 case 1"): "AndMatch",
        ("Facet", "andThen#4 case 2"): "AndMatch", ("AndMatch", "t"): "VariableAssignment",
    }  # fmt: skip
    logged = {one.object_type for one in services.log.get_by_runner(runner.uuid)}
    assert {"AndMap", "AndMatch", "AndThen", "Facet"} <= logged
    statements = {one.statement_id for one in steps if one.extra_data.node == "a_b"}
    assert len(statements) == 1
