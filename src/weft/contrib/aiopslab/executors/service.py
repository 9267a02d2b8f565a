"""A server of AIOpsLab's own somewhere else: one request to its `/simulate`, which answers when the agent is done.

Its address is the worker's option, not the task's, so the SSRF guard is not asked.
"""

import time
from typing import Any

from weft.base import errors
from weft.client.client import Client
from weft.contrib.aiopslab.executors.problem import CannotRun, Json, Outcome, Problem, Say, solved


async def run(problem: Problem, say: Say) -> Outcome:
    url = problem.options.get("service_url")
    if not url:
        raise CannotRun("no service is configured; start the worker with --service-url http://host:port")
    asked = {
        **problem.agent_config, "problem_id": problem.problem_id, "max_steps": problem.max_steps,
        "agent_name": problem.agent_config.get("agent", "vllm"),
    }  # fmt: skip
    say.log(f"asking {url}/simulate", action="simulate", details={"agent_name": asked["agent_name"]})
    began = time.monotonic()
    async with Client(url, tries=1, timeout=4 * 3600) as client:
        try:
            answer: Any = await client.post("/simulate", asked)
        except errors.WeftError as error:
            raise CannotRun(f"{url}/simulate did not run it: {error.message}") from None
    if not isinstance(answer, dict):
        raise CannotRun(f"{url}/simulate answered something that is no object; is it an AIOpsLab service?")
    for turn in answer.get("trace") or ():
        if isinstance(turn, dict):
            say.said(str(turn.get("role", "agent")), str(turn.get("content", "")))
    told = answer.get("results")
    results: Json = told if isinstance(told, dict) else answer
    return Outcome(
        solved(results), {"results": results, "session_id": str(answer.get("session_id", ""))},
        {"seconds": round(time.monotonic() - began, 3)},
    )  # fmt: skip
