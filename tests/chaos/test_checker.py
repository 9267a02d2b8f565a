"""The checker itself: silent about every history of a queue that does everything right, and not about one that does not."""

import dataclasses
import json
from collections.abc import Callable

import checker
import pytest
from checker import Asked, Left, Ran
from decoding import Change
from hypothesis import assume, given
from hypothesis import strategies as st
from model import HARMED, Model

CHOICES = st.lists(
    st.tuples(
        st.sampled_from([
            "enqueue", "enqueue", "start", "claim", "claim", "claim", "say", "complete", "fail", "lose", "redrive", "sweep",
        ]),
        st.integers(0, 100),
    ),
    max_size=80,
)


def rules(model: Model, **more: object) -> set[str]:
    return {one.rule for one in checker.check(model.logs(**more))}


@given(CHOICES)
def test_a_queue_that_does_everything_right_is_not_accused(choices: list[tuple[str, int]]) -> None:
    assert checker.check(Model().follow(choices).logs()) == []


def a_running(model: Model) -> str:
    """A task that runs for the second time, whose first attempt lives on somewhere; whatever happened before."""
    model.enqueue(0)
    id = f"task {len(model.asked) - 1}"
    model.claim(id)
    model.lose(id)
    model.claim(id)
    return id


def replaced(model: Model, table: str, **columns: str | None) -> None:
    """The last change of a table said otherwise."""
    at = max(n for n, one in enumerate(model.changes) if one.table == table)
    model.changes[at] = dataclasses.replace(model.changes[at], new={**model.changes[at].new, **columns})


def stale_completion(model: Model) -> str:
    id = a_running(model)
    model.ran.append(Ran("end", id, HARMED, 1))
    model._end(id, state="completed", result=json.dumps({"attempt": 1}))
    return "stale"


def stale_progress(model: Model) -> str:
    model.say(a_running(model))
    replaced(model, "tasks", progress_message="attempt 1")
    return "stale"


def stale_line(model: Model) -> str:
    id = a_running(model)
    model.begin()
    model._change("task_logs", {}, {"task_id": id, "attempt": "1", "message": "attempt 1"})
    return "stale"


def line_after_the_end(model: Model) -> str:
    id = a_running(model)
    model.complete(id)
    model.begin()
    model._change("task_logs", {}, {"task_id": id, "attempt": "2", "message": "attempt 2"})
    return "stale"


def completed_without_running(model: Model) -> str:
    model._end(a_running(model), state="completed", result=json.dumps({"attempt": 2}))
    return "stale"


def deleted(model: Model) -> str:
    id = a_running(model)
    model.begin()
    model._change("tasks", model.tasks.pop(id), {})
    return "lost"


def acknowledged_nothing(model: Model) -> str:
    model.asked.append(Asked("nowhere", "ok", "task nowhere"))
    return "lost"


def made_twice(model: Model) -> str:
    id = a_running(model)
    model.begin()
    row = {**model.tasks[id], "id": f"{id} again", "state": "ready", "lease_token": None}
    model._change("tasks", {}, row)
    return "answers"


def refused_but_made(model: Model) -> str:
    a_running(model)
    model.asked[-1] = dataclasses.replace(model.asked[-1], verdict="failed")
    return "answers"


def ended_twice(model: Model) -> str:
    id = a_running(model)
    model.complete(id)
    model.begin()
    model._change("task_history", {}, model.history[id])
    return "double"


def resurrected(model: Model) -> str:
    id = a_running(model)
    model.complete(id)
    model.begin()
    model._change("tasks", {}, {**model.history[id], "state": "ready", "lease_token": None})
    return "double"


def in_two_places(model: Model) -> str:
    id = a_running(model)
    row = model.tasks[id]
    model.fail(id)
    model.changes.remove(next(one for one in model.changes if one.operation == "delete" and one.old == row))
    return "double"


def ran_twice(model: Model) -> str:
    model.ran.append(Ran("start", a_running(model), HARMED + 1, 2))
    return "double"


def attempt_repeated(model: Model) -> str:
    a_running(model)
    replaced(model, "tasks", attempt="1")
    return "attempts"


def lease_taken_over(model: Model) -> str:
    id = a_running(model)
    model.begin()
    model._put(id, {**model.tasks[id], "lease_token": "another"})
    return "leases"


def token_reused(model: Model) -> str:
    id = a_running(model)
    replaced(model, "tasks", lease_token=f"{id} 1")
    return "leases"


def loss_not_counted(model: Model) -> str:
    id = a_running(model)
    model.lose(id)
    replaced(model, "tasks", losses="1")
    return "losses"


def above_the_limit(model: Model) -> str:
    model.begin()
    for n in range(3):
        id = f"narrow {n}"
        model._put(id, {**checker_row(id), "state": "ready"})
        model._put(id, {**checker_row(id), "state": "running", "attempt": "1", "lease_token": id, "node_id": "node"})
    return "limits"


def checker_row(id: str) -> dict[str, str | None]:
    made = Model()
    made.enqueue(1)
    return {**made.tasks["task 0"], "id": id}


def rescued_the_living(model: Model) -> str:
    model.begin()
    model._change("nodes", {}, {"id": "well", "pid": "1"})
    id = a_running(model)
    model.lose(id)
    last = model.changes[-1]
    entries = json.loads(last.new["attempts"] or "")
    entries[-1]["node_id"] = "well"
    replaced(model, "tasks", attempts=json.dumps(entries))
    return "rescues"


def two_leaders_of_a_term(model: Model) -> str:
    model.begin()
    for node in ("a", "b"):
        model.changes.append(Change(10**6, "leaders", "update", {"role": "r", "term": "3", "node_id": "a"},
                                    {"role": "r", "term": "3", "node_id": node}))  # fmt: skip
    return "leaders"


def run_that_nobody_advanced(model: Model) -> str:
    model.start(0)
    id = f"task {len(model.asked) - 1}"
    model.claim(id)
    model.complete(id)
    assert model.changes.pop().table == "runs"
    return "standing"


def fact_that_was_lost(model: Model) -> str:
    model.start(1)
    id = f"task {len(model.asked) - 1}"
    model.claim(id)
    model.complete(id)
    assert model.changes.pop().table == "run_inbox"
    return "standing"


def wake_up_that_was_lost(model: Model) -> str:
    """The task of a workflow has the run's id."""
    model.enqueue(0)
    id = f"task {len(model.asked) - 1}"
    model._change("runs", {}, {"id": id, "state": "waiting"})
    model.claim(id)
    model.complete(id)
    return "standing"


MUTATIONS = [
    stale_completion, stale_progress, stale_line, line_after_the_end, completed_without_running, deleted,
    acknowledged_nothing, made_twice, refused_but_made, ended_twice, resurrected,
    in_two_places, ran_twice, attempt_repeated,
    lease_taken_over, token_reused, loss_not_counted, above_the_limit, rescued_the_living, two_leaders_of_a_term,
    run_that_nobody_advanced, fact_that_was_lost, wake_up_that_was_lost,
]  # fmt: skip


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.__name__)
@given(choices=CHOICES)
def test_whatever_happened_before_a_wrong_step_is_found(
    mutation: Callable[[Model], str], choices: list[tuple[str, int]]
) -> None:
    model = Model().follow(choices)
    running = sum(row["state"] == "running" and row["queue"] == "narrow" for row in model.tasks.values())
    assume(running == 0 or mutation is not above_the_limit)
    expected = mutation(model)
    assert expected in rules(model)


@pytest.mark.parametrize(
    ("left", "rule"),
    [
        (Left(idle_in_transaction=1), "orphans"), (Left(running_without_node=1), "orphans"),
        (Left(counters={"default": (2, 3)}), "counters"), (Left(leaked=["weft.org"]), "leaked"),
    ],
)  # fmt: skip
def test_what_is_left_behind_is_found(left: Left, rule: str) -> None:
    assert rules(Model(), left=left) == {rule}


def test_what_never_ends_is_found_once_it_should_have() -> None:
    model = Model()
    a_running(model)
    assert rules(model) == set() and rules(model, over=True) == {"stuck"}


def test_every_rule_can_fail() -> None:
    """Each has a mutation or a finding above."""
    names = {
        "lost", "answers", "double", "attempts", "leases", "losses", "stale", "limits", "rescues", "leaders", "orphans",
        "standing",
    }  # fmt: skip
    assert {rule.__name__ for rule in checker.RULES} == names
