"""The real AIOpsLab package, if it is installed where the worker runs: register the agent, init the problem, start it.

Agents are named by whoever starts the worker (`--agent gpt=my_agents:GptAgent`); a task only chooses one of the names, so
that no request can make a worker import something.
"""

import importlib
import inspect
import time
from typing import Any

from weft.contrib.aiopslab.executors.problem import CannotRun, Json, Outcome, Problem, Say, solved


async def run(problem: Problem, say: Say) -> Outcome:
    """Runs it; CannotRun if there is no package, no such agent, or no such problem."""
    try:
        package = importlib.import_module("aiopslab.orchestrator")
    except ImportError as error:
        raise CannotRun(f"the package aiopslab cannot be imported here ({error}); install it beside the worker") from None
    name, agent = _agent(problem)
    orchestrator = package.Orchestrator()
    orchestrator.register_agent(Recorded(agent, say), name=name)
    say.log(f"setting up {problem.problem_id}", action="init_problem")
    try:
        description, instructions, apis = orchestrator.init_problem(problem.problem_id)
    except (KeyError, ValueError) as error:
        raise CannotRun(f"there is no problem {problem.problem_id!r}: {error}") from None
    if hasattr(agent, "init_context"):
        agent.init_context(description, instructions, apis)
    say.said("system", f"{description}\n\n{instructions}")
    say.log(f"starting {problem.problem_id}", action="start_problem", details={"max_steps": problem.max_steps})
    began = time.monotonic()
    ended: Json = await orchestrator.start_problem(max_steps=problem.max_steps)
    results: Json = ended.get("results") or {}
    return Outcome(
        solved(results),
        {"results": _plain(results), "final_state": str(ended.get("final_state", "")), "agent": name},
        {"seconds": round(time.monotonic() - began, 3), **_numbers(results)},
    )  # fmt: skip


class Recorded:
    """An agent whose conversation is kept."""

    def __init__(self, agent: Any, say: Say) -> None:
        self._agent = agent
        self._say = say
        self._step = 0

    async def get_action(self, state: str) -> str:
        self._step += 1
        self._say.said("user", str(state))
        action = self._agent.get_action(state)
        if inspect.isawaitable(action):
            action = await action
        self._say.said("assistant", str(action))
        self._say.log(str(action)[:500], step=self._step, action="get_action")
        return str(action)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._agent, name)


def _agent(problem: Problem) -> tuple[str, Any]:
    known: dict[str, str] = problem.options.get("agents") or {}
    if not known:
        raise CannotRun("this worker has no agents; start it with --agent NAME=module:Class")
    wanted = problem.agent_config.get("agent", next(iter(known)))
    if wanted not in known:
        raise CannotRun(f"this worker has no agent {wanted!r}; it has {', '.join(known)}")
    module, _, attribute = known[wanted].partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CannotRun(f"the agent {wanted} cannot be imported from {known[wanted]}: {error}") from None
    return wanted, made()


def _plain(results: Json) -> Json:
    """What JSON can say."""
    return {str(name): value if isinstance(value, str | int | float | bool | None) else str(value)
            for name, value in results.items()}  # fmt: skip


def _numbers(results: Json) -> Json:
    return {str(name): value for name, value in results.items() if isinstance(value, int | float)}
