"""What follows from an outcome: every way an attempt can go, decided purely."""

import typing

import hypothesis
from hypothesis import strategies as st

from weft.queue.model import MAX_LOSSES
from weft.sdk.retry import Retry
from weft.settle.outcome import Finish, Held, How, Outcome, Requeue, decide

HOWS: tuple[How, ...] = typing.get_args(How)

attempts = st.builds(
    Held,
    id=st.just("id"), org=st.just("org"), kind=st.just("mail"), token=st.just("token"), attempt=st.integers(1, 50),
    uncounted=st.integers(0, 10), losses=st.integers(0, 5), max_attempts=st.none() | st.integers(1, 20),
    concurrency_key=st.none(), retry=st.none() | st.just({"backoff": "fixed", "base": 7, "jitter": 0}),
    run_id=st.none(), cancelling=st.booleans(),
)  # fmt: skip
outcomes = st.builds(
    Outcome, task=attempts, how=st.sampled_from(HOWS), retryable=st.booleans(), delay=st.none() | st.floats(0, 1e6),
    declared_attempts=st.none() | st.integers(1, 20),
)  # fmt: skip


def held(**facts: object) -> Held:
    known: dict[str, object] = {
        "id": "id", "org": "org", "kind": "mail", "token": "token", "attempt": 1, "uncounted": 0, "losses": 0,
        "max_attempts": None, "concurrency_key": None, "retry": None, "run_id": None,
    }  # fmt: skip
    return Held(**(known | facts))  # type: ignore[arg-type]


def after(how: How, *, task: Held | None = None, **facts: object) -> Finish | Requeue:
    return decide(Outcome(task or held(), how, **facts))  # type: ignore[arg-type]


@hypothesis.given(outcomes)
def test_every_outcome_has_an_ending_and_success_is_never_taken_back(outcome: Outcome) -> None:
    ending = decide(outcome)
    if outcome.how == "completed":
        assert ending == Finish("completed")
    elif isinstance(ending, Finish):
        assert ending.state != "completed" and ending.reason is not None
    else:
        assert ending.delay >= 0 and ending.uncounted in (0, 1) and ending.lost in (0, 1)


@hypothesis.given(outcomes)
def test_what_is_being_cancelled_never_goes_back_into_the_queue(outcome: Outcome) -> None:
    if outcome.task.cancelling:
        ending = decide(outcome)
        assert isinstance(ending, Finish)
        assert ending == Finish("completed") or ending.state == "cancelled"


@hypothesis.given(outcomes)
def test_only_failures_and_timeouts_use_up_attempts(outcome: Outcome) -> None:
    ending = decide(outcome)
    if isinstance(ending, Requeue):
        assert (ending.uncounted == 0) == (outcome.how in ("failed", "timed_out"))
        assert (ending.lost == 1) == (outcome.how == "lost")


@hypothesis.given(outcomes)
def test_a_task_dies_exactly_when_its_counted_attempts_are_used_up(outcome: Outcome) -> None:
    task = outcome.task
    if outcome.how in ("failed", "timed_out") and outcome.retryable and not task.cancelling:
        allowed = task.max_attempts or outcome.declared_attempts or 3
        dead = task.attempt - task.uncounted >= allowed
        ending = decide(outcome)
        assert isinstance(ending, Finish) == dead
        assert not dead or ending == Finish(outcome.how, "dead")  # type: ignore[arg-type]


@hypothesis.given(st.integers(0, 5), st.integers(1, 1000))
def test_losses_are_counted_apart_from_attempts(losses: int, attempt: int) -> None:
    ending = after("lost", task=held(losses=losses, attempt=attempt, max_attempts=1))
    if losses + 1 >= MAX_LOSSES:
        assert ending == Finish("failed", "lost")
    else:
        assert ending == Requeue(uncounted=1, lost=1, outcome="lost")


def test_an_error_that_forbids_retry_ends_the_task_at_once() -> None:
    assert after("failed", retryable=False) == Finish("failed", "refused")
    assert after("timed_out", retryable=False) == Finish("timed_out", "refused")


def test_the_kernels_default_is_three_attempts() -> None:
    assert isinstance(after("failed", task=held(attempt=2)), Requeue)
    assert after("failed", task=held(attempt=3)) == Finish("failed", "dead")
    assert isinstance(after("failed", task=held(attempt=5, uncounted=3)), Requeue)


def test_the_task_speaks_before_the_declaration_about_attempts() -> None:
    assert isinstance(after("failed", task=held(attempt=4), declared_attempts=5), Requeue)
    assert after("failed", task=held(attempt=4, max_attempts=4), declared_attempts=5) == Finish("failed", "dead")


def test_the_delay_comes_from_the_handler_then_the_task_then_the_declaration() -> None:
    declared = Retry(backoff="fixed", base=100, jitter=0)  # type: ignore[arg-type]
    own = {"backoff": "fixed", "base": 7, "jitter": 0}
    assert after("failed", policy=declared) == Requeue(delay=100, outcome="failed")
    assert after("failed", task=held(retry=own), policy=declared) == Requeue(delay=7, outcome="failed")
    assert after("failed", task=held(retry=own), policy=declared, delay=3.0) == Requeue(delay=3, outcome="failed")
    assert after("failed", delay=0.0) == Requeue(delay=0, outcome="failed")
    kernel = after("failed")
    assert isinstance(kernel, Requeue) and 27 <= kernel.delay <= 33


def test_the_delay_grows_with_counted_attempts_only() -> None:
    doubling = {"backoff": "exponential", "base": 10, "multiplier": 2, "jitter": 0}
    fourth = held(attempt=4, uncounted=2, max_attempts=9, retry=doubling)
    assert after("failed", task=fourth) == Requeue(delay=20, outcome="failed")


def test_a_policy_written_by_hand_that_cannot_be_read_counts_as_none() -> None:
    ending = after("failed", task=held(retry={"backoff": "wild"}))
    assert isinstance(ending, Requeue) and 27 <= ending.delay <= 33


def test_discard_and_cancel_end_the_task_without_calling_it_a_failure() -> None:
    assert after("discarded") == Finish("cancelled", "discarded")
    assert after("cancelled") == Finish("cancelled", "requested")


def test_snooze_and_giving_back_use_up_nothing() -> None:
    assert after("snoozed", delay=30.0) == Requeue(delay=30, uncounted=1)
    assert after("released") == Requeue(uncounted=1)


def test_what_must_never_begin_twice_has_failed_with_its_first_loss() -> None:
    once = Retry(lost=False)
    assert after("lost", task=held(retry=once.to_json())) == Finish("failed", "lost")
    assert after("lost", policy=once) == Finish("failed", "lost")
    assert after("lost", task=held(retry=once.to_json(), cancelling=True)) == Finish("cancelled", "requested")
    assert after("lost", task=held(retry=Retry().to_json()), policy=once) == Requeue(uncounted=1, lost=1, outcome="lost")
