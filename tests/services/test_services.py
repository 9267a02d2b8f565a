"""DataServices: all protocols and entities of seed 000, and writes that do the real thing."""

import dataclasses
import inspect
import re
import uuid
from pathlib import Path
from typing import Any

import pytest

from weft import Agent, Conflict, InvalidInput, NotFound, TaskFailed
from weft.afl import entities, protocols, records
from weft.afl.entities import Classifier, FlowDefinition, FlowIdentity, Parameter, TextSource, UserDefinition
from weft.afl.records import (
    LogDefinition,
    RunnerDefinition,
    TaskDefinition,
)  # fmt: skip
from weft.base import ids
from weft.db.database import Database
from weft.queue import claim
from weft.queue.lanes import Lane, Take
from weft.services.postgres import Services, connect
from weft.settle.outcome import Outcome
from weft.settle.settle import settle

SEED = Path(__file__).parents[3] / "shared" / "seeds" / "000_0644886050e2cb12.txt"
SOURCE = """
namespace hello {
    /** Says hello. */
    event facet Greet(name: String) => (greeting: String)
    workflow SayHello(name: String = "world") => (message: String) andThen {
        g = Greet(name = $.name)
        yield SayHello(message = g.greeting)
    }
}
"""
DAOS = {"step", "flow", "workflow", "runner", "task", "event", "log", "server", "locks"}


def flow(name: str = "greetings", source: str = SOURCE) -> FlowDefinition:
    return FlowDefinition(
        "", FlowIdentity(name, "flows/hello.afl", ""), text_sources=[TextSource("hello.afl", "afl", source)],
        classification=Classifier("demo", "1"), publisher=UserDefinition("ada@example.com"),
    )  # fmt: skip


def started(services: Services, name: str = "Ada", **said: Any) -> RunnerDefinition:
    services.flow.save(flow())
    workflow = services.workflow.get_by_name("SayHello")
    assert workflow is not None
    runner = RunnerDefinition("", workflow.uuid, workflow, parameters=[Parameter("name", "String", name)], **said)
    services.runner.save(runner)
    return runner


def one_event(services: Services, runner: RunnerDefinition) -> records.EventDefinition:
    [event] = services.event.get_by_runner(runner.uuid)
    return event


# what is there


def test_every_protocol_is_kept(services: Services) -> None:
    assert isinstance(services, protocols.DataServices)
    assert isinstance(services.flow, protocols.FlowDefinitionDAO)
    assert isinstance(services.workflow, protocols.WorkflowDefinitionDAO)
    assert isinstance(services.runner, protocols.RunnerDefinitionDAO)
    assert isinstance(services.step, protocols.StepDefinitionDAO)
    assert isinstance(services.event, protocols.EventDefinitionDAO)
    assert isinstance(services.task, protocols.TaskDefinitionDAO)
    assert isinstance(services.log, protocols.LogDefinitionDAO)
    assert isinstance(services.server, protocols.ServerDefinitionDAO)
    assert isinstance(services.locks, protocols.KeyLockDAO)
    assert not isinstance(object(), protocols.KeyLockDAO)


@pytest.mark.skipif(not SEED.is_file(), reason="the seeds are not here")
def test_protocols_and_entities_are_those_of_the_seed() -> None:
    text = SEED.read_text()
    for name, body in re.findall(r"^class (\w+)\(Protocol\):\n(.*?)^(?:```|@runtime_checkable)", text, re.M | re.S):
        found = getattr(protocols, name)
        for method, given in re.findall(r"def (\w+)\(\s*self,? ?(.*?)\) ?->", body, re.S):
            wanted = re.findall(r"(\w+):", given)
            if name == "DataServices":
                assert method in DAOS
            else:
                assert list(inspect.signature(getattr(found, method)).parameters)[1:] == wanted, (name, method)
    for name, body in re.findall(r"^@dataclass\nclass (\w+):\n(.*?)^(?:```|@dataclass)", text, re.M | re.S):
        made = getattr(records, name, None) or getattr(entities, name)
        assert [one.name for one in dataclasses.fields(made)] == re.findall(r"^    (\w+): ", body, re.M), name


# flows and workflows


def test_a_flow_is_compiled_and_comes_back_with_every_list(services: Services) -> None:
    saved = flow()
    services.flow.save(saved)
    assert uuid.UUID(saved.uuid)
    found = services.flow.get_by_name("greetings")
    assert found is not None
    assert found == services.flow.get_by_id(saved.uuid) == services.flow.get_by_path("flows/hello.afl")
    assert [one.name for one in found.facets] == ["Greet", "SayHello"]
    assert (found.classification, found.publisher) == (Classifier("demo", "1"), UserDefinition("ada@example.com"))
    assert found.text_sources[0].text == SOURCE
    assert [one.name for one in found.compiled_sources] == ["hello.SayHello"]
    assert [one.name for one in found.statements] == ["g", "yield 2"]
    [workflow] = services.workflow.get_by_flow(saved.uuid)
    assert workflow == services.workflow.get_by_id(workflow.uuid) == services.workflow.get_by_name("hello.SayHello")
    assert workflow.flow_id == saved.uuid
    assert workflow.facet_id in {one.uuid for one in found.facets}
    assert workflow.namespace_id in {one.uuid for one in found.namespaces}
    workflow.documentation = "for the door"
    services.workflow.save(workflow)
    assert services.workflow.get_by_id(workflow.uuid) == workflow


def test_other_content_is_a_new_version_and_nonsense_changes_nothing(services: Services) -> None:
    services.flow.save(flow())
    before = services.workflow.get_by_name("SayHello")
    assert before is not None
    services.flow.save(flow(source=SOURCE.replace('"world"', '"all"')))
    after = services.workflow.get_by_name("SayHello")
    assert after is not None
    assert after.uuid == before.uuid
    assert after.version != before.version
    with pytest.raises(InvalidInput):
        services.flow.save(flow(source="namespace {"))
    with pytest.raises(InvalidInput, match="sources"):
        services.flow.save(FlowDefinition("", FlowIdentity("x", "", "")))
    assert services.workflow.get_by_name("SayHello") == after


def test_a_deleted_flow_is_hidden_but_its_runs_are_not(services: Services) -> None:
    runner = started(services)
    assert services.flow.delete(runner.workflow.flow_id)
    assert not services.flow.delete(runner.workflow.flow_id)
    assert not services.flow.delete("nonsense")
    assert services.flow.get_by_name("greetings") is None
    assert services.runner.get_by_id(runner.uuid) is not None


# runners, steps, events, logs


async def test_a_saved_runner_runs(agent: Agent, services: Services) -> None:
    @agent.handles("hello.Greet")
    async def greet(name: str) -> dict[str, str]:
        return {"greeting": f"Hello, {name}"}

    runner = started(services, retain=60_000)
    async with agent.worker():
        await agent.runs.result(uuid.UUID(runner.uuid), timeout=120)
    found = services.runner.get_by_id(runner.uuid)
    assert found is not None
    assert (found.state, found.retain, found.workflow_id) == ("completed", 60_000, runner.workflow_id)
    assert found.end_time >= found.start_time > 0
    assert [(one.name, one.value) for one in found.parameters] == [("name", "Ada")]
    assert services.runner.get_by_workflow(runner.workflow_id) == [found] == services.runner.get_by_state("completed")
    kept = services.flow.get_by_name("greetings")
    assert kept is not None
    steps = services.step.get_by_runner(runner.uuid)
    assert [(one.object_type, one.state) for one in steps] == [
        ("AndThen", "completed"), ("VariableAssignment", "completed"), ("Yield", "completed"),
    ]  # fmt: skip
    [statement] = [one for one in kept.statements if one.name == "g"]
    assert (steps[1].statement_id, steps[1].block_id) == (statement.uuid, statement.block_id)
    assert steps[1].container_id == steps[0].uuid
    assert (steps[1].container_type, steps[0].is_starting_step) == ("AndThen", True)
    assert steps[1].facets is not None
    assert (steps[1].facets.name, steps[1].facets.parameters, steps[1].facets.returns) == (
        "Greet", {"name": "Ada"}, {"greeting": "Hello, Ada"},
    )  # fmt: skip
    assert services.step.get_by_container(steps[0].uuid) == steps[1:]
    assert services.step.get_by_state(runner.uuid, "completed") == steps
    assert services.step.get_by_id(steps[1].uuid) == steps[1]
    event = one_event(services, runner)
    assert (event.state, event.purpose, event.topic, event.handler, event.step_id) == (
        "completed", "command", "default", "hello.Greet", steps[1].uuid,
    )  # fmt: skip
    assert event.cursor is not None
    assert event.cursor.statement_id == statement.uuid
    assert services.event.get_by_id(event.uuid) == event == services.event.get_by_step(steps[1].uuid)[0]
    task = services.task.get_by_id(event.uuid)
    assert task is not None
    assert (task.name, task.state, task.runner_id, task.step_id, task.flow_id) == (
        "hello.Greet", "completed", runner.uuid, steps[1].uuid, kept.uuid,
    )  # fmt: skip


def test_pause_pauses_and_cancel_cancels(services: Services) -> None:
    runner = started(services)
    services.runner.update_state(runner.uuid, "paused")
    assert [one.uuid for one in services.runner.get_by_state("paused")] == [runner.uuid]
    services.runner.update_state(runner.uuid, "paused")
    services.runner.update_state(runner.uuid, "running")
    services.runner.update_state(runner.uuid, "cancelled")
    with pytest.raises(Conflict, match="cancelled cannot become running"):
        services.runner.update_state(runner.uuid, "running")
    with pytest.raises(Conflict, match="cannot become completed"):
        services.runner.update_state(runner.uuid, "completed")
    with pytest.raises(NotFound):
        services.runner.update_state(str(uuid.uuid4()), "paused")
    with pytest.raises(NotFound):
        services.runner.update_state("nonsense", "paused")
    assert services.runner.get_by_id("nonsense") is None
    failed = started(services, state="failed")
    assert [one.uuid for one in services.runner.get_by_state("failed")] == [failed.uuid]
    paused = started(services, state="paused")
    assert [one.uuid for one in services.runner.get_by_state("paused")] == [paused.uuid]


def test_a_step_is_said_to_have_ended_and_done_again(services: Services) -> None:
    runner = started(services)
    step = services.step.get_by_runner(runner.uuid)[1]
    step.state = "failed"
    services.step.save(step)
    found = services.runner.get_by_id(runner.uuid)
    assert found is not None
    assert found.state == "failed"
    services.step.update_state(step.uuid, "pending")
    found = services.runner.get_by_id(runner.uuid)
    assert found is not None
    assert found.state == "running"
    with pytest.raises(Conflict, match="cannot be made"):
        services.step.update_state(step.uuid, "sideways")


def test_a_yield_is_shown_with_its_block(services: Services) -> None:
    runner = started(services)

    def shown() -> records.StepDefinition:
        [found] = [one for one in services.step.get_by_runner(runner.uuid) if one.object_type == "Yield"]
        return found

    before = shown()
    assert (before.state, before.container_type, before.parameters) == ("pending", "AndThen", [])
    [event] = services.event.get_by_runner(runner.uuid)
    services.event.update_state(event.uuid, "running")
    services.event.update_state(event.uuid, "completed", result={"greeting": "hi"})
    after = shown()
    assert (after.uuid, after.state) == (before.uuid, "completed")
    assert [(one.name, one.value) for one in after.parameters] == [("message", "hi")]
    flow = services.flow.get_by_name("greetings")
    assert flow is not None
    assert after.statement_id in [one.uuid for one in flow.statements if one.object_type == "Yield"]


def test_an_event_is_taken_and_completed_and_the_run_goes_on(services: Services) -> None:
    runner = started(services)
    [event] = services.event.get_pending("default")
    services.event.update_state(event.uuid, "running")
    with pytest.raises(Conflict):
        services.event.update_state(event.uuid, "sideways")
    services.event.update_state(event.uuid, "completed", result={"greeting": "hi"})
    found = services.runner.get_by_id(runner.uuid)
    assert found is not None
    assert found.state == "completed"
    event = one_event(services, runner)
    assert event.event_data is not None
    assert (event.state, event.event_data.result) == ("completed", {"greeting": "hi"})


async def test_logs_of_agents_steps_and_people_say_where(agent: Agent, services: Services) -> None:
    @agent.handles("hello.Greet")
    async def greet(ctx: Any, name: str) -> dict[str, str]:
        raise ValueError("lost my voice")

    greet.context_name = "ctx"
    runner = started(services)
    async with agent.worker():
        with pytest.raises(TaskFailed):
            await agent.runs.result(uuid.UUID(runner.uuid), timeout=120)
    services.log.save(LogDefinition("", 0, runner.uuid, message="called Ada", note_originator="agent", note_importance=1,
                                    file="diary", line=7, details={"by": "Grace"}))  # fmt: skip
    logs = services.log.get_by_runner(runner.uuid)
    assert [one.order for one in logs] == list(range(1, len(logs) + 1))
    [error] = [one for one in logs if one.message.startswith("g failed")]
    assert (error.note_originator, error.note_type, error.note_importance, error.file, error.line) == (
        "workflow", "error", 1, "hello.afl", 6,
    )  # fmt: skip
    last = logs[-1]
    assert (last.message, last.note_originator, last.file, last.line, last.details) == (
        "called Ada", "agent", "diary", 7, {"by": "Grace"},
    )  # fmt: skip
    with pytest.raises(InvalidInput):
        services.log.save(LogDefinition("", 0, runner.uuid, note_type="shout"))
    with pytest.raises(NotFound):
        services.log.save(LogDefinition("", 0, str(uuid.uuid4())))


# tasks


def task(**said: Any) -> TaskDefinition:
    return TaskDefinition(**{"uuid": "", "name": "mail", "runner_id": "", "workflow_id": "", "flow_id": "", "step_id": "",
                             "data": {"to": "ada"}, "task_list_name": "post", **said})  # fmt: skip


def test_a_saved_task_is_enqueued_and_goes_its_way(services: Services) -> None:
    made = task(data_type="letter")
    services.task.save(made)
    [found] = services.task.get_pending("post")
    assert (found.uuid, found.data, found.data_type, found.state) == (made.uuid, {"to": "ada"}, "letter", "pending")
    assert services.task.get_pending("elsewhere") == []
    with pytest.raises(Conflict, match="pending cannot become completed"):
        services.task.update_state(made.uuid, "completed")
    services.task.update_state(made.uuid, "running")
    services.task.update_state(made.uuid, "failed", error="no stamps")
    failed = services.task.get_by_id(made.uuid)
    assert failed is not None
    assert failed.error is not None
    assert (failed.state, failed.error["message"]) == ("failed", "no stamps")
    services.task.update_state(made.uuid, "pending")
    services.task.update_state(made.uuid, "ignored")
    assert services.task.get_by_id(made.uuid).state == "ignored"  # type: ignore[union-attr]
    other = task()
    services.task.save(other)
    other.state = "canceled"
    services.task.save(other)
    assert services.task.get_by_id(other.uuid).state == "canceled"  # type: ignore[union-attr]
    assert services.task.get_by_id("nonsense") is None


async def test_whoever_held_a_task_that_the_dao_ends_has_lost_it(database: Database, services: Services) -> None:
    made = task()
    services.task.save(made)
    async with database.tx() as tx:
        [held] = await claim.plain(
            tx, node_id=str(uuid.UUID(int=7)), token=str(ids.token()), kinds=["mail"],
            takes=[Take(Lane("post", str(ids.DEFAULT_ORG), plain=True), 1)],
        )  # fmt: skip
    services.task.update_state(made.uuid, "completed", result={"by": "hand"})
    async with database.tx() as tx:
        settled = await settle(tx, [Outcome(held, "completed", result='{"by": "worker"}')])
    assert [one.task.id for one in settled.lost] == [made.uuid]
    async with database.tx() as tx:
        assert await tx.value("select result ->> 'by' from weft.task_history") == "hand"


def test_one_task_of_a_step_at_a_time(services: Services) -> None:
    runner = started(services)
    [event] = services.event.get_by_runner(runner.uuid)
    assert event.step_id is not None
    with pytest.raises(Conflict, match="one of a step runs at a time"):
        services.task.save(task(step_id=event.step_id))


async def test_a_task_that_its_step_gave_up_is_of_no_step(database: Database, services: Services) -> None:
    """What both partial unique indexes of the seed say: of a step, one task and one event are running."""
    runner = started(services)
    [old] = services.event.get_by_runner(runner.uuid)
    services.event.update_state(old.uuid, "running")
    services.runner.update_state(runner.uuid, "cancelled")
    assert old.step_id is not None
    services.step.update_state(old.step_id, "pending")
    [new] = services.event.get_by_runner(runner.uuid)
    services.event.update_state(new.uuid, "running")
    async with database.tx() as tx:
        running = "select count(*), count(distinct step_id) from afl.{} where state = 'running' and step_id = %(step)s"
        for view in ("tasks", "events"):
            assert await tx.row(running.format(view), {"step": old.step_id}) == (1, 1)


def test_another_org_sees_nothing(services: Services, database_url: str) -> None:
    runner = started(services)
    services.locks.acquire("nightly", 60_000)
    with connect(database_url, org=uuid.uuid4()) as others:
        assert others.runner.get_by_id(runner.uuid) is None
        assert others.flow.get_by_name("greetings") is None
        assert others.workflow.get_by_name("SayHello") is None
        assert others.step.get_by_runner(runner.uuid) == []
        assert others.event.get_by_runner(runner.uuid) == []
        assert others.log.get_by_runner(runner.uuid) == []
        assert others.task.get_pending("default") == []
        assert others.locks.check("nightly") is None
        with pytest.raises(NotFound):
            others.runner.update_state(runner.uuid, "cancelled")
