"""Each mistake one can make with a workflow, as a worker meets it and HTTP tells of it: what is wrong, what to do about it,
and nothing is lost by it: the run goes on, or can be repaired."""

import asyncio
import uuid
from typing import Any

import pytest
from calling import Caller, code

from weft import App

PATIENCE = 60.0


class Shop:
    """An app whose code is changed while its runs are under way."""

    def __init__(self, url: str) -> None:
        self.app = App(database_url=url)
        self.version = "first"
        self.answers: dict[str, Any] = {"json": object(), "size": "x" * (2 << 20)}
        app = self.app

        @app.step
        async def charge() -> str:
            return "charged"

        @app.step
        async def bill() -> str:
            return "billed"

        @app.step(retries=3)
        async def answer(which: str):  # type: ignore[no-untyped-def]
            return self.answers[which]

        @app.workflow(signals=["go"])
        async def renames() -> str:
            paid = await (charge() if self.version == "first" else bill())
            await app.wait_for("go")
            return paid

        @app.workflow(signals=["go"])
        async def reuses() -> str:
            paid = await (charge if self.version == "first" else bill).keyed("payment")()
            await app.wait_for("go")
            return paid

        @app.workflow
        async def twice() -> None:
            await charge.keyed("payment")()
            await bill.keyed("payment")()

        @app.workflow
        async def answers(which: str) -> Any:
            return await answer(which)


@pytest.fixture
async def shop(database_url: str) -> Any:
    made = Shop(database_url)
    async with made.app, made.app.worker(concurrency=2):
        yield made


async def reaches(api: Caller, run: str, *states: str) -> dict[str, Any]:
    """The run as HTTP shows it once it is in one of these states."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found: dict[str, Any] = (await api.get(f"/v1/runs/{run}")).json()
            if found["state"] in states:
                return found
            await asyncio.sleep(0.05)


async def started(api: Caller, name: str, **arguments: Any) -> str:
    made = await api.post(f"/v1/workflows/{name}/start", {"arguments": arguments})
    assert made.status_code == 201, made.text
    return str(made.json()["run_id"])


async def test_code_that_does_not_fit_blocks_the_run_until_it_does(api: Caller, shop: Shop) -> None:
    run = await started(api, "renames")
    await reaches(api, run, "waiting")
    shop.version = "second"
    await api.post(f"/v1/runs/{run}/signal", {"name": "go"})
    message = (await reaches(api, run, "blocked"))["error"]["message"]
    assert "history has step 'charge' at 1, where the code asks for step 'bill' at 1" in message
    assert "patched() or version=" in message
    why = (await api.get(f"/v1/runs/{run}/explain")).json()
    assert (why["code"], "resume" in why["summary"]) == ("blocked", True)
    kept = (await api.get(f"/v1/runs/{run}/checkpoints")).json()["items"]
    assert [(one["node"], one["state"], one["output"]) for one in kept] == [("charge#1", "completed", "charged")]
    shop.version = "first"
    assert (await api.post(f"/v1/runs/{run}/resume")).status_code == 200
    # the signal was not lost either
    assert (await reaches(api, run, "completed"))["output"] == "charged"


async def test_a_key_that_another_step_has_is_refused(api: Caller, shop: Shop) -> None:
    run = await started(api, "reuses")
    await reaches(api, run, "waiting")
    shop.version = "second"
    await api.post(f"/v1/runs/{run}/signal", {"name": "go"})
    message = (await reaches(api, run, "blocked"))["error"]["message"]
    assert "history has step 'charge' at =payment, where the code asks for step 'bill' at =payment" in message
    shop.version = "first"
    await api.post(f"/v1/runs/{run}/resume")
    assert (await reaches(api, run, "completed"))["output"] == "charged"
    failed = await reaches(api, await started(api, "twice"), "failed")
    assert "the key 'payment' is used twice in this run; each call needs its own" in failed["error"]["message"]


@pytest.mark.parametrize(
    ("which", "wrong", "fix", "mended"),
    [
        ("json", "the result of step 'answer' cannot be written as JSON", "", [1]),
        ("size", "is 2,097,154 bytes of JSON, the limit is 262,144", "store the data elsewhere and pass a reference", "s"),
    ],
)  # fmt: skip
async def test_a_result_that_cannot_be_kept_fails_the_step_at_once_and_can_be_tried_again(
    api: Caller, shop: Shop, which: str, wrong: str, fix: str, mended: Any
) -> None:
    run = await started(api, "answers", which=which)
    message = (await reaches(api, run, "failed"))["error"]["message"]
    assert wrong in message and fix in message
    [step] = (await api.get(f"/v1/runs/{run}/checkpoints")).json()["items"]
    assert (step["state"], step["attempt"]) == ("failed", 1), "to try it again would have been in vain"
    shop.answers[which] = mended
    assert (await api.post(f"/v1/runs/{run}/retry")).json()["step"] == "answer#1"
    assert (await reaches(api, run, "completed"))["output"] == mended


async def test_a_signal_that_nobody_takes_is_refused_and_changes_nothing(api: Caller, shop: Shop) -> None:
    run = await started(api, "renames")
    await reaches(api, run, "waiting")
    unknown = await api.post(f"/v1/runs/{run}/signal", {"name": "gone"})
    assert code(unknown) == (400, "INVALID_INPUT")
    assert "takes no signal 'gone'; it takes: go" in unknown.json()["error"]["message"]
    assert (await api.get(f"/v1/runs/{run}")).json()["state"] == "waiting"
    assert (await api.post(f"/v1/runs/{run}/signal", {"name": "go"})).status_code == 204
    before = await reaches(api, run, "completed")
    late = await api.post(f"/v1/runs/{run}/signal", {"name": "go"})
    assert code(late) == (409, "CONFLICT")
    message = late.json()["error"]["message"]
    assert "has ended; nothing can be sent to it any more" in message and f"weft run fork {run}" in message
    assert (await api.get(f"/v1/runs/{run}")).json() == before
    nobody = await api.post(f"/v1/runs/{uuid.uuid4()}/signal", {"name": "go"})
    assert code(nobody) == (404, "NOT_FOUND")
