"""The same shapes in Dagster's best local mode, in process, with a local instance: `dagster_dags.py SIZES`."""

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


def main(width: int, length: int, count: int) -> None:
    took = {}
    with DagsterInstance.local_temp() as instance:
        _chain(2).execute_in_process(instance=instance)
        for name, shape, tasks, times in (
            ("fan", _fan(width), width + 2, 1), ("chain", _chain(length), length, 1), ("many", _fan(8), 10 * count, count),
        ):  # fmt: skip
            began = time.perf_counter()
            for _ in range(times):
                assert shape.execute_in_process(instance=instance).success
            took[name] = (time.perf_counter() - began) / tasks
    print(json.dumps({f"{name}_ms": seconds * 1000 for name, seconds in took.items()}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
