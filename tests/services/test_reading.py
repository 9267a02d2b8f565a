"""What the DAOs read: by the seed's own look-ups, all of it or said to be too much, and saved again as it was."""

import pytest

from weft.afl.entities import Parameter
from weft.afl.records import RunnerDefinition
from weft.afl.source import Source
from weft.base import ids
from weft.base.errors import TooLarge
from weft.db.database import Database
from weft.flows import programs
from weft.services.postgres import Services

LIBRARY = "namespace lib { event facet Greet(name: String) => (greeting: String) workflow Unused() }"
MAIN = """namespace n {
    /** Says hello to all.
     * @param all Whom to greet,
     *   one by one.
     * @param note What to write.
     * @returns said What was said. */
    workflow W(all: [String], note: String = "") => (said: [String]) andThen foreach one in $.all {
        g = lib.Greet(name = $.one)
        yield W(said = g.greeting)
    }
}"""


async def saved(database: Database) -> None:
    sources = [Source("main.afl", MAIN), Source("lib.afl", LIBRARY, library=True)]
    async with database.tx(org=ids.DEFAULT_ORG, engine=True) as tx:
        await programs.save(tx, programs.compile_flow(sources, name="greetings", path="flows/main.afl"), org=ids.DEFAULT_ORG)


async def test_a_flow_that_is_saved_again_keeps_its_libraries(services: Services, database: Database) -> None:
    await saved(database)
    flow = services.flow.get_by_path("flows/main.afl")
    assert flow is not None and services.flow.get_by_name("greetings") == flow == services.flow.get_by_id(flow.uuid)
    assert services.flow.get_by_path("") is None and services.flow.get_by_id("nonsense") is None
    services.flow.save(flow)
    again = services.flow.get_by_id(flow.uuid)
    assert again is not None and [one.name for one in again.workflows] == ["W"]
    async with database.tx(org=ids.DEFAULT_ORG) as tx:
        assert await tx.value("select count(*) from weft.flow_versions") == 1


async def test_params_are_documented(services: Services, database: Database) -> None:
    await saved(database)
    flow = services.flow.get_by_name("greetings")
    assert flow is not None
    [facet] = [one for one in flow.facets if one.name == "W"]
    assert [(one.name, one.documentation) for one in facet.parameters] == [
        ("all", "Whom to greet, one by one."), ("note", "What to write."),
    ]  # fmt: skip
    assert [one.documentation for one in facet.returns] == ["What was said."]


async def test_what_is_too_much_is_said_and_not_cut(services: Services, database: Database) -> None:
    await saved(database)
    workflow = services.workflow.get_by_name("W")
    assert workflow is not None
    for _ in range(3):
        services.runner.save(RunnerDefinition("", workflow.uuid, workflow, parameters=[Parameter("all", "[String]", ["a"])]))
    assert len(services.runner.get_by_workflow(workflow.uuid)) == 3
    assert not services.runner.get_by_workflow("nonsense")
    services.runner._link.most = 2
    for read in (lambda: services.runner.get_by_workflow(workflow.uuid), lambda: services.runner.get_by_state("running")):
        with pytest.raises(TooLarge, match="more than 2"):
            read()
