"""The errors that docs/concepts/determinism.md promises are the ones you get, and nothing is lost by them."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from weft import App
from weft.base import errors
from weft.testing.inline import run_pending

PAGE = (Path(__file__).parents[2] / "docs/concepts/determinism.md").read_text()


@pytest.fixture
async def app(database_url: str) -> AsyncIterator[App]:
    async with App(database_url=database_url) as made:
        yield made


def promised(message: str) -> bool:
    """Whether one of the page's messages is part of this one; … stands for anything."""
    wanted = re.findall(r"\*([^*\n]{20,})\*", PAGE)
    return any(re.search(".*".join(map(re.escape, one.split("…"))), message) for one in wanted)


async def test_every_mistake_is_told_as_the_page_says(app: App) -> None:
    said: list[str] = []
    steps: list[str] = []
    answers: dict[str, Any] = {"json": object(), "size": "x" * (2 << 20)}

    @app.step
    async def charge() -> None: ...

    @app.step
    async def ship() -> None: ...

    @app.step
    async def big(which: str):  # type: ignore[no-untyped-def]
        return answers[which]

    @app.workflow
    async def foreign() -> None:
        await asyncio.sleep(1)

    @app.workflow
    async def twice() -> None:
        call = charge()
        await app.gather(call, call)

    @app.workflow
    async def fails(which: str) -> None:
        await big(which)

    @app.workflow(signals=["go"])
    async def waits() -> None:
        for name in steps:
            await {"charge": charge, "ship": ship}[name]()
        if steps:
            await app.wait_for("go")

    for workflow, arguments in ((foreign, ()), (twice, ()), (fails, ("json",)), (fails, ("size",))):
        run = await app.start(workflow, *arguments)
        await run_pending(app)
        found = await app.runs.get(run.id)
        assert found.state == ("failed" if arguments else "blocked")
        said.append((found.error or {})["message"])

    for changed in (["ship"], []):
        steps[:] = ["charge"]
        run = await app.start(waits)
        await run_pending(app)
        steps[:] = changed
        await app.signal(run.id, "go")
        await run_pending(app)
        found = await app.runs.get(run.id)
        assert found.state == "blocked"
        said.append((found.error or {})["message"])
        with pytest.raises(errors.WeftError) as unknown:
            await app.signal(run.id, "other")
        said.append(str(unknown.value))
        # nothing was lost: with the code that began it, it ends
        steps[:] = ["charge"]
        await app.runs.resume(run.id)
        await run_pending(app)
        assert (await app.runs.get(run.id)).state == "completed"
        with pytest.raises(errors.Conflict) as over:
            await app.signal(run.id, "go")
        said.append(str(over.value))

    with pytest.raises(errors.InvalidInput) as reused:
        app.step(charge.function, name="big")
    said.append(str(reused.value))
    assert [one for one in said if not promised(one)] == []
