"""Every limit of a request: what is at the limit is taken, what is above is refused with a 4xx that says so.

The table is the one of docs/reference/limits.md: each row there has its test here, with the same number.
"""

import dataclasses
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from calling import Caller, code

from each import each
from weft.access import secrets
from weft.api import audit, pages, tasks, worker_types
from weft.api.operation import MAX_BODY
from weft.base import json

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "limits.md"

JSON = {"content-type": "application/json"}


@dataclasses.dataclass(frozen=True)
class Request:
    """One request, and what an answer that takes it has as status."""

    method: str
    path: str
    body: Any = None
    content: bytes | None = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    role: str = "admin"


Make = Callable[[int], Request]


def enqueue(**fields: Any) -> Request:
    return Request("POST", "/v1/tasks", {"kind": "mail", **fields})


def padded(size: int) -> Request:
    head = json.dumps({"kind": "mail"})
    return Request("POST", "/v1/tasks", content=head + b" " * (size - len(head)), headers=JSON)


def payload(size: int) -> Request:
    return enqueue(payload={"a": "x" * (size - len(json.dumps({"a": ""})))})


def deep(levels: int) -> Request:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return enqueue(payload=value)


def claim(**fields: Any) -> Request:
    return Request("POST", "/v1/task/claim", {"worker": "w", "kinds": ["mail"], **fields}, role="worker")


def worker(verb: str, **body: Any) -> Request:
    return Request("POST", f"/v1/task/{verb}", body, role="worker")


def secret(size: int) -> Request:
    return Request("PUT", "/v1/secrets/A", {"value": "x" * size})


LIMITS: dict[str, tuple[int, Make, str]] = {
    "body, bytes": (MAX_BODY, padded, "TOO_LARGE"),
    "payload, bytes of JSON": (json.MAX_BYTES, payload, "INVALID_PAYLOAD"),
    "payload, levels": (json.MAX_DEPTH, deep, "INVALID_PAYLOAD"),
    "kind, characters": (255, lambda n: enqueue(kind="k" * n), "INVALID_INPUT"),
    "queue, characters": (255, lambda n: enqueue(queue="q" * n), "INVALID_INPUT"),
    "tag, characters": (255, lambda n: enqueue(tags=["t" * n]), "INVALID_INPUT"),
    "tags": (50, lambda n: enqueue(tags=[f"t{one}" for one in range(n)]), "INVALID_INPUT"),
    "capability, characters": (60, lambda n: enqueue(capabilities=["c" * n]), "INVALID_INPUT"),
    "capabilities": (10, lambda n: enqueue(capabilities=[f"c{one}" for one in range(n)]), "INVALID_INPUT"),
    "dedupe key, characters": (255, lambda n: enqueue(dedupe_key="k" * n), "INVALID_INPUT"),
    "concurrency key, characters": (255, lambda n: enqueue(concurrency_key="k" * n), "INVALID_INPUT"),
    "correlation id, characters": (255, lambda n: enqueue(correlation_id="k" * n), "INVALID_INPUT"),
    "concurrency of a key": (10_000, lambda n: enqueue(concurrency_key="k", concurrency=n), "INVALID_INPUT"),
    "priority": (100, lambda n: enqueue(priority=n), "INVALID_INPUT"),
    "attempts": (1000, lambda n: enqueue(max_attempts=n), "INVALID_INPUT"),
    "delay, seconds": (315_360_000, lambda n: enqueue(delay=n), "INVALID_INPUT"),
    "timeout, seconds": (315_360_000, lambda n: enqueue(timeout=n), "INVALID_INPUT"),
    "tasks in a batch": (tasks.MOST, lambda n: Request("POST", "/v1/tasks/batch", {"tasks": [{"kind": "m"}] * n}),
                         "INVALID_INPUT"),
    "Idempotency-Key, characters": (
        255, lambda n: Request("POST", "/v1/tasks", {"kind": "m"}, headers={"idempotency-key": "k" * n}), "INVALID_INPUT"),
    "items of a page": (pages.MOST, lambda n: Request("GET", f"/v1/tasks?limit={n}"), "INVALID_INPUT"),
    "query parameters": (200, lambda n: Request("GET", "/v1/tasks?" + "&".join(["tag=t"] * n)), "INVALID_INPUT"),
    "key's name, characters": (
        255, lambda n: Request("POST", "/v1/keys", {"name": "n" * n, "role": "reader"}), "INVALID_INPUT"),
    "key's life, seconds": (
        315_360_000, lambda n: Request("POST", "/v1/keys", {"name": "n", "role": "reader", "expires_in": n}),
        "INVALID_INPUT"),
    "dead tasks at once": (
        500, lambda n: Request("POST", "/v1/dead/redrive", {"ids": [str(uuid.UUID(int=one)) for one in range(n)]}),
        "INVALID_INPUT"),
    "tasks of a claim": (worker_types.MOST, lambda n: claim(limit=n), "INVALID_INPUT"),
    "kinds of a claim": (1000, lambda n: claim(kinds=[f"k{one}" for one in range(n)]), "INVALID_INPUT"),
    "names of claims that got no answer": (50, lambda n: claim(unanswered=[f"c{one}" for one in range(n)]), "INVALID_INPUT"),
    "items of a worker's report": (
        worker_types.MOST, lambda n: worker("complete", items=[{"token": "x"}] * n), "INVALID_INPUT"),
    "audit entries verified at once": (
        audit.MOST, lambda n: Request("GET", f"/v1/audit/verify?limit={n}"), "INVALID_INPUT"),
    "secret's name, characters": (128, lambda n: Request("DELETE", f"/v1/secrets/{'n' * n}"), "INVALID_NAME"),
    "secret's value, bytes": (secrets.LONGEST, secret, "INVALID_INPUT"),
}  # fmt: skip
"""What is limited: the number, a request that is that large, and the code of what is larger."""

TAKEN_AS = {
    "secret's name, characters": (404, "NOT_FOUND"),
    "secret's value, bytes": (503, "NO_SECRET_KEY"),
    "query parameters": (400, "INVALID_INPUT"),
}
"""What is asked for there is refused for another reason, which shows that its size was not one."""

WORDS = {"query parameters": "was given twice"}


async def ask(api: Caller, request: Request) -> Any:
    how: dict[str, Any] = {"content": request.content} if request.content is not None else {}
    if request.body is not None:
        how["json"] = request.body
    return await api.ask(request.method, request.path, role=request.role, headers=request.headers, **how)


@each("name", LIMITS)
async def test_what_is_at_the_limit_is_taken_and_what_is_above_is_refused(api: Caller, name: str) -> None:
    most, make, refused = LIMITS[name]
    at = await ask(api, make(most))
    if name in TAKEN_AS:
        assert code(at) == TAKEN_AS[name] and WORDS.get(name, "") in at.text
    else:
        assert at.status_code in (200, 201), at.text
    above = await ask(api, make(most + 1))
    status, found = code(above)
    assert (found, 400 <= status < 500) == (refused, True), above.text
    assert len(above.json()["error"]["message"]) < 500
    assert name not in WORDS or WORDS[name] not in above.text


def test_the_page_has_every_limit_with_its_number() -> None:
    rows = dict(re.findall(r"^\| ([^|]+?) \| ([\d,]+) ", PAGE.read_text().partition("## Rate limits")[0], re.M))
    assert {name: int(number.replace(",", "")) for name, number in rows.items()} == {
        name: most for name, (most, _, _) in LIMITS.items()
    }


async def test_names_hold_no_control_characters(api: Caller) -> None:
    for bad in ("a\nb", "a\x00b", "a\x1bb", "", " a", "a ", "a\u200bb", "a;b", "a<b"):
        assert (await ask(api, enqueue(kind=bad))).status_code == 400, repr(bad)
    for good in ("a", "ä", "日本", "a b", "a.b:c/d-e_f", "1", "a" * 255):
        assert (await ask(api, enqueue(kind=good))).status_code == 201, good


async def test_a_body_deeper_than_any_payload_is_refused_whatever_it_is_for(api: Caller) -> None:
    nested = b"[" * 100_000 + b"]" * 100_000
    for path in ("/v1/tasks", "/v1/keys", "/v1/dead/redrive"):
        answer = await api.ask("POST", path, content=nested, headers=JSON)
        assert code(answer) == (400, "INVALID_INPUT")
