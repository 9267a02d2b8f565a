"""Every construct of AFL on the real engine: all programs of tests/afl that run in memory and all examples run again, on a
database, with the same agents, and come to what the run in memory came to.
"""

import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.append(str(Path(__file__).parent.parent / "afl"))
import afl_programs
import test_examples_run
import test_found_in_the_wild
import test_meaning
import test_mended

from weft import App, Context
from weft.access import keyring, secrets
from weft.afl.source import Source
from weft.base import config, ids
from weft.flows import programs
from weft.flows.look import RunView
from weft.flows.programs import Program
from weft.flows.start import Wish
from weft.plan.model import Task
from weft.testing import inline


class Case(NamedTuple):
    name: str
    text: str
    workflow: str
    params: dict[str, Any]
    answers: dict[str, Any]
    expected: Any


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """What the tests of meaning ran, with which agents, and what it came to."""
    found: list[Case] = []
    label = ""

    def run(text: str, params: dict[str, Any] | None = None, *, name: str = "n.W", **answers: Any) -> Any:
        out = afl_programs.run(text, params, name=name, **answers)
        found.append(Case(label, text, name, params or {}, answers, out))
        return out

    for module in (test_meaning, test_found_in_the_wild, test_mended):
        monkeypatch.setattr(module, "run", run)
        for label, test in inspect.getmembers(module, inspect.isfunction):
            if label.startswith("test_"):
                for arguments in afl_programs.arguments(test):
                    test(**arguments)
    for file, name, params, agents, out in test_examples_run.RUNS:
        text = (test_examples_run.FOLDER / f"{file}.afl").read_text()
        found.append(Case(f"example {file}", text, name, params, agents, out))
    return found


def serve(app: App, cases: list[Case], compiled: list[Program]) -> None:
    """One handler for each kind; whose run it works for it knows by the correlation id."""
    kinds = {
        node.work.kind for one in compiled for plan in one.compiled.plans.values() for block in plan.blocks
        for node in block.nodes if isinstance(node.work, Task)
    }  # fmt: skip
    for kind in kinds - {"afl.script"}:

        async def work(ctx: Context, **args: Any) -> Any:
            case = cases[int(ctx.correlation_id.removeprefix("case "))]
            return afl_programs.agent(**case.answers)(ctx.kind, args)

        app.task(name=kind, fail_on=(Exception,))(work)


def outcome(run: RunView) -> Any:
    return run.output if run.state == "completed" else f"failed: {(run.error or {}).get('message')}"


async def test_every_construct_and_example_comes_to_the_same_on_a_database(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = recorded(monkeypatch)
    assert len(cases) > 90
    compiled = [programs.compile_flow([Source("main.afl", one.text)], name=f"case {number}")
                for number, one in enumerate(cases)]  # fmt: skip
    async with App(settings=config.Settings(database_url=database_url, secret_key=keyring.generate())) as app:
        serve(app, cases, compiled)
        async with app.tx() as tx:
            for name in ("GIT_TOKEN", "TOKEN"):
                ring = keyring.load(app.settings)
                await secrets.put(tx, ring, org=ids.DEFAULT_ORG, name=name, value="hidden words", actor="test")
        runs = []
        for number, (case, program) in enumerate(zip(cases, compiled, strict=True)):
            async with app.tx() as tx:
                saved = await programs.save(tx, program, org=ids.DEFAULT_ORG)
                chosen = await programs.workflow(tx, saved.definition, case.workflow)
                wish = Wish(params=case.params, correlation_id=f"case {number}")
                runs.append(await programs.start(tx, saved.definition, chosen, wish))
        await inline.run_pending(app, concurrency=20)
        wrong = []
        for case, run in zip(cases, runs, strict=True):
            found = await app.runs.get(run.id)
            if outcome(found) != case.expected:
                wrong.append((case.name, case.text, case.params, case.expected, found.state, found.output, found.error))
    assert not wrong, "\n".join(map(str, wrong))
