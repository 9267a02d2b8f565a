"""The connection is cut at the statements that only AFL's runs need: each run ends, with one outcome."""

import contextlib
import dataclasses
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cutting
import pytest
from crowd import rows, say, until, value
from cutter import PLACES, SIDES
from cutting import Point, Scene, sent
from witness import Witness

from weft import flows
from weft.base import errors
from weft.db import statements
from weft.flows import beginning

FLOWS = statements.load("weft.flows")
NODES = 120
"""More than a block has that is read whenever one of its steps ends."""
PROGRAM = """
event facet checked(k: String) => (attempt: Int) with Retry(maxAttempts = 20, backoffMs = 1)
namespace n {
    workflow W(all: String) => (each: [String], said: [String]) andThen {
        a = checked(k = "a") andThen foreach v in $.all { yield W(each = v) }
    } andThen foreach v in ["x", "y"] { b = checked(k = v) c = checked(k = b.k) yield W(said = c.k) }
    workflow Wide() => (said: String) andThen { NODES yield Wide(said = s7.k) }
}
""".replace("NODES", " ".join(f's{number} = checked(k = "{number}")' for number in range(NODES)))
LETTERS = "abcdefgh" * 15
OUTCOMES = {"n.W": {"each": list(LETTERS), "said": ["x", "y"]}, "n.Wide": {"said": "7"}}
TASKS = {"n.W": 5, "n.Wide": NODES}


async def begin(scene: Scene) -> None:
    await scene.safe.flows.start("flow", "W", {"all": LETTERS})


async def begin_wide(scene: Scene) -> None:
    await scene.safe.flows.start("flow", "Wide")


async def begin_and_do_again(scene: Scene) -> None:
    """The last task of a run that is over once more, asked for again after a doubt, as a client would."""
    run = (await scene.safe.flows.start("flow", "W", {"all": LETTERS})).id
    url = scene.witness.url
    await until(lambda: value(url, f"select finished_at is not null from weft.runs where id = '{run}'"))
    [last] = rows(url, f"select id from weft.steps where run_id = '{run}' and node = 'c' order by id desc limit 1")
    try:
        await scene.app.runs.rerun_from(run, last[0])
    except errors.WeftError:
        with contextlib.suppress(errors.Conflict):  # it was heard
            await scene.safe.runs.rerun_from(run, last[0])


STATEMENTS = (
    Point("steps that ended, and blocks around", sent(FLOWS.load_told), begin),
    Point("blocks around what is done again", sent(FLOWS.load_frames), begin_and_do_again),
    Point("steps that are named", sent(FLOWS.load_steps), begin),
    Point("outputs of elements", sent(FLOWS.load_elements), begin),
    Point("more elements, later", sent(FLOWS.leave_for_later), begin),
    Point("steps that are only counted", sent(FLOWS.count_ended), begin_wide),
)
POINTS = [dataclasses.replace(one, side=side, place=place) for one in STATEMENTS for side in SIDES for place in PLACES]

ELSEWHERE = {
    "take_facts", "write_advance", "complete_steps",  # test_runs_cut.py
    "save_program", "save_statements", "save_workflows",  # of clients, in one transaction
}  # fmt: skip
"""Statements that advance runs or keep programs, change something, and are not cut here."""


def test_every_statement_of_afl_that_changes_something_is_cut_or_said_not_to_be() -> None:
    changes = re.compile(r"\b(insert into|update|delete from) weft\.")
    folder = Path(flows.__file__).parent / "queries"
    texts = [(folder / f"{one}.sql").read_text() for one in ("advance", "ended", "programs")]
    names = re.findall(r"-- name: (\w+)", "".join(texts))
    cut = {one.statement for one in STATEMENTS}
    assert {one for one in names if changes.search(FLOWS.texts[one]) and sent(FLOWS.texts[one]) not in cut} == ELSEWHERE


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-cuts-") as made:
        yield Path(made)


@pytest.mark.long
async def test_a_connection_cut_while_afl_runs_go_on_changes_no_outcome(
    witness: Witness, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # so that little is enough to be cut into several advances
    monkeypatch.setattr(beginning, "SLICE", 20)
    monkeypatch.setattr(beginning, "MOST_MADE", 50)
    async with cutting.scene(witness, folder) as scene:
        await scene.safe.flows.save(source=PROGRAM, name="flow")
        for point in POINTS:
            await scene.suffer(point)
        await until(lambda: value(witness.url, "select count(*) from weft.runs where finished_at is null") == 0, within=120)
    found = rows(witness.url, "select name, state, output from weft.runs")
    assert len(found) >= len(POINTS)
    assert [one for one in found if one[1:] != ("completed", OUTCOMES[one[0]])] == []
    tasks = sum(TASKS[name] for name, _, _ in found)
    again = value(witness.url, "select count(*)::integer from weft.journal where action = 'run.rerun_from'")
    assert again >= len(SIDES) * len(PLACES)
    ended = "select count(*)::integer, count(distinct step_id)::integer from weft.task_history where state = 'completed'"
    assert rows(witness.url, ended) == [(tasks + again, tasks)]
    assert value(witness.url, "select count(*) from weft.tasks") == 0
    await until(lambda: value(witness.url, "select count(*) from weft.run_inbox") == 0)
    say(capsys, f"{len(POINTS)} cuts while {len(found)} AFL runs went on: each task once, one outcome")
