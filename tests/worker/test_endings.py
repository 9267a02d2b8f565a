"""How attempts end: errors, retries, and the words a handler can raise."""

import asyncio

import pytest
from waiting import NOW, ended, in_state

from weft import App, Context, Discard, Retry, RetryLater, Snooze


async def test_an_error_is_kept_with_type_message_and_the_users_own_traceback(app: App) -> None:
    @app.task(max_attempts=1)
    async def fail() -> None:
        raise LookupError("no such customer \0 \ud800")

    async with app.worker():
        view = await ended(app, await app.enqueue(fail))
    assert (view.state, view.reason, view.dead) == ("failed", "dead", True)
    assert view.error is not None and view.error["type"] == "LookupError"
    assert view.error["message"].startswith("no such customer")
    assert "raise LookupError" in view.error["traceback"] and "runner.py" not in view.error["traceback"]


async def test_an_error_that_cannot_be_shown_is_still_an_error_of_its_task_alone(app: App) -> None:
    class Shy(Exception):
        def __str__(self) -> str:
            raise RuntimeError("I will not say")

    @app.task(max_attempts=1)
    async def fail() -> None:
        raise Shy

    @app.task
    async def work() -> int:
        return 1

    async with app.worker(concurrency=1):
        view = await ended(app, await app.enqueue(fail))
        assert await app.result((await app.enqueue(work)).id, timeout=30) == 1
    assert view.state == "failed" and view.error is not None and view.error["type"] == "Shy"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
async def test_whatever_a_handler_raises_is_its_outcome_and_the_runner_goes_on(app: App, error: BaseException) -> None:
    @app.task(max_attempts=1)
    async def fail() -> None:
        raise error

    @app.task(max_attempts=1)
    def fail_in_thread() -> None:
        raise error

    @app.task
    async def work() -> int:
        return 1

    async with app.worker(concurrency=1):
        views = [await ended(app, await app.enqueue(one)) for one in (fail, fail_in_thread)]
        assert await app.result((await app.enqueue(work)).id, timeout=30) == 1
    assert [view.state for view in views] == ["failed", "failed"]
    assert all(view.error is not None and view.error["type"] == type(error).__name__ for view in views)


@pytest.mark.parametrize("error", [StopIteration, GeneratorExit])
async def test_what_cannot_pass_through_a_future_does_not_hang_the_runner(app: App, error: type[BaseException]) -> None:
    @app.task(max_attempts=1)
    def fail() -> None:
        raise error

    async with app.worker(concurrency=1):
        view = await ended(app, await app.enqueue(fail))
    assert view.error is not None and error.__name__ in view.error["message"]


async def test_a_failure_is_retried_until_it_works_and_every_attempt_is_remembered(app: App) -> None:
    @app.task(max_attempts=5, retry=NOW)
    async def third_time(ctx: Context) -> int:
        if ctx.attempt < 3:
            raise OSError(f"attempt {ctx.attempt}")
        return ctx.attempt

    async with app.worker():
        task = await app.enqueue(third_time)
        assert await app.result(task.id, timeout=30) == 3
    view = await app.get(task.id)
    assert view.attempts is not None and view.error is None
    assert [(one["attempt"], one["outcome"], one["error"]["message"]) for one in view.attempts] == [
        (1, "failed", "attempt 1"), (2, "failed", "attempt 2"),
    ]  # fmt: skip
    assert all(one["node_id"] and one["claimed_at"] and one["ended_at"] for one in view.attempts)


async def test_attempts_used_up_means_dead(app: App) -> None:
    runs: list[int] = []

    @app.task(max_attempts=3, retry=NOW)
    async def never(ctx: Context) -> None:
        runs.append(ctx.attempt)
        raise OSError("no")

    async with app.worker():
        declared = await ended(app, await app.enqueue(never))
        said = await ended(app, await app.enqueue(never, {}, max_attempts=1))
    assert (declared.state, declared.reason, declared.attempt) == ("failed", "dead", 3)
    assert (said.reason, said.attempt) == ("dead", 1)
    assert runs == [1, 2, 3, 1]


async def test_between_attempts_the_task_waits_as_long_as_the_policy_says(app: App) -> None:
    @app.task(max_attempts=2, retry=Retry(backoff="fixed", base=3600, cap=7200, jitter=0))
    async def fail() -> None:
        raise OSError

    async with app.worker():
        task = await app.enqueue(fail)
        waiting = await in_state(app, task, "scheduled")
    assert waiting.attempts is not None
    assert 3590 < (waiting.run_at - waiting.created_at).total_seconds() < 3700
    assert (waiting.attempt, waiting.node_id, waiting.claimed_at) == (1, None, None)


async def test_the_tasks_own_policy_wins_over_the_handlers(app: App) -> None:
    @app.task(max_attempts=2, retry=Retry(backoff="fixed", base=3600))
    async def fail() -> None:
        raise OSError

    async with app.worker():
        view = await ended(app, await app.enqueue(fail, {}, retry=NOW))
    assert (view.reason, view.attempt) == ("dead", 2)


async def test_retry_on_and_fail_on_decide_which_errors_are_retried(app: App) -> None:
    @app.task(max_attempts=2, retry=NOW, retry_on=OSError)
    async def only_os(error: str) -> None:
        raise {"os": ConnectionError, "value": ValueError}[error]

    @app.task(max_attempts=2, retry=NOW, fail_on=(ValueError,))
    async def not_value(error: str) -> None:
        raise {"os": ConnectionError, "value": UnicodeError}[error]

    async with app.worker():
        views = {
            (task.kind, error): await ended(app, await app.enqueue(task, {"error": error}))
            for task in (only_os, not_value)
            for error in ("os", "value")
        }
    assert {place: (view.reason, view.attempt) for place, view in views.items()} == {
        ("only_os", "os"): ("dead", 2), ("only_os", "value"): ("refused", 1),
        ("not_value", "os"): ("dead", 2), ("not_value", "value"): ("refused", 1),
    }  # fmt: skip


async def test_discard_ends_without_retry_and_is_no_dead_letter(app: App) -> None:
    @app.task(max_attempts=5, retry=NOW)
    async def obsolete() -> None:
        raise Discard("the order was cancelled")

    async with app.worker():
        view = await ended(app, await app.enqueue(obsolete))
    assert (view.state, view.reason, view.attempt, view.dead) == ("cancelled", "discarded", 1, False)
    assert view.error is not None and view.error["message"] == "the order was cancelled"


async def test_snooze_uses_up_no_attempt(app: App) -> None:
    @app.task(max_attempts=1, retry=NOW)
    async def patient(ctx: Context) -> int:
        if ctx.attempt < 4:
            raise Snooze(0)
        return ctx.attempt

    @app.task(max_attempts=1)
    async def sleepy() -> None:
        raise Snooze(3600)

    async with app.worker():
        task = await app.enqueue(patient)
        assert await app.result(task.id, timeout=30) == 4
        later = await in_state(app, await app.enqueue(sleepy), "scheduled")
    view = await app.get(task.id)
    assert (view.attempt - view.uncounted, view.losses, view.attempts) == (1, 0, None)
    assert (later.run_at - later.created_at).total_seconds() > 3500


async def test_retry_later_uses_up_an_attempt_and_chooses_the_pause(app: App) -> None:
    @app.task(max_attempts=2, retry=Retry(base=3600))
    async def busy() -> None:
        raise RetryLater(0, "429")

    @app.task(max_attempts=2, retry=NOW)
    async def closed() -> None:
        raise RetryLater(3600)

    async with app.worker():
        view = await ended(app, await app.enqueue(busy))
        later = await in_state(app, await app.enqueue(closed), "scheduled")
    assert (view.reason, view.attempt) == ("dead", 2)
    assert (later.run_at - later.created_at).total_seconds() > 3500
