"""The checker: what the clients were told, what the tasks say they did, and what the database says it stored. Pure.

Each rule reads the three logs and says what is wrong. Tasks of a checked run write their own attempt into everything
they write (result, error, progress, log line), so that a write under another attempt's lease gives itself away.
"""

import dataclasses
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from decoding import Change, Columns

Verdict = Literal["ok", "failed", "unknown"]

MAX_LOSSES = 3
GOING = ("running", "waiting", "compensating")
"""States of a run that should go on by itself."""
_ATTEMPT = re.compile(r"attempt (\d+)")


@dataclasses.dataclass(frozen=True)
class Asked:
    """An enqueue, as its client knows it. The key is in the payload as `k`."""

    key: str
    verdict: Verdict
    task: str | None = None


@dataclasses.dataclass(frozen=True)
class Ran:
    """A line the task itself wrote: `start` or `end` of an attempt in a process."""

    what: str
    task: str
    pid: int
    attempt: int
    at: float = 0.0


@dataclasses.dataclass(frozen=True)
class Left:
    """What a bystander finds when it is over."""

    idle_in_transaction: int = 0
    advisory_locks_of_nobody: int = 0
    running_without_node: int = 0
    counters: Mapping[str, tuple[int, int]] = dataclasses.field(default_factory=dict)
    """What Weft says it counted, and a recount."""
    leaked: Sequence[str] = ()
    """Settings of one client that the next one of its connection found."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Logs:
    """Everything that is known of a run."""

    asked: Sequence[Asked] = ()
    ran: Sequence[Ran] = ()
    changes: Sequence[Change] = ()
    left: Left = Left()
    limits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Queue → how many may run at once."""
    harmed: frozenset[int] = frozenset()
    """Processes that were killed, stopped, or cut off: only they may lose tasks. Empty: not known, not checked."""
    over: bool = False
    """Everything should have ended."""


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    rule: str
    task: str
    text: str


Rule = Callable[[Logs], Iterator[Finding]]


def check(logs: Logs) -> list[Finding]:
    """Everything that is wrong; nothing, if all is well."""
    return [finding for rule in RULES for finding in rule(logs)]


def lost(logs: Logs) -> Iterator[Finding]:
    """What was acknowledged, or was stored at all, is in the queue or in the history."""
    queued, ended = _final(logs.changes)
    for one in logs.asked:
        if one.verdict == "ok" and one.task not in queued and one.task not in ended:
            yield Finding("lost", str(one.task), f"{one.key} was acknowledged and is nowhere")
    for changes in _transactions(logs.changes):
        for gone, kept in (("tasks", "task_history"), ("task_history", "tasks")):
            moved = {one.row["id"] for one in changes if one.table == kept and one.operation == "insert"}
            for one in changes:
                if one.table == gone and one.operation == "delete" and one.row["id"] not in moved:
                    yield Finding("lost", str(one.row["id"]), f"deleted from {gone} without being moved to {kept}")


def answers(logs: Logs) -> Iterator[Finding]:
    """A client was told the truth: no is no, yes is once, do not know is at most once."""
    made: dict[str, set[str]] = defaultdict(set)
    for one in logs.changes:
        if one.table == "tasks" and one.operation == "insert":
            made[str(_json(one.row["payload"]).get("k"))].add(str(one.row["id"]))
    for asked in logs.asked:
        there = made.get(asked.key, set())
        if asked.verdict == "failed" and there:
            yield Finding("answers", str(asked.task), f"{asked.key} was refused and is there")
        if len(there) > 1:
            yield Finding("answers", str(asked.task), f"{asked.key} is there {len(there)} times")


def double(logs: Logs) -> Iterator[Finding]:
    """A task ends once, completes once, is in one place, and each attempt runs in one process."""
    completed: set[str] = set()
    ended: set[str] = set()
    queued: set[str] = set()
    for changes in _transactions(logs.changes):
        touched = set()
        for one in changes:
            task = str(one.row.get("id"))
            if one.table == "task_history" and one.operation == "insert":
                if task in ended or (task in completed and one.row["state"] == "completed"):
                    yield Finding("double", task, f"ended again, {one.row['state']}")
                if one.row["state"] == "completed":
                    completed.add(task)
            elif one.table == "tasks" and one.operation == "insert" and task in completed:
                yield Finding("double", task, "queued again after it completed")
            place = {"tasks": queued, "task_history": ended}.get(one.table)
            if place is not None:
                touched.add(task)
                (place.discard if one.operation == "delete" else place.add)(task)
        yield from (Finding("double", task, "queued and ended at once") for task in touched & queued & ended)
    for (what, run, attempt), count in Counter((one.what, one.task, one.attempt) for one in logs.ran).items():
        if what in ("start", "end") and count > 1:
            yield Finding("double", run, f"attempt {attempt} has {count} times '{what}'")


def attempts(logs: Logs) -> Iterator[Finding]:
    """A claim is one attempt more; nothing else changes the number."""
    for one in _updates(logs.changes):
        before, after = int(one.old["attempt"] or 0), int(one.new["attempt"] or 0)
        claimed = one.old["state"] != "running" and one.new["state"] == "running"
        if after != before + claimed:
            yield Finding("attempts", str(one.new["id"]), f"attempt {before} became {after}, claimed: {claimed}")


def leases(logs: Logs) -> Iterator[Finding]:
    """Running means leased; a lease ends before another begins; no token comes twice."""
    tokens: dict[str, set[str]] = defaultdict(set)
    for one in logs.changes:
        if one.table != "tasks" or one.operation == "delete":
            continue
        task, token = str(one.new["id"]), one.new["lease_token"]
        if (one.new["state"] == "running") != (token is not None):
            yield Finding("leases", task, f"{one.new['state']} with the token {token}")
        if one.operation == "insert" or token is None:
            continue
        if one.old["state"] == "running":
            if (one.old["lease_token"], one.old["node_id"]) != (token, one.new["node_id"]):
                yield Finding("leases", task, "another lease while one was held")
        elif token in tokens[task]:
            yield Finding("leases", task, f"the token {token} was used before")
        tokens[task].add(token)


def losses(logs: Logs) -> Iterator[Finding]:
    """A loss is counted as one, uses up no attempt, and there are at most three of them."""
    for one in _updates(logs.changes):
        gained = _list(one.new["attempts"])[len(_list(one.old["attempts"])) :]
        said = sum(entry.get("outcome") == "lost" for entry in gained)
        counted = int(one.new["losses"] or 0) - int(one.old["losses"] or 0)
        uncounted = int(one.new["uncounted"] or 0) - int(one.old["uncounted"] or 0)
        if said != counted or uncounted < said:
            text = f"{said} lost, {counted} counted, {uncounted} attempts given back"
            yield Finding("losses", str(one.new["id"]), text)
        if int(one.new["losses"] or 0) >= MAX_LOSSES and one.new["state"] != "running":
            yield Finding("losses", str(one.new["id"]), f"queued again after {one.new['losses']} losses")
        allowed = int(one.new["max_attempts"] or 1000)
        if one.new["state"] == "running" and int(one.new["attempt"] or 0) - int(one.new["uncounted"] or 0) > allowed:
            yield Finding("losses", str(one.new["id"]), f"more than {allowed} attempts")


def stale(logs: Logs) -> Iterator[Finding]:
    """Whatever an attempt wrote was written while that attempt held the lease."""
    held: dict[str, Columns] = {}
    ends = {(one.task, one.attempt) for one in logs.ran if one.what == "end"}
    for one in logs.changes:
        row = one.row
        if one.table == "task_logs" and one.operation == "insert":
            task = str(row["task_id"])
            now = held.get(task)
            wrote = _said(row["message"])
            its = now is not None and now["state"] == "running" and now["attempt"] == row["attempt"]
            if not its or wrote not in (None, row["attempt"]):
                yield Finding("stale", task, f"a log line of attempt {wrote or row['attempt']} while it was not its")
        elif one.table == "tasks":
            task = str(row["id"])
            if one.operation == "update":
                yield from _stale_update(one)
            if one.operation == "delete":
                held.pop(task, None)
            else:
                held[task] = one.new
        elif one.table == "task_history" and one.operation == "insert" and row["state"] == "completed":
            result = _json(row["result"])
            wrote = result.get("attempt") if isinstance(result, dict) else None
            if wrote is not None and str(wrote) != row["attempt"]:
                yield Finding("stale", str(row["id"]), f"attempt {wrote} completed attempt {row['attempt']}")
            elif wrote is not None and logs.ran and (str(row["id"]), int(wrote)) not in ends:
                yield Finding("stale", str(row["id"]), f"attempt {wrote} completed it and never ended")


def limits(logs: Logs) -> Iterator[Finding]:
    """After no commit do more run than may."""
    running: dict[str, Columns] = {}
    for changes in _transactions(logs.changes):
        touched = set()
        for one in changes:
            if one.table == "tasks":
                task = str(one.row["id"])
                running.pop(task, None)
                if one.operation != "delete" and one.new["state"] == "running":
                    running[task] = one.new
                    touched.add(task)
        queues = {running[task]["queue"] for task in touched if task in running} & set(logs.limits)
        for queue in queues:
            count = sum(row["queue"] == queue for row in running.values())
            if count > logs.limits[str(queue)]:
                yield Finding("limits", str(queue), f"{count} run, {logs.limits[str(queue)]} may")
        keys = {(running[task]["concurrency_key"], running[task]["concurrency"]) for task in touched if task in running}
        for key, most in keys:
            count = sum(row["concurrency_key"] == key for row in running.values())
            if key is not None and count > max(int(most or 0), 1):
                yield Finding("limits", str(key), f"{count} of its key run, {max(int(most or 0), 1)} may")


def rescues(logs: Logs) -> Iterator[Finding]:
    """Only who was harmed loses tasks."""
    if not logs.harmed:
        return
    pids = {str(one.row["id"]): int(one.row["pid"] or 0) for one in logs.changes if one.table == "nodes"}
    for one in _updates(logs.changes):
        for entry in _list(one.new["attempts"])[len(_list(one.old["attempts"])) :]:
            pid = pids.get(str(entry.get("node_id")))
            if entry.get("outcome") == "lost" and pid is not None and pid not in logs.harmed:
                yield Finding("rescues", str(one.new["id"]), f"taken from process {pid}, which is well")


def leaders(logs: Logs) -> Iterator[Finding]:
    """Terms grow, and each has one leader."""
    for one in logs.changes:
        if one.table == "leaders" and one.operation == "update":
            before, after = int(one.old["term"] or 0), int(one.new["term"] or 0)
            if after < before or (after == before and before > 0 and one.old["node_id"] != one.new["node_id"]):
                yield Finding("leaders", str(one.new["role"]), f"term {before} of {one.old['node_id']} became {after}")


def orphans(logs: Logs) -> Iterator[Finding]:
    """Nothing is held by nobody, no counter is wrong, no setting leaks; and if it is over, nothing is left."""
    left = logs.left
    for name in ("idle_in_transaction", "advisory_locks_of_nobody", "running_without_node"):
        if getattr(left, name):
            yield Finding("orphans", "", f"{getattr(left, name)} {name.replace('_', ' ')}")
    for name, (said, counted) in left.counters.items():
        if said != counted:
            yield Finding("counters", name, f"said {said}, counted {counted}")
    yield from (Finding("leaked", "", one) for one in left.leaked)
    if logs.over:
        yield from (Finding("stuck", task, "never ended") for task in _final(logs.changes)[0])


def standing(logs: Logs) -> Iterator[Finding]:
    """No run stands still: one that should go on has a task, or was told something. Not of those that never had a task."""
    rows: dict[str, dict[str, Columns]] = {"runs": {}, "tasks": {}, "run_inbox": {}}
    worked: set[str | None] = set()
    for one in logs.changes:
        if one.table not in rows:
            continue
        if one.operation == "delete":
            rows[one.table].pop(str(one.row["id"]), None)
        else:
            rows[one.table][str(one.row["id"])] = one.new
        if one.table == "tasks":
            # the task of a workflow has the run's id
            worked |= {one.row["id"], one.row.get("run_id")}
    open_ = {one.get("run_id") for table in ("tasks", "run_inbox") for one in rows[table].values()}
    for id, run in rows["runs"].items():
        if run["state"] in GOING and id in worked and id not in open_ and id not in rows["tasks"]:
            yield Finding("standing", id, f"{run['state']}, and nothing will ever move it")


RULES: tuple[Rule, ...] = (
    lost, answers, double, attempts, leases, losses, stale, limits, rescues, leaders, orphans, standing,
)  # fmt: skip


def _stale_update(one: Change) -> Iterator[Finding]:
    task, attempt = str(one.new["id"]), one.old["attempt"]
    if one.new["progress_message"] not in (None, one.old["progress_message"]):
        wrote = _said(one.new["progress_message"])
        if wrote not in (None, one.new["attempt"]) or one.new["state"] != "running":
            yield Finding("stale", task, f"progress of attempt {wrote} while attempt {attempt} held it")
    for entry in _list(one.new["attempts"])[len(_list(one.old["attempts"])) :]:
        wrote = _said(str((entry.get("error") or {}).get("message")))
        if wrote not in (None, attempt) or str(entry["attempt"]) != attempt:
            yield Finding("stale", task, f"attempt {wrote} failed while attempt {attempt} held it")


def _final(changes: Sequence[Change]) -> tuple[dict[str, Columns], dict[str, Columns]]:
    """What is queued and what has ended, by replaying everything."""
    places: dict[str, dict[str, Columns]] = {"tasks": {}, "task_history": {}}
    for one in changes:
        if one.table in places:
            task = str(one.row["id"])
            if one.operation == "delete":
                places[one.table].pop(task, None)
            else:
                places[one.table][task] = one.new
    return places["tasks"], places["task_history"]


def _transactions(changes: Sequence[Change]) -> Iterator[list[Change]]:
    batch: list[Change] = []
    for one in changes:
        if batch and batch[-1].transaction != one.transaction:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch


def _updates(changes: Sequence[Change]) -> Iterator[Change]:
    return (one for one in changes if one.table == "tasks" and one.operation == "update")


def _said(text: str | None) -> str | None:
    """The attempt a text names as its writer."""
    found = _ATTEMPT.search(text or "")
    return found[1] if found else None


def _json(text: str | None) -> Any:
    return json.loads(text) if text else {}


def _list(text: str | None) -> list[dict[str, Any]]:
    return list(json.loads(text)) if text else []
