"""Workflows over HTTP."""

import uuid
from typing import Any

from calling import Caller, code

from weft import App
from weft.testing.inline import run_pending


def declared(url: str) -> App:
    app = App(database_url=url)

    @app.step
    async def charge(cents: int) -> str:
        if cents < 0:
            raise ValueError("less than nothing")
        return f"p-{cents}"

    @app.workflow(version="2", signals=["approval"])
    async def checkout(cents: int) -> list[Any]:
        app.set_state("charging")
        payment = await charge(cents)
        app.set_state("waiting")
        return [payment, await app.wait_for("approval")]

    return app


async def test_a_workflow_is_started_looked_at_and_signalled(api: Caller, database_url: str) -> None:
    async with declared(database_url) as app:
        await run_pending(app)
        listed = (await api.get("/v1/workflows")).json()["items"]
        assert [(one["name"], one["version"], one["signals"]) for one in listed] == [("checkout", "2", ["approval"])]
        assert listed[0]["schema"] == {
            "type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]
        }  # fmt: skip
        made = await api.post("/v1/workflows/checkout/start", {"arguments": {"cents": 5}, "key": "k"})
        assert made.status_code == 201
        run = made.json()["run_id"]
        again = await api.post("/v1/workflows/checkout/start", {"arguments": {"cents": 5}, "key": "k"})
        assert (again.status_code, again.json()) == (200, {"run_id": run, "created": False})
        await run_pending(app)
        assert (await api.get(f"/v1/runs/{run}")).json()["state"] == "waiting"
        assert (await api.get(f"/v1/runs/{run}/state")).json() == {"state": "waiting", "running": []}
        why = (await api.get(f"/v1/runs/{run}/explain")).json()
        assert (why["code"], "waits for a signal" in why["summary"]) == ("waiting", True)
        assert [one["node"] for one in (await api.get(f"/v1/runs/{run}/checkpoints")).json()["items"]] == ["charge#1"]
        assert code(await api.post(f"/v1/runs/{run}/signal", {"name": "other"})) == (400, "INVALID_INPUT")
        once = {"idempotency-key": "once"}
        for _ in range(2):
            sent = await api.post(f"/v1/runs/{run}/signal", {"name": "approval", "value": True}, headers=once)
            assert sent.status_code == 204
        async with app.tx() as tx:
            assert await tx.value("select count(*) from weft.messages") == 1
        await run_pending(app)
        assert (await api.get(f"/v1/runs/{run}")).json()["output"] == ["p-5", True]
        assert code(await api.post(f"/v1/runs/{run}/signal", {"name": "approval"})) == (409, "CONFLICT")
        wanted, twice = {"step": "approval#2", "outputs": {"charge#1": "free"}}, {"idempotency-key": "another"}
        forked, again = [await api.post(f"/v1/runs/{run}/fork", wanted, headers=twice) for _ in range(2)]
        assert (forked.status_code, forked.json()["id"]) == (201, again.json()["id"])
        found = (await api.get(f"/v1/runs/{run}/diff/{forked.json()['id']}")).json()["items"]
        assert [(one["node"], one["right"] and one["right"]["output"]) for one in found] == [
            ("charge#1", "free"), ("approval#2", None),
        ]  # fmt: skip


async def test_an_update_is_answered_over_http(api: Caller, database_url: str) -> None:
    async with App(database_url=database_url) as app:

        @app.workflow
        async def polite() -> None:
            while (request := await app.receive("ask")) is not None and request.value != "end":
                if request.value == "no":
                    app.refuse(request, "not this")
                else:
                    app.answer(request, [request.value])

        run = (await app.start(polite)).id
        at = f"/v1/runs/{run}"
        late = (await api.post(f"{at}/update", {"name": "ask", "value": 1, "wait": 0})).json()
        assert (late["answered"], late["value"]) == (False, None)
        async with app.worker(concurrency=1):
            answered = (await api.post(f"{at}/update", {"name": "ask", "value": 2, "wait": 60})).json()
            assert (answered["answered"], answered["value"]) == (True, [2])
            found = (await api.get(f"{at}/answer?update_id={late['update_id']}")).json()
            assert found == {"update_id": late["update_id"], "answered": True, "value": [1]}
            refused = await api.post(f"{at}/update", {"name": "ask", "value": "no", "wait": 60})
            assert (code(refused), "not this" in refused.text) == ((409, "CONFLICT"), True)
            unanswered = await api.post(f"{at}/update", {"name": "ask", "value": "end", "wait": 60})
            assert (code(unanswered), "has not answered" in unanswered.text) == ((409, "CONFLICT"), True)
        assert code(await api.get(f"/v1/runs/{uuid.uuid4()}/answer?update_id=1")) == (404, "NOT_FOUND")


async def test_runs_are_paused_cancelled_retried_and_skipped(api: Caller, database_url: str) -> None:
    async with declared(database_url) as app:
        await run_pending(app)
        start = "/v1/workflows/checkout/start"
        run = (await api.post(start, {"arguments": {"cents": 5}})).json()["run_id"]
        await run_pending(app)
        assert (await api.post(f"/v1/runs/{run}/pause")).json()["state"] == "paused"
        assert (await api.post(f"/v1/runs/{run}/resume")).json()["state"] == "running"
        assert code(await api.post(f"/v1/runs/{run}/retry"))[0] == 409
        assert (await api.post(f"/v1/runs/{run}/cancel", {})).status_code == 200
        await run_pending(app)
        assert (await api.get(f"/v1/runs/{run}")).json()["state"] == "cancelled"
        failed = (await api.post(start, {"arguments": {"cents": -1}})).json()["run_id"]
        await run_pending(app)
        assert (await api.post(f"/v1/runs/{failed}/retry")).json()["step"] == "charge#1"
        await run_pending(app)
        skipped = await api.post(f"/v1/runs/{failed}/skip", {"step": "charge#1", "result": "by hand"})
        assert skipped.json()["state"] == "running"
        await api.post(f"/v1/runs/{failed}/signal", {"name": "approval", "value": 1})
        await run_pending(app)
        assert (await api.get(f"/v1/runs/{failed}")).json()["output"] == ["by hand", 1]


async def test_what_is_not_there_is_said(api: Caller) -> None:
    assert code(await api.post("/v1/workflows/nothing/start", {})) == (404, "NOT_FOUND")
    nobody = uuid.uuid4()
    for verb in ("pause", "resume", "retry"):
        assert code(await api.post(f"/v1/runs/{nobody}/{verb}")) == (404, "NOT_FOUND")
    for verb, body in (("cancel", {}), ("signal", {"name": "a"}), ("skip", {"step": "a#1"}), ("fork", {})):
        assert code(await api.post(f"/v1/runs/{nobody}/{verb}", body)) == (404, "NOT_FOUND")
    for what in ("state", "checkpoints", f"diff/{nobody}"):
        assert code(await api.get(f"/v1/runs/{nobody}/{what}")) == (404, "NOT_FOUND")


async def test_a_run_of_a_dag_is_steered_in_the_same_way(api: Caller) -> None:
    await api.post("/v1/dags", {"name": "etl", "tasks": [{"name": "a", "payload": {"task": "mail"}}]})
    run = (await api.post("/v1/dags/etl/trigger", {})).json()["dag_run_id"]
    for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        answer = await api.post(f"/v1/runs/{run}/{verb}", {} if verb == "cancel" else None)
        assert (answer.status_code, answer.json()["state"]) == (200, state)
    assert code(await api.post(f"/v1/runs/{uuid.uuid4()}/pause")) == (404, "NOT_FOUND")


async def test_a_run_of_any_kind_that_stands_still_says_so_and_is_set_going_again(api: Caller, database_url: str) -> None:
    async with declared(database_url) as app:
        await run_pending(app)
        workflow = (await api.post("/v1/workflows/checkout/start", {"arguments": {"cents": 5}})).json()["run_id"]
        await run_pending(app)
        task = {"name": "only", "payload": {"task": "nobody"}}
        await api.post("/v1/dags", {"name": "d", "tasks": [task]})
        dag = (await api.post("/v1/dags/d/trigger", {})).json()["dag_run_id"]
        for run in (workflow, dag):
            assert (await api.get(f"/v1/runs/{run}")).json()["stalled_at"] is None
            assert code(await api.post(f"/v1/runs/{run}/repair", {})) == (409, "CONFLICT")
        async with app.tx() as tx:
            await tx.run("delete from weft.tasks")
            await tx.run("update weft.runs set stalled_at = weft.now()")
        for run in (workflow, dag):
            assert (await api.get(f"/v1/runs/{run}/explain")).json()["code"] == "stuck"
            assert (await api.get(f"/v1/runs/{run}")).json()["stalled_at"] is not None
        assert (await api.get(f"/v1/dag-runs/{dag}")).json()["stalled_at"] is not None
        planned = (await api.post(f"/v1/runs/{dag}/repair", {"dry_run": True})).json()
        assert [(one["path"], one["state"]) for one in planned["steps"]] == [("only", "running")]
        for run, steps in ((workflow, []), (dag, planned["steps"])):
            mended = (await api.post(f"/v1/runs/{run}/repair", {})).json()
            assert (mended["run"]["stalled_at"], mended["steps"]) == (None, steps)
            assert (await api.get(f"/v1/runs/{run}/explain")).json()["code"] != "stuck"
            assert "run.repair" in [one["action"] for one in (await api.get(f"/v1/runs/{run}/events")).json()["items"]]
        await api.post(f"/v1/runs/{workflow}/signal", {"name": "approval", "value": True})
        await run_pending(app)
        assert (await api.get(f"/v1/runs/{workflow}")).json()["output"] == ["p-5", True]
