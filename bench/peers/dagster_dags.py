"""The same shapes in Dagster's best local mode, in process, with a local instance: `dagster_dags.py SHAPE SIZE`."""

import json
import sys
import time

from dagster import DagsterInstance, In, Nothing, Out, job, op


@op(out=Out(Nothing))
def first() -> None:
    pass


@op(ins={"before": In(Nothing)}, out=Out(Nothing))
def after() -> None:
    pass


def _fan(width: int):  # type: ignore[no-untyped-def]
    @job
    def fan() -> None:
        begin = first()
        after.alias("last")([after.alias(f"t{number}")(begin) for number in range(width)])

    return fan


def _chain(length: int):  # type: ignore[no-untyped-def]
    @job
    def chain() -> None:
        link = first()
        for number in range(length - 1):
            link = after.alias(f"t{number}")(link)

    return chain


SHAPES = {"fan": (_fan, 2, 1), "chain": (_chain, 0, 1), "many": (lambda _: _fan(8), 0, 10)}
"""What makes it, and how many tasks it has: those it always has, and those for each of its size."""


def main(shape: str, size: int) -> None:
    make, more, each = SHAPES[shape]
    made, times = make(size), size if shape == "many" else 1
    with DagsterInstance.local_temp() as instance:
        _chain(2).execute_in_process(instance=instance)
        began = time.perf_counter()
        for _ in range(times):
            assert made.execute_in_process(instance=instance).success
        print(json.dumps({"ms": (time.perf_counter() - began) / (more + each * size) * 1000}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
