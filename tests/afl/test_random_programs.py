"""Random programs with every construct inside every other: what passes the checks is a valid plan and has one result."""

import os
import random

import pytest
from afl_programs import Failure, agent, build, running
from random_programs import Writer

TOTAL = int(os.environ.get("WEFT_AFL_FUZZ", "2400")) // 20
PARTS = max(3, TOTAL // 500)


def answers(kind: str, args: dict[str, object]) -> dict[str, object]:
    """Fails for some arguments, always for the same."""
    if len(str(args)) % 7 == 0:
        raise Failure(f"{kind} cannot do {len(str(args))}")
    return {"r": len(str(args)), "s": args.get("b")}


@pytest.mark.parametrize("part", range(PARTS))
def test_what_passes_the_checks_runs(part: int) -> None:
    dice = random.Random(part)
    passed = 0
    for _ in range(TOTAL // PARTS):
        text = Writer(dice).program()
        compiled = build(text)
        assert "plan" not in {one.rule for one in compiled.diagnostics}, "\n".join([*map(str, compiled.diagnostics), text])
        if not compiled.ok:
            continue
        passed += 1
        do = agent(**{name: (lambda args, name=name: answers(name, args)) for name in "EDXP"})
        results = []
        for seed in range(2):
            try:
                results.append(running.run(compiled.plans["n.W"], {}, do, seed=seed).result)
            except AssertionError as error:
                raise AssertionError(f"{error}\n{text}") from None
        states = {one.state for one in results if one is not None}
        assert len(states) == 1, text
        assert states == {"failed"} or results[0] == results[1], text
    assert passed * 3 > TOTAL // PARTS, "too many of these programs are wrong to learn something from them"
