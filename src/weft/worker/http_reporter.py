"""Reporting over HTTP: completions and failures in batches, log lines before them, a verdict for each."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from weft.base import errors, json
from weft.client.work import Verdict, Work
from weft.net.guard import Unreachable
from weft.queue.lease import Line
from weft.settle.outcome import Outcome
from weft.worker.held import Holds
from weft.worker.reporter import Reporter

log = logging.getLogger("weft.worker")

_LINES = 500
"""Per item."""


class HttpReporter(Reporter):
    """See `engine.Reports`."""

    def __init__(
        self, work: Work, holds: Holds, *, on_settled: Callable[[Sequence[Outcome]], None],
        on_lost: Callable[[Outcome], None], wake: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(on_settled=on_settled, on_lost=on_lost, wake=wake)
        self._work = work
        self._holds = holds

    async def _settle(self, outcomes: Sequence[Outcome], lines: Sequence[Line]) -> None:
        try:
            if lines:
                await self._keep(lines)
            done = [one for one in outcomes if one.how == "completed"]
            rest = [one for one in outcomes if one.how != "completed"]
            if done:
                await self._end(self._work.complete, done, [self._completion(one) for one in done])
            if rest:
                await self._end(self._work.fail, rest, [self._failure(one) for one in rest])
        except (Unreachable, errors.RateLimited) as error:
            # what was said already is said again, and gets the same answer or none
            raise errors.Unavailable(error.message) from error
        except errors.WeftError as error:
            if int(error.details.get("status") or 0) >= 500:
                raise errors.Unavailable(error.message) from error
            raise

    async def _end(
        self, say: Callable[[Sequence[dict[str, Any]]], Any], outcomes: Sequence[Outcome], items: Sequence[dict[str, Any]]
    ) -> None:
        mine = [(outcome, item) for outcome, item in zip(outcomes, items, strict=True) if item.get("token") is not None]
        verdicts: list[Verdict] = await say([item for _, item in mine]) if mine else []
        ended: list[Outcome] = []
        for (outcome, _), verdict in zip(mine, verdicts, strict=True):
            if verdict.status == 400 and outcome.result is not None:
                self._replace(outcome, verdict)
                continue
            ended.append(outcome)
            if verdict.status != 200:
                self._on_lost(outcome)
        self.settled += len(ended)
        self._on_settled(ended)
        if any(verdict.state == "queued" for verdict in verdicts):
            self._wake()

    def _replace(self, poison: Outcome, verdict: Verdict) -> None:
        """Fails a task because of what it answered."""
        log.error("the result of task %s cannot be stored: %s", poison.task.id, verdict.message)
        problem = {"type": verdict.code or "InvalidPayload", "message": f"the result cannot be stored: {verdict.message}"}
        self.add(Outcome(poison.task, "failed", error=json.text(problem), retryable=False))

    def _completion(self, outcome: Outcome) -> dict[str, Any]:
        result = None if outcome.result is None else msgspec.Raw(outcome.result.encode())
        token = self._holds.token(outcome.task.id, outcome.task.token)
        item = {"token": token, "result": result, "started": outcome.started}
        return {name: value for name, value in item.items() if value is not None}

    def _failure(self, outcome: Outcome) -> dict[str, Any]:
        policy = None if outcome.policy is None else outcome.policy.to_json()
        item: dict[str, Any] = {
            "token": self._holds.token(outcome.task.id, outcome.task.token), "outcome": outcome.how,
            "error": None if outcome.error is None else msgspec.Raw(outcome.error.encode()),
            "retryable": outcome.retryable, "retry_after": outcome.delay, "retry": policy,
            "max_attempts": outcome.declared_attempts, "started": outcome.started,
        }  # fmt: skip
        return {name: value for name, value in item.items() if value is not None}

    async def _keep(self, lines: Sequence[Line]) -> None:
        by_task: dict[tuple[str, str], list[Line]] = {}
        for line in lines:
            by_task.setdefault((line.task_id, line.token), []).append(line)
        items = [
            {"token": token, "lines": [_line(one) for one in some[place : place + _LINES]]}
            for (id, lease), some in by_task.items() if (token := self._holds.token(id, lease)) is not None
            for place in range(0, len(some), _LINES)
        ]  # fmt: skip
        for verdict in await self._work.log(items) if items else []:
            if verdict.status not in (200, 409):
                log.error("dropped log lines of task %s: %s", verdict.task_id, verdict.message)


def _line(line: Line) -> dict[str, Any]:
    said: dict[str, Any] = {"message": line.message, "level": line.level, "at": line.at}
    if line.fields is not None:
        said["fields"] = msgspec.Raw(line.fields.encode())
    return said
