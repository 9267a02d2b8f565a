"""The connection is cut while a run goes on: whatever was handed over, told or written, each node ends once."""

import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cutting
import pytest
from crowd import rows, say, until, value
from cutter import PLACES, SIDES
from cutting import QUEUE, Point, Scene, sent
from witness import Witness

from weft.base import errors
from weft.db import statements

FLOWS = statements.load("weft.flows")


async def trigger(scene: Scene) -> None:
    await scene.safe.dags.trigger("diamond")


async def begin(scene: Scene) -> None:
    """In the worker's own process, which has what is ready without a claim. Who is not told must take nothing as done."""
    try:
        await scene.app.dags.trigger("diamond")
    except errors.WeftError:
        await scene.safe.dags.trigger("diamond")


async def fail(scene: Scene) -> None:
    await scene.safe.dags.trigger("failing")


async def tell(scene: Scene) -> None:
    """A run that somebody else has left a fact for, of no step, so that it means nothing."""
    made = await scene.safe.dags.trigger("diamond")
    rows(scene.witness.url, LEFT, made.id)


LEFT = (
    "insert into weft.run_inbox (run_id, org_id, task_id, state, attempt) "
    "select r.id, r.org_id, gen_random_uuid(), 'completed', 1 from weft.runs as r where r.id = %s returning id"
)
STATEMENTS = (
    Point("lock of a run", sent(FLOWS.lock_runs), trigger),
    Point("ends of a run's tasks and steps", sent(FLOWS.complete_steps), trigger),
    Point("ends of a run's tasks that fail", sent(QUEUE.finish_held), fail),
    Point("steps of a run", sent(FLOWS.load_told), trigger),
    Point("facts that others left", sent(FLOWS.take_facts), tell),
    Point("what follows", sent(FLOWS.write_advance), trigger),
    Point("what follows, committed", r"(?i)^commit", trigger),
    Point("a run that begins beside the worker", sent(FLOWS.insert_run), begin),
    Point("its first tasks", sent(FLOWS.write_advance), begin),
    Point("its beginning, committed", r"(?i)^commit", begin),
)
POINTS = [dataclasses.replace(one, side=side, place=place) for one in STATEMENTS for side in SIDES for place in PLACES]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-cuts-") as made:
        yield Path(made)


def failing() -> dict[str, Any]:
    return {
        "name": "failing", "max_active_runs": 1000,
        "tasks": [{"name": "a", "payload": {"task": "checked", "args": {"k": "a", "fail": 100}},
                   "retry_config": {"max_attempts": 1}}],
    }  # fmt: skip


def diamond() -> dict[str, Any]:
    shape = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"]}
    return {
        "name": "diamond", "max_active_runs": 1000,
        "tasks": [
            {"name": name, "payload": {"task": "checked", "args": {"k": name}}, "dependencies": before,
             "retry_config": {"max_attempts": 20, "backoff_seconds": 0}}
            for name, before in shape.items()
        ],
    }  # fmt: skip


@pytest.mark.chaos
async def test_a_connection_cut_while_runs_go_on_loses_no_node_and_runs_none_twice(
    witness: Witness, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with cutting.scene(witness, folder) as scene:
        await scene.safe.dags.create(diamond())
        await scene.safe.dags.create(failing())
        for point in POINTS:
            await scene.suffer(point)
        await until(lambda: value(witness.url, "select count(*) from weft.runs where finished_at is null") == 0, within=120)
    found = dict(rows(witness.url, "select name || ' ' || state, count(*)::integer from weft.runs group by 1"))
    assert found.keys() == {"diamond completed", "failing failed"}
    runs = found["diamond completed"]
    assert sum(found.values()) >= len(POINTS)
    ended = "select count(*)::integer, count(distinct step_id)::integer from weft.task_history where state = 'completed'"
    assert rows(witness.url, ended) == [(5 * runs, 5 * runs)]
    assert value(witness.url, "select count(*) from weft.tasks") == 0
    await until(lambda: value(witness.url, "select count(*) from weft.run_inbox") == 0)
    say(capsys, f"{len(POINTS)} cuts while {runs} runs went on: each node once, every run completed")
