"""What the tests of AFL share: a program compiled, and run in memory by the pure rooms alone."""

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from weft.afl import compiling
from weft.afl.compiling import Compiled
from weft.afl.source import Source
from weft.plan import model

sys.path.append(str(Path(__file__).parent.parent / "plan"))
import running
from running import Failure, Known

__all__ = ["Failure", "Known", "agent", "arguments", "build", "clean", "meanings", "rules", "run", "running"]

SEEDS = range(5)


def build(text: str, *more: str, allow_external: bool = False) -> Compiled:
    """One file, and perhaps others."""
    sources = [Source(f"{number}.afl" if number else "main.afl", one) for number, one in enumerate((text, *more))]
    return compiling.compile_sources(sources, allow_external=allow_external)


def rules(text: str, *more: str, allow_external: bool = False) -> list[str]:
    return [one.rule for one in build(text, *more, allow_external=allow_external).diagnostics]


def clean(text: str, *more: str) -> Compiled:
    compiled = build(text, *more)
    assert compiled.ok, "\n".join(map(str, compiled.diagnostics))
    return compiled


def meanings(compiled: Compiled) -> dict[str, str]:
    """Each plan, but for the lines on which its scripts stand: these are not what it means."""
    found = {name: model.encode(plan).decode() for name, plan in compiled.plans.items()}
    return {name: re.sub(r'"line":\["value",\d+\]', "", text) for name, text in found.items()}


def arguments(test: Any) -> Iterator[dict[str, Any]]:
    """What a parametrised test is called with, each time."""
    tables = []
    for mark in getattr(test, "pytestmark", []):
        names, values = mark.args
        named = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
        tables.append([dict(zip(named, one if len(named) > 1 else (one,), strict=True)) for one in values])
    for chosen in itertools.product(*tables):
        yield {name: value for one in chosen for name, value in one.items()}


def agent(**answers: Any) -> Callable[[str, Any], Any]:
    """Does what tasks ask: by the short name of the facet; scripts are run as they are, with `params` and `result`."""

    def do(kind: str, args: Any) -> Any:
        if kind == "afl.script":
            names: dict[str, Any] = {"params": args["params"], "result": {}}
            try:
                exec(args["code"], names)
            except Exception as error:  # noqa: BLE001
                raise Failure(str(error)) from None
            return names["result"]
        if kind == "afl.prompt":
            kind, args = args["facet"], args["params"]
        answer = answers[kind.rpartition(".")[2]]
        return answer(args) if callable(answer) else answer

    return do


def run(text: str, params: dict[str, Any] | None = None, *, name: str = "n.W", **answers: Any) -> Any:
    """The outputs of a workflow, whoever is faster; or the error's message if it fails."""
    compiled = clean(text)
    found = [running.run(compiled.plans[name], params or {}, agent(**answers), seed=seed) for seed in SEEDS]
    assert all(one.result == found[0].result for one in found)
    result = found[0].result
    assert result is not None
    return result.output if result.state == "completed" else f"failed: {result.error['message']}"
