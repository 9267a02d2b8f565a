"""Whether a server, or a worker in any language, keeps to the worker protocol. `weft worker-protocol check` runs this.

A suite is a list of rules. Each is tried by itself, against tasks of its own in a queue of its own, and either holds or
is broken with the reason.
"""

import asyncio
import dataclasses
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from weft.base import errors
from weft.net.session import Question, Session

PATIENCE = 40.0
NOW = {"backoff": "fixed", "base": 0.0, "jitter": 0.0}


class Broken(Exception):
    """A rule does not hold."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """What must be so, and how it is tried."""

    name: str
    attempt: Callable[["Probe"], Awaitable[None]]


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of a rule; `problem` is None if it holds."""

    suite: str
    rule: str
    problem: str | None
    seconds: float


@dataclasses.dataclass(frozen=True)
class Heard:
    """A server's answer."""

    status: int
    body: Any

    @property
    def code(self) -> str | None:
        error = self.body.get("error") if isinstance(self.body, dict) else None
        return error.get("code") if isinstance(error, dict) else None

    def must_be(self, status: int, code: str | None = None) -> "Heard":
        if self.status != status:
            raise Broken(f"the answer was {self.status} {_short(self.body)}, expected {status}")
        if status >= 400:
            error = self.body.get("error") if isinstance(self.body, dict) else None
            if not isinstance(error, dict) or not {"code", "message", "request_id"} <= set(error):
                raise Broken(f"a refusal has no envelope {{error: {{code, message, request_id}}}}: {_short(self.body)}")
            if code is not None and error["code"] != code:
                raise Broken(f"the code was {error['code']}, expected {code}")
        return self


@dataclasses.dataclass
class Probe:
    """One rule's view of the server: its own queue, and both keys."""

    session: Session
    worker_key: str
    api_key: str
    queue: str = dataclasses.field(default_factory=lambda: f"conformance-{uuid.uuid4().hex[:12]}")
    worker: str = dataclasses.field(default_factory=lambda: f"conformance-{uuid.uuid4().hex[:8]}")

    async def ask(self, method: str, path: str, body: object = None, *, key: str | None) -> Heard:
        headers = {"content-type": "application/json"} if body is not None else {}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        sent = body if isinstance(body, bytes) or body is None else msgspec.json.encode(body)
        answer = await self.session.send(Question(method=method, path=path, headers=headers, body=sent, timeout=PATIENCE))
        try:
            return Heard(answer.status, msgspec.json.decode(answer.body) if answer.body else None)
        except msgspec.DecodeError:
            return Heard(answer.status, answer.body.decode(errors="replace"))

    async def put(self, kind: str = "conformance.echo", payload: dict[str, Any] | None = None, **options: Any) -> str:
        """A new task; answers its id."""
        body = {"kind": kind, "payload": payload or {}, "queue": self.queue, **options}
        heard = await self.ask("POST", "/v1/tasks", body, key=self.api_key)
        if heard.status != 201:
            raise Broken(f"cannot enqueue: {heard.status} {_short(heard.body)}; --api-key must be a writer's")
        return str(heard.body["id"])

    async def claim(self, **options: Any) -> list[dict[str, Any]]:
        heard = await self.try_claim(**options)
        tasks: list[dict[str, Any]] = heard.must_be(200).body["tasks"]
        return tasks

    async def try_claim(self, *, key: str | None = None, **options: Any) -> Heard:
        body = {"worker": self.worker, "kinds": ["conformance.echo"], "queues": [self.queue], "limit": 10, **options}
        return await self.ask("POST", "/v1/task/claim", body, key=self.worker_key if key is None else key)

    async def hold(self, **options: Any) -> dict[str, Any]:
        """A new task, claimed."""
        id = await self.put(**options)
        tasks = await self.claim(wait=10)
        if [task["task_id"] for task in tasks] != [id]:
            raise Broken(f"claimed {_short(tasks)}, expected the one task {id}")
        return tasks[0]

    async def say(self, verb: str, task: Mapping[str, Any], **body: Any) -> Heard:
        return await self.ask("POST", f"/v1/task/{verb}", body, key=str(task["token"]))

    async def look(self, id: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.ask("GET", f"/v1/tasks/{id}", key=self.api_key)).must_be(200).body
        return found

    async def cancel(self, id: str) -> None:
        (await self.ask("POST", f"/v1/tasks/{id}/cancel", key=self.api_key)).must_be(200)

    async def until(
        self, id: str, so: Callable[[dict[str, Any]], bool], *, what: str, within: float = PATIENCE
    ) -> dict[str, Any]:
        """The task once it is so."""
        deadline = time.monotonic() + within
        while True:
            task = await self.look(id)
            if so(task):
                return task
            if time.monotonic() > deadline:
                facts = {name: task[name] for name in ("state", "reason", "attempt", "losses", "error")}
                raise Broken(f"{what}: not so within {within:g} s; the task is {_short(facts)}")
            await asyncio.sleep(0.1)


def must(so: bool, otherwise: str) -> None:
    if not so:
        raise Broken(otherwise)


async def run(suite: str, rules: Sequence[Rule], probe: Callable[[], Probe]) -> AsyncIterator[Result]:
    """Tries every rule, one after another."""
    for rule in rules:
        began = time.monotonic()
        problem: str | None = None
        try:
            await rule.attempt(probe())
        except Broken as broken:
            problem = str(broken)
        except errors.WeftError as error:
            problem = f"the server could not be asked: {error.message}"
        except (KeyError, TypeError, IndexError, ValueError) as error:
            problem = f"an answer is not as the protocol says ({type(error).__name__}: {error})"
        yield Result(suite, rule.name, problem, time.monotonic() - began)


def _short(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 300 else text[:300] + "…"
