"""The context of an attempt: what it knows, what it says, how it is told to stop."""

import asyncio
import contextvars
from typing import Any

import pytest

from weft.queue.model import Claimed
from weft.sdk import context
from weft.sdk.context import Context, Stopped


class Heard:
    """A worker that only listens."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any] | None]] = []
        self.reports: list[tuple[int | None, str | None]] = []

    def log(self, context: Context, *, level: str, message: str, fields: dict[str, Any] | None) -> None:
        self.lines.append((level, message, fields))

    def progress(self, context: Context, *, percent: int | None, message: str | None) -> None:
        self.reports.append((percent, message))


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def attempt(heard: Heard) -> Context:
    task = Claimed("id", "org", "mail", "{}", 2, "post+gpu", 50, None, token="token")  # type: ignore[arg-type]
    return Context(heard, task)


def test_it_knows_its_task(attempt: Context) -> None:
    assert (attempt.task_id, attempt.org, attempt.kind, attempt.queue, attempt.attempt) == ("id", "org", "mail", "post", 2)
    assert (attempt.lease_token, attempt.tags, attempt.trace) == ("token", [], None)
    assert attempt.correlation_id == "id"


def test_what_it_says_reaches_its_worker(attempt: Context, heard: Heard) -> None:
    attempt.log("hello")
    attempt.log("oh", level="error", code=7)
    assert heard.lines == [("info", "hello", None), ("error", "oh", {"code": 7})]


@pytest.mark.parametrize(("said", "shown"), [(0, 0), (33.4, 33), (150, 100), (-5, 0), (None, None)])
def test_progress_is_between_nothing_and_all(attempt: Context, heard: Heard, said: float | None, shown: int | None) -> None:
    attempt.progress(said, "words")
    assert heard.reports == [(shown, "words")]


def test_told_to_stop_it_says_why_and_the_first_reason_stays(attempt: Context) -> None:
    attempt.heartbeat()
    assert attempt.cancelled is None
    attempt.stop("cancelled")
    attempt.stop("timed out")
    assert attempt.cancelled == "cancelled"
    with pytest.raises(Stopped, match="cancelled"):
        attempt.heartbeat()


def test_the_signal_to_stop_passes_through_except_exception(attempt: Context) -> None:
    attempt.stop("lease lost")
    with pytest.raises(Stopped):
        try:
            attempt.heartbeat()
        except Exception:  # noqa: BLE001 - what user code does
            pytest.fail("user code swallowed the signal")


def test_a_thread_can_wait_for_it(attempt: Context) -> None:
    before = attempt.wait_stopped()
    assert not before.is_set()
    attempt.stop("shutting down")
    assert before.is_set() and attempt.wait_stopped().is_set()


async def test_code_inside_an_attempt_finds_it_and_code_outside_finds_none(attempt: Context) -> None:
    assert context.current() is None
    token = context.enter(attempt)
    assert context.current() is attempt
    assert await asyncio.create_task(_current()) is attempt
    assert contextvars.copy_context().run(context.current) is attempt
    context.leave(token)
    assert context.current() is None


async def _current() -> Context | None:
    return context.current()
