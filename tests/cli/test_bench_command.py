"""`weft bench` and `weft completion`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from shell import Shell

ENV = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


async def test_bench_measures_and_says_what_it_leaves(database_url: str) -> None:
    weft = Shell(DATABASE_URL=database_url)
    code, said = await weft("bench", "--tasks", "100")
    assert code == 1 and "This leaves 100 finished tasks in the history" in said
    measured = await weft.json("bench", "--tasks", "200", "--seconds", "1", "--yes")
    assert measured["tasks"] == 200
    assert all(measured[name] > 0 for name in ("enqueue_per_second", "drain_per_second", "latency_median", "latency_99"))
    assert measured["transactions_per_thousand"] >= 0
    assert len(await weft.json("tasks", "--kind", "weft.bench", "--state", "completed", "--limit", "1000")) == 400


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
async def test_a_completion_script_calls_weft(shell: str) -> None:
    code, said = await Shell()("completion", shell)
    assert code == 0 and "_WEFT_COMPLETE" in said and "weft" in said


def test_commands_and_options_are_completed() -> None:
    script = """
        eval "$(weft completion bash)"
        COMP_WORDS=(weft ta); COMP_CWORD=1; _weft_completion weft; echo "${COMPREPLY[@]}"
        COMPREPLY=(); COMP_WORDS=(weft tasks list --st); COMP_CWORD=3; _weft_completion weft; echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True, env=ENV)
    assert done.stdout.split() == ["tasks", "--state"]
