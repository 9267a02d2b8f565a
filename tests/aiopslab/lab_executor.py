"""Executors one that listens to nothing, one that cleans up, one that shows its environment, two that break."""

import asyncio
import os
import signal
import subprocess
import sys

from weft.contrib.aiopslab.executors.problem import Outcome, Problem, Say


async def stubborn(problem: Problem, say: Say) -> Outcome:
    """Ignores polite signals, and has a child that does too. Its processes are named in the file of the agent's config."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    program = "import signal, time; signal.signal(2, signal.SIG_IGN); time.sleep(3600)"
    other = subprocess.Popen([sys.executable, "-c", program])  # noqa: ASYNC220
    with open(problem.agent_config["pids"], "w", encoding="utf-8") as file:  # noqa: ASYNC230 (a test's own process)
        file.write(f"{os.getpid()} {other.pid}")
    say.log("started")
    while True:
        await asyncio.sleep(1)


async def polite(problem: Problem, say: Say) -> Outcome:
    """Cleans up when interrupted."""
    say.log("started")
    try:
        await asyncio.sleep(3600)
    finally:
        with open(problem.agent_config["note"], "w", encoding="utf-8") as file:  # noqa: ASYNC230
            file.write("cleaned up")
    return Outcome(True, {})


async def environment(problem: Problem, say: Say) -> Outcome:
    print("printed", problem.problem_id)
    print("complained", file=sys.stderr)
    say.said("assistant", "hello")
    return Outcome(False, {"environ": dict(os.environ)}, {"steps": 3})


async def dying(_problem: Problem, _say: Say) -> Outcome:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


async def breaking(_problem: Problem, _say: Say) -> Outcome:
    raise ZeroDivisionError("no cluster today")
