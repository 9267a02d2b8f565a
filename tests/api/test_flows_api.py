"""`/v1/flows` and `/v1/runners`: AFL over HTTP."""

import uuid
from typing import Any

import pytest
from calling import Caller, code

import hands
from weft.db.database import Database

TEXT = """
namespace hello {
    /** Says hello. */
    event facet Greet(name: String) => (greeting: String)
    workflow SayHello(name: String = "world") => (message: String) andThen {
        g = Greet(name = $.name)
        yield SayHello(message = g.greeting)
    }
    workflow Twice(name: String) => (messages: [String]) andThen foreach n in [1, 2] {
        s = SayHello(name = $.name)
        yield Twice(messages = s.message)
    }
}
"""
FLOW: dict[str, Any] = {"name": "greetings", "path": "hello.afl", "sources": [{"name": "hello.afl", "text": TEXT}]}


async def work(database: Database, *, fails: bool = False) -> int:
    """Does what waits, as an agent would; answers how much that was."""
    async with database.tx() as tx:
        held = await hands.claim_plain(tx, kinds=["hello.Greet"])
        if fails:
            await hands.end(tx, held, "failed", error='{"type": "E", "message": "no voice"}', retryable=False)
        else:
            await hands.end(tx, held, result='{"greeting": "hi"}')
    return len(held)


async def started(api: Caller, workflow: str = "SayHello", **said: Any) -> dict[str, Any]:
    await api.post("/v1/flows", FLOW)
    body = {"flow": "greetings", "workflow": workflow, "params": {"name": "Ada"}, **said}
    answer = await api.post("/v1/runners", body)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def step(api: Caller, run: str, node: str) -> dict[str, Any]:
    items = (await api.get(f"/v1/runners/{run}/steps?limit=100")).json()["items"]
    return next(one for one in items if one["node"] == node)


async def test_problems_have_rule_place_end_and_hint(api: Caller) -> None:
    wrong = TEXT.replace("Greet(name = $.name)", "Gret(name = $.name)")
    answer = await api.post("/v1/flows/check", {"sources": [{"name": "x.afl", "text": wrong}]}, role="writer")
    found = answer.json()
    assert (answer.status_code, found["valid"], found["workflows"]) == (200, False, [])
    [problem] = found["diagnostics"]
    assert (problem["rule"], problem["file"], problem["line"], problem["column"]) == ("unknown-facet", "x.afl", 6, 13)
    assert (problem["end_line"], problem["end_column"]) == (6, 17)
    assert "Greet" in problem["hint"] + problem["message"]
    external = {"sources": [{"text": wrong}], "allow_external": True}
    assert (await api.post("/v1/flows/check", external)).json()["valid"]
    good = (await api.post("/v1/flows/check", {"sources": FLOW["sources"]})).json()
    assert (good["valid"], good["workflows"]) == (True, ["hello.SayHello", "hello.Twice"])


async def test_a_flow_is_saved_in_versions_looked_at_and_deleted(api: Caller) -> None:
    made = await api.post("/v1/flows", FLOW)
    flow = made.json()
    assert (made.status_code, made.headers["location"]) == (201, f"/v1/flows/{flow['id']}")
    assert [one["name"] for one in flow["workflows"]] == ["hello.SayHello", "hello.Twice"]
    again = await api.post("/v1/flows", FLOW)
    assert (again.status_code, again.json()) == (200, flow)
    other = {**FLOW, "sources": [{"name": "hello.afl", "text": TEXT.replace("world", "all")}]}
    assert (await api.post("/v1/flows", other)).json()["version_number"] == 2
    at = f"/v1/flows/{flow['id']}"
    assert (await api.get(at)).json()["version_number"] == 2
    assert [one["name"] for one in (await api.get(f"{at}/workflows")).json()["items"]] == flow["workflow_names"]
    assert (await api.get(f"{at}/sources")).json()["items"][0]["text"] == other["sources"][0]["text"]
    apart = (await api.get(f"{at}/definition")).json()
    assert [one["name"] for one in apart["facets"]] == ["Greet", "SayHello", "Twice"]
    assert (await api.get(f"{at}/handlers")).json() == {"items": [{"handler": "hello.Greet", "agents": 0}]}
    text = 'namespace s { workflow W() script { result["x"] = 1 } }'
    made = (await api.post("/v1/flows", {"name": "scripted", "sources": [{"name": "s.afl", "text": text}]})).json()
    assert (await api.get(f"/v1/flows/{made['id']}/handlers")).json() == {"items": []}
    assert [one["id"] for one in (await api.get("/v1/flows?name_prefix=greet")).json()["items"]] == [flow["id"]]
    assert (await api.delete(at)).status_code == 204
    assert code(await api.get(at)) == (404, "NOT_FOUND")
    assert code(await api.post("/v1/runners", {"flow": "greetings"})) == (404, "NOT_FOUND")


async def test_a_program_with_errors_is_refused_with_all_of_them(api: Caller) -> None:
    bad = {"sources": [{"name": "x.afl", "text": "namespace x { workflow W() andThen { a = No() b = Nor() } }"}]}
    answer = await api.post("/v1/flows", bad)
    assert code(answer) == (400, "INVALID_FLOW")
    assert [one["rule"] for one in answer.json()["error"]["details"]["problems"]] == ["unknown-facet", "unknown-facet"]
    assert code(await api.post("/v1/flows", {"sources": []}))[0] == 400
    assert (await api.get("/v1/flows")).json()["items"] == []


async def test_a_runner_is_started_once_per_key_and_runs(api: Caller, database: Database) -> None:
    run = await started(api, idempotency_key="k", tags=["t"])
    assert (run["state"], run["name"], run["kind"]) == ("running", "hello.SayHello", "flow")
    assert (await started(api, idempotency_key="k"))["id"] == run["id"]
    assert await work(database) == 1
    done = (await api.get(f"/v1/runners/{run['id']}")).json()
    assert (done["state"], done["output"]) == ("completed", {"message": "hi"})
    assert [one["id"] for one in (await api.get("/v1/runners?workflow=hello.SayHello&state=completed")).json()["items"]] == [
        run["id"]
    ]
    assert (await api.get("/v1/runners?state=failed")).json()["items"] == []
    wrong = await api.post("/v1/runners", {"flow": "greetings", "workflow": "SayHello", "params": {"name": 7}})
    assert wrong.status_code == 400
    assert code(await api.post("/v1/runners", {"flow": "greetings", "workflow": "SayHelo"})) == (404, "NOT_FOUND")


async def test_the_task_list_is_the_queue_of_its_work(api: Caller, database: Database) -> None:
    await started(api, task_list="geo")
    async with database.once() as tx:
        assert await tx.value("select queue from weft.tasks") == "geo"


async def test_the_steps_are_a_tree(api: Caller) -> None:
    run = await started(api, "Twice")
    tree = (await api.get(f"/v1/runners/{run['id']}/tree")).json()
    [each] = tree["steps"]
    assert (each["node"], tree["more"]) == ("andThen#1", False)
    assert [one["element"] for one in each["steps"]] == [0, 1]
    assert [one["node"] for one in each["steps"][0]["steps"]] == ["s"]
    assert each["steps"][0]["steps"][0]["steps"][0]["steps"][0]["node"] == "g"
    pages = (await api.get(f"/v1/runners/{run['id']}/steps?limit=2")).json()
    assert len(pages["items"]) == 2
    assert pages["next_cursor"]


async def test_pause_resume_cancel_and_why(api: Caller, database: Database) -> None:
    run = await started(api)
    at = f"/v1/runners/{run['id']}"
    assert (await api.post(f"{at}/pause")).json()["state"] == "paused"
    assert await work(database) == 0
    assert (await api.get(f"{at}/explain")).json()["code"] == "paused"
    assert (await api.post(f"{at}/resume")).json()["state"] == "running"
    assert code(await api.post(f"{at}/resume")) == (409, "CONFLICT")
    assert (await api.post(f"{at}/cancel")).json()["state"] == "cancelled"


async def test_a_failed_step_is_retried_and_a_run_repaired(api: Caller, database: Database) -> None:
    run = await started(api, "Twice")
    at = f"/v1/runners/{run['id']}"
    assert code(await api.post(f"{at}/repair", {"dry_run": True})) == (409, "CONFLICT")
    assert await work(database, fails=True) == 2
    planned = (await api.post(f"{at}/repair", {"dry_run": True})).json()
    assert planned["run"]["state"] == "failed"
    assert [one["error"] for one in planned["steps"]] == ["no voice", "no voice"]
    failed = planned["steps"][0]["id"]
    done = (await api.post(f"{at}/steps/{failed}/retry")).json()
    assert ([one["id"] for one in done["steps"]], done["run"]["state"]) == ([failed], "running")
    assert await work(database) == 1
    assert (await api.get(at)).json()["state"] == "failed"
    assert (await api.post(f"{at}/repair", {})).json()["run"]["state"] == "running"
    assert await work(database) == 1
    assert (await api.get(at)).json()["output"] == {"messages": ["hi", "hi"]}
    first = await step(api, run["id"], "g")
    assert code(await api.post(f"{at}/steps/{first['id']}/retry")) == (409, "CONFLICT")
    assert (await api.post(f"{at}/steps/{first['id']}/rerun")).json()["run"]["state"] == "running"
    assert await work(database) == 1
    whole = (await api.get(f"{at}/tree")).json()["steps"][0]
    assert len((await api.post(f"{at}/steps/{whole['id']}/reset")).json()["steps"]) == 1
    assert await work(database) == 2
    assert (await api.get(at)).json()["state"] == "completed"
    said = {"state": "completed", "output": {"greeting": "by hand"}}
    last = await step(api, run["id"], "g")
    assert (await api.post(f"{at}/steps/{last['id']}/mark", said)).json()["state"] == "completed"
    assert "by hand" in (await api.get(at)).json()["output"]["messages"]
    assert code(await api.post(f"{at}/steps/{uuid.uuid4()}/retry")) == (404, "NOT_FOUND")


async def test_deeds_are_in_the_audit(api: Caller, database: Database) -> None:
    run = await started(api)
    at = f"/v1/runners/{run['id']}"
    await work(database, fails=True)
    await api.post(f"{at}/repair", {})
    await api.post(f"{at}/pause")
    async with database.once() as tx:
        found = [row[0] for row in await tx.rows("select action from weft.journal order by id")]
    assert {"flow.create", "runner.start", "run.repair", "run.pause"} <= set(found)


@pytest.mark.parametrize("role", ["reader", "worker"])
async def test_who_may_not_write_changes_nothing(api: Caller, role: str) -> None:
    run = await started(api)
    assert code(await api.post("/v1/flows", FLOW, role=role)) == (403, "FORBIDDEN")
    assert code(await api.post(f"/v1/runners/{run['id']}/cancel", role=role)) == (403, "FORBIDDEN")
    assert code(await api.get(f"/v1/runners/{run['id']}", role="other:admin")) == (404, "NOT_FOUND")


async def test_a_run_of_another_kind_is_no_runner(api: Caller) -> None:
    dag = {"name": "d", "tasks": [{"name": "a", "payload": {"task": "t"}}]}
    await api.post("/v1/dags", dag)
    run = (await api.post("/v1/dags/d/trigger", {})).json()["dag_run_id"]
    assert code(await api.get(f"/v1/runners/{run}")) == (404, "NOT_FOUND")
