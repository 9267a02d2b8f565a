"""Whole runs of any plan with nested blocks: each ends, and how does not depend on who is faster."""

import zlib
from typing import Any

import running
from any_plan import plans
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.plan import check, model
from weft.plan.model import Plan


@settings(deadline=None, max_examples=150)
@given(plan=plans(), failing=st.integers(0, 7), seeds=st.tuples(st.integers(0, 999), st.integers(0, 999)))
def test_every_run_of_nested_blocks_ends_the_same_way(plan: Plan, failing: int, seeds: tuple[int, int]) -> None:
    assert check.problems(plan) == []

    def do(_kind: str, args: dict[str, Any]) -> Any:
        if zlib.crc32(str(args).encode()) % 8 < failing:
            raise running.Failure("told to")
        return args["n"]

    one, other = (running.run(plan, {"given": 3}, do, seed=seed) for seed in seeds)
    assert one.result is not None and other.result is not None
    assert (one.result.state, one.result.output) == (other.result.state, other.result.output)
    assert sorted(one.log) == sorted(other.log)
    assert [(path, one.steps[path].state) for path in sorted(one.steps)] == [
        (path, other.steps[path].state) for path in sorted(other.steps)
    ]
    assert model.decode(model.encode(plan)) == plan
