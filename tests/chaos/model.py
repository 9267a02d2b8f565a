"""A queue that does everything right, to make histories for the checker: pure, driven by a list of choices."""

import json
from collections.abc import Iterable
from typing import Any

from checker import Asked, Logs, Ran
from decoding import Change, Columns

BLANK: Columns = dict.fromkeys(
    ("lease_token", "node_id", "attempts", "progress_message", "concurrency_key", "concurrency", "max_attempts", "result")
)
LIMIT = 2
HARMED = 99


class Model:
    """Each choice is (what, which): what to try, and with which of the tasks it can be done to."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.ran: list[Ran] = []
        self.changes: list[Change] = []
        self.tasks: dict[str, Columns] = {}
        self.history: dict[str, Columns] = {}
        self.runs: dict[str, Columns] = {}
        self.facts: dict[str, str] = {}
        """Fact → its run."""
        self._transaction = 0
        self.begin()
        self._change("nodes", {}, {"id": "node", "pid": str(HARMED)})

    def logs(self, **more: Any) -> Logs:
        return Logs(asked=self.asked, ran=self.ran, changes=self.changes, limits={"narrow": LIMIT},
                    harmed=frozenset({HARMED}), **more)  # fmt: skip

    def follow(self, choices: Iterable[tuple[str, int]]) -> "Model":
        for what, which in choices:
            candidates = self._candidates(what)
            if candidates is None:
                getattr(self, what)(which)
            elif candidates:
                getattr(self, what)(candidates[which % len(candidates)])
        return self

    def _candidates(self, what: str) -> list[str] | None:
        if what in ("enqueue", "start"):
            return None
        if what == "sweep":
            return list(self.facts)
        if what == "redrive":
            return [id for id, row in self.history.items() if row["state"] == "failed"]
        state = "ready" if what == "claim" else "running"
        return [id for id, row in self.tasks.items() if row["state"] == state]

    def begin(self) -> None:
        self._transaction += 1

    def enqueue(self, which: int) -> None:
        self.begin()
        id = f"task {len(self.asked)}"
        verdict = ("ok", "ok", "unknown", "failed")[which % 4]
        if verdict != "failed":
            self._put(id, {**BLANK, "id": id, "state": "ready", "attempt": "0", "uncounted": "0", "losses": "0",
                           "queue": ("wide", "narrow")[which % 2], "payload": json.dumps({"k": f"key {id}"})})  # fmt: skip
        self.asked.append(Asked(f"key {id}", verdict, id if verdict == "ok" else None))  # type: ignore[arg-type]

    def start(self, which: int) -> None:
        """A run of one task, whose end is advanced at once, or left in its inbox."""
        self.enqueue(0)
        id, run = f"task {len(self.asked) - 1}", f"run {len(self.asked) - 1}"
        self.runs[run] = {"id": run, "state": "running", "left": str(which % 2)}
        self._change("runs", {}, self.runs[run])
        self._put(id, {**self.tasks[id], "run_id": run})

    def sweep(self, fact: str) -> None:
        self.begin()
        self._change("run_inbox", {"id": fact}, {})
        self._over(self.facts.pop(fact))

    def claim(self, id: str) -> None:
        row = self.tasks[id]
        taken = sum(one["state"] == "running" and one["queue"] == "narrow" for one in self.tasks.values())
        if row["queue"] == "narrow" and taken >= LIMIT:
            return
        self.begin()
        attempt = int(row["attempt"] or 0) + 1
        lease = {"lease_token": f"{id} {attempt}", "node_id": "node"}
        self._put(id, {**row, **lease, "state": "running", "attempt": str(attempt)})
        self.ran.append(Ran("start", id, HARMED, attempt))

    def say(self, id: str) -> None:
        """Progress and a log line."""
        self.begin()
        attempt = self.tasks[id]["attempt"]
        self._put(id, {**self.tasks[id], "progress_message": f"attempt {attempt}"})
        self._change("task_logs", {}, {"task_id": id, "attempt": attempt, "message": f"attempt {attempt}"})

    def complete(self, id: str) -> None:
        attempt = int(self.tasks[id]["attempt"] or 0)
        self.ran.append(Ran("end", id, HARMED, attempt))
        self._end(id, state="completed", result=json.dumps({"attempt": attempt}))

    def fail(self, id: str) -> None:
        self._end(id, state="failed", result=None)

    def lose(self, id: str) -> None:
        row = self.tasks[id]
        if int(row["losses"] or 0) + 1 >= 3:
            self.fail(id)
            return
        self.begin()
        entry = {"attempt": int(row["attempt"] or 0), "outcome": "lost", "node_id": "node", "error": None}
        self._put(id, {
            **row, "state": "ready", "lease_token": None, "node_id": None, "progress_message": None,
            "losses": str(int(row["losses"] or 0) + 1), "uncounted": str(int(row["uncounted"] or 0) + 1),
            "attempts": json.dumps([*json.loads(row["attempts"] or "[]"), entry]),
        })  # fmt: skip

    def redrive(self, id: str) -> None:
        self.begin()
        row = self.history.pop(id)
        self._change("task_history", row, {})
        self._put(id, {**row, "state": "ready", "lease_token": None, "node_id": None, "uncounted": row["attempt"],
                       "losses": "0", "progress_message": None})  # fmt: skip

    def _end(self, id: str, *, state: str, result: str | None) -> None:
        self.begin()
        row = self.tasks.pop(id)
        self._change("tasks", row, {})
        self.history[id] = {**row, "state": state, "result": result}
        self._change("task_history", {}, self.history[id])
        run = str(row.get("run_id"))
        if run not in self.runs or self.runs[run]["state"] != "running":
            return
        if self.runs[run]["left"] == "1":
            fact = f"fact {len(self.changes)}"
            self.facts[fact] = run
            self._change("run_inbox", {}, {"id": fact, "run_id": run})
        else:
            self._over(run)

    def _over(self, run: str) -> None:
        before, self.runs[run] = self.runs[run], {**self.runs[run], "state": "completed"}
        self._change("runs", before, self.runs[run])

    def _put(self, id: str, row: Columns) -> None:
        before = self.tasks.get(id, {})
        self.tasks[id] = row
        self._change("tasks", before, row)

    def _change(self, table: str, old: Columns, new: Columns) -> None:
        operation = "delete" if not new else "update" if old else "insert"
        self.changes.append(Change(self._transaction, table, operation, dict(old), dict(new)))  # type: ignore[arg-type]
