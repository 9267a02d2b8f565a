"""The server of HTTP agents dies at every point where it has an AFL run in its hands: the run ends as if nobody had."""

import asyncio
import json
import signal
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from cli_process import Program, run, weft
from test_http_processes import address, ask, until

sys.path.append(str(Path(__file__).parent.parent / "afl"))
import afl_programs

HERE = Path(__file__).parent
PROGRAM = """
namespace n {
    event facet Twice(k: Int) => (v: Int) with Retry(maxAttempts = 9, backoffMs = 1)
    event facet Never() => (v: Int)
    workflow W(all: [Int]) => (each: [Int], caught: String, picked: Int, counted: Int)
        andThen foreach x in $.all {
            a = Twice(k = x)
            b = Twice(k = a.v)
            yield W(each = b.v)
        } andThen {
            f = Never() catch { yield W(caught = error_type) }
            g = Twice(k = 5) andThen when {
                case g.v == 10 => { h = Twice(k = 6) yield W(picked = h.v) }
                case _ => { yield W(picked = 0) }
            }
        } andThen script { result["counted"] = len(params["all"]) }
}
"""
PARAMS = {"all": [1, 2, 3]}
OUTCOME = {"each": [4, 8, 12], "caught": "ValueError", "picked": 12, "counted": 3}
TASKS = 3 * 2 + 3 + 1
POINTS = (
    "advance: decided", "advance: written", "advance: decided#3", "advance: written#4", "settle: between statements",
    "settle: between statements#4", "claim: answered",
)  # fmt: skip
"""Of those in `weft.base.crash` all that a server comes to with a run in its hands: it starts runs, hands out their tasks
and takes the results. The first two are in the start itself."""


async def key(url: str, role: str) -> str:
    code, said = await run("key", "create", role, "--role", role, "--json", env={"DATABASE_URL": url})
    assert code == 0, said
    return str(json.loads(said[said.index("{") :])["key"])


def start(url: str, token: str, name: str) -> str | None:
    """A run, started over HTTP under one key, however often it is asked for. None if there was no answer."""
    asked = urllib.request.Request(
        f"{url}/v1/runners", json.dumps({"flow": "flow", "workflow": "W", "params": PARAMS}).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": name.replace(" ", "-")},
    )  # fmt: skip
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return str(json.load(answer)["id"])
    except urllib.error.HTTPError:
        raise
    except (urllib.error.URLError, ConnectionError):
        return None


async def killed(server: Program, point: str) -> None:
    try:
        code = await server.ends()
    except TimeoutError:
        raise AssertionError(f"nobody died at {point!r}: {server.said}") from None
    assert code == -signal.SIGKILL, server.said


@pytest.mark.chaos
async def test_runs_whose_server_dies_anywhere_end_with_the_same_outcome(database_url: str, folder: Path) -> None:
    here: dict[str, Any] = {"DATABASE_URL": database_url}
    assert afl_programs.run(PROGRAM, PARAMS, Twice=lambda args: {"v": args["k"] * 2}, Never=fails) == OUTCOME
    (folder / "flow.afl").write_text(PROGRAM)
    code, said = await run("afl", "submit", str(folder / "flow.afl"), "--name", "flow", env=here)
    assert code == 0, said
    worker, operator = await key(database_url, "worker"), await key(database_url, "operator")
    async with weft("server", "--port", "0", env=here) as server:
        url = await address(server)
    port = url.rpartition(":")[2]
    env = {"WEFT_KEY": worker, "HTTP_DIARY": str(folder / "diary")}
    runs = []
    async with weft("agent", "run", "http_agent", "--http", url, env=env, cwd=HERE) as agent:
        for point in POINTS:
            async with weft("server", "--port", port, env={**here, "WEFT_CRASH_AT": point}) as victim:
                await victim.says("weft server is ready")
                told = await asyncio.to_thread(start, url, operator, point)
                await killed(victim, point)
            async with weft("server", "--port", port, env=here) as healthy:
                await address(healthy)
                again = await asyncio.to_thread(start, url, operator, point)
                assert again is not None and told in (None, again)
                runs.append(again)
                await until(lambda: ask(database_url, "select count(*) from weft.runs where finished_at is null") == [(0,)])
        agent.send(signal.SIGTERM)
        await agent.ends()
    found = ask(database_url, "select id::text, state, output from weft.runs order by id")
    assert found == [(one, "completed", OUTCOME) for one in runs]
    ended = "select count(distinct step_id), count(*) from weft.task_history where run_id is not null"
    assert ask(database_url, ended) == [(TASKS * len(runs), TASKS * len(runs))]
    assert ask(database_url, "select count(*) from weft.tasks") == [(0,)]


def fails(_args: Any) -> Any:
    raise type("ValueError", (afl_programs.Failure,), {})("never")
