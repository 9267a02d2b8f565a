"""A request to an application in this process, as far as its answer says what was told: for walks of thousands, where an
HTTP client would be a third of the work."""

import asyncio
import dataclasses
import json
from collections.abc import Mapping
from typing import Any
from urllib import parse


@dataclasses.dataclass(frozen=True)
class Answer:
    status_code: int
    text: str
    """The body."""
    headers: str


async def ask(
    app: Any, method: str, path: str, *, query: Mapping[str, Any], headers: Mapping[str, str], body: Any = None
) -> Answer:
    """What the application answers. `path` is as it stands in a URL."""
    content = b"" if body is None else json.dumps(body).encode()
    told = {"host": "weft", "accept": "*/*", **headers}
    if body is not None:
        told |= {"content-type": "application/json", "content-length": str(len(content))}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": parse.unquote(path), "raw_path": path.encode(), "root_path": "",
        "query_string": parse.urlencode(query, doseq=True).encode(), "server": ("weft", None), "client": ("127.0.0.1", 123),
        "headers": [(name.lower().encode(), value.encode()) for name, value in told.items()],
    }  # fmt: skip
    left = [{"type": "http.request", "body": content, "more_body": False}]
    status, answered, parts, done = 0, "", [], asyncio.Event()

    async def receive() -> dict[str, Any]:
        if left:
            return left.pop()
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, answered
        if message["type"] == "http.response.start":
            status, answered = message["status"], str(message["headers"])
        else:
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                done.set()

    try:
        await app(scope, receive, send)
    except Exception:  # noqa: BLE001 (told as 500, or the test would end at the first)
        status = status or 500
    return Answer(status, b"".join(parts).decode(), answered)
