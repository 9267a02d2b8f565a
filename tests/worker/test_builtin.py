"""The built-in kinds, called as the worker calls them: payload in, result or exception out."""

import asyncio
import datetime as dt
import http.server
import os
import signal
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from waiting import alive, until

from weft.base import errors, json
from weft.base.config import Settings
from weft.net import guard
from weft.net.http import Response
from weft.sdk.context import Context
from weft.sdk.task import Registry
from weft.worker import builtin, shell

TASK = "0190a0a0-0000-7000-8000-000000000001"


class Sink:
    """Keeps what a handler says, and lets a test wait for a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.said = asyncio.Event()

    def log(self, context: Context, *, level: str, message: str, fields: dict[str, Any] | None) -> None:
        self.lines.append(message)
        self.said.set()

    def progress(self, context: Context, *, percent: int | None, message: str | None) -> None: ...


async def call(
    kind: str, payload: dict[str, Any], *, sink: Sink | None = None, grace: float = 0.3, **settings: Any
) -> Any:
    registry = Registry()
    for function, name, options in builtin.builtin_tasks(Settings(**settings), grace=grace):
        registry.add(function, name=name, version=None, **options)
    task = registry.get(kind)
    assert task is not None and task.context_name == "ctx" and task.options.isolate == "loop"
    about = types.SimpleNamespace(
        id=TASK, kind=kind, org="o", attempt=2, queue="default", token="t", correlation_id=None, trace_parent=None,
        tags=None,
    )  # fmt: skip
    context = Context(sink or Sink(), about)
    return await task.function(ctx=context, **task.arguments(json.text(payload)))


class Endpoint(http.server.BaseHTTPRequestHandler):
    """Answers with the status of its path, and the headers and body that the test put on the server."""

    server: "Endpoints"

    def answer(self) -> None:
        length = int(self.headers.get("content-length", 0))
        self.server.received.append((self.command, dict(self.headers.items()), self.rfile.read(length)))
        self.send_response(int(self.path.strip("/")))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, format: str, *args: Any) -> None: ...


class Endpoints(http.server.ThreadingHTTPServer):
    headers: dict[str, str]
    body: bytes
    received: list[tuple[str, dict[str, str], bytes]]


@pytest.fixture
def endpoint() -> Iterator[Endpoints]:
    with Endpoints(("127.0.0.1", 0), Endpoint) as made:
        made.headers, made.body, made.received = {}, b"", []
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


async def fetch(endpoint: Endpoints, status: int, **payload: Any) -> Any:
    url = f"http://127.0.0.1:{endpoint.server_address[1]}/{status}"
    return await call("http", {"url": url, **payload}, allow_hosts=("127.0.0.1",))


async def test_http_answers_json_as_json_and_tells_the_endpoint_who_asks(endpoint: Endpoints) -> None:
    endpoint.headers = {"Content-Type": "application/json", "Set-Cookie": "secret", "ETag": "x"}
    endpoint.body = b'{"made": [1, 2]}'
    result = await fetch(endpoint, 201, method="post", headers={"X-Mine": "1"}, body={"a": "é"})
    assert (result["status"], result["body"], result["truncated"]) == (201, {"made": [1, 2]}, False)
    assert result["headers"]["etag"] == "x" and "set-cookie" not in result["headers"]
    [(method, headers, body)] = endpoint.received
    assert (method, json.loads(body)) == ("POST", {"a": "é"})
    assert {"x-mine": "1", "content-type": "application/json", "idempotency-key": TASK}.items() <= {
        name.lower(): value for name, value in headers.items()
    }.items()


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        ("text/plain", "grüß".encode(), "grüß"),
        ("text/plain; charset=iso-8859-1", b"gr\xfc\xdf", "grüß"),
        ("text/plain; charset=punycode", b"abc", "abc"),
        ("application/octet-stream", b"\xff\x00a", "��a"),
        ("application/json", b"{broken", "{broken"),
        ("application/json", rb'"a\u0000"', r'"a\u0000"'),
        ("application/json", b"[" * 5000, "[" * 5000),
        ("application/problem+json", b'{"a": 1}', {"a": 1}),
    ],
)
async def test_http_stores_whatever_comes_back(endpoint: Endpoints, kind: str, *, body: bytes, shown: Any) -> None:
    endpoint.headers, endpoint.body = {"Content-Type": kind}, body
    result = await fetch(endpoint, 200)
    assert result["body"] == shown
    json.text(result)


@pytest.mark.parametrize("body", [b"x", b"\x01", b"\xff", b'"', b"\\"])
async def test_http_cuts_a_large_body_to_what_fits_into_a_result(endpoint: Endpoints, body: bytes) -> None:
    endpoint.body = body * (builtin.MAX_BODY + 1)
    result = await fetch(endpoint, 200)
    assert result["truncated"] is True and len(result["body"]) == builtin.MAX_BODY
    json.text(result)


@pytest.mark.parametrize("status", [300, 304, 400, 401, 403, 404, 409, 410, 422, 499])
async def test_http_fails_for_good_when_asking_again_would_not_help(endpoint: Endpoints, status: int) -> None:
    with pytest.raises(builtin.HttpFailed, match=str(status)) as caught:
        await fetch(endpoint, status)
    assert isinstance(caught.value, builtin.builtin_tasks(Settings())[0][2]["fail_on"])


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 599])
async def test_http_is_retried_when_the_endpoint_cannot_answer_now(endpoint: Endpoints, status: int) -> None:
    with pytest.raises(builtin.HttpUnavailable, match=str(status)) as caught:
        await fetch(endpoint, status)
    assert not isinstance(caught.value, builtin.builtin_tasks(Settings())[0][2]["fail_on"])


@pytest.mark.parametrize("status", [429, 503])
async def test_http_waits_as_long_as_the_server_asks(endpoint: Endpoints, status: int) -> None:
    endpoint.headers = {"Retry-After": "17"}
    with pytest.raises(errors.RetryLater) as caught:
        await fetch(endpoint, status)
    assert caught.value.delay == dt.timedelta(seconds=17)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("0", 0), ("120", 120), ("999999999999", 86400), ("Wed, 21 Oct 2015 07:29:00 GMT", 60),
        ("Wed, 21 Oct 2015 07:00:00 GMT", 0), ("Wed, 21 Oct 2099 07:00:00 GMT", 86400), ("-5", None), ("soon", None),
        ("", None), ("１", None),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date_by_the_server_s_clock(written: str, seconds: int | None) -> None:
    headers = {"retry-after": written, "date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    found = builtin.retry_after(Response(url="", status=503, headers=headers, body=b"", truncated=False))
    assert found == (None if seconds is None else dt.timedelta(seconds=seconds))


async def test_http_takes_the_expected_status_for_success_and_no_other(endpoint: Endpoints) -> None:
    assert (await fetch(endpoint, 404, expect=[404]))["status"] == 404
    with pytest.raises(builtin.HttpFailed):
        await fetch(endpoint, 200, expect=[404])


async def test_http_refused_by_the_guard_fails_for_good() -> None:
    with pytest.raises(errors.Refused, match="WEFT_ALLOW_HOSTS"):
        await call("http", {"url": "http://169.254.169.254/"})


async def test_http_without_an_answer_is_retried() -> None:
    with pytest.raises(guard.Unreachable):
        await call("http", {"url": "http://127.0.0.1:1/"}, allow_hosts=("127.0.0.1",))


@pytest.mark.parametrize("wrong", [{"urll": "x"}, {"url": 1}, {"url": "http://a", "expect": "200"}])
async def test_a_payload_that_does_not_fit_is_said_so(wrong: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidPayload):
        await call("http", wrong)


async def test_shell_is_off_unless_allowed() -> None:
    with pytest.raises(errors.Refused, match="WEFT_ALLOW_SHELL=1"):
        await call("shell", {"command": "true"})


async def sh(command: str | list[str], *, sink: Sink | None = None, grace: float = 0.3, **payload: Any) -> Any:
    return await call("shell", {"command": command, **payload}, sink=sink, grace=grace, allow_shell=True)


async def test_shell_keeps_its_output_line_by_line_and_its_tail() -> None:
    sink = Sink()
    result = await sh("echo one; echo two >&2; printf 'grü\\0ß'", sink=sink)
    assert result == {"exit_status": 0, "output": "one\ntwo\ngrü�ß", "truncated": False}
    assert sink.lines == ["one", "two", "grü\0ß"]


async def test_shell_takes_a_list_without_a_shell_in_between(tmp_path: Path) -> None:
    result = await sh(["printf", "%s|", "$HOME", "a b", "*"], cwd=str(tmp_path))
    assert result["output"] == "$HOME|a b|*|"


async def test_shell_runs_in_its_folder_with_its_environment_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://secret")
    result = await sh("pwd; env", cwd=str(tmp_path), env={"MINE": "1"})
    assert result["output"].startswith(f"{tmp_path}\n")
    assert {"MINE=1", f"WEFT_TASK_ID={TASK}", "WEFT_ATTEMPT=2"} <= set(result["output"].splitlines())
    assert "secret" not in result["output"]


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo oh no; exit 3", r"exit status 3: oh no"),
        ("kill -9 $$", "SIGKILL"),
        (["/does/not/exist"], "cannot be started"),
        ("true", None),
    ],
)
async def test_shell_fails_with_the_reason(command: Any, said: str | None) -> None:
    if said is None:
        assert (await sh(command))["exit_status"] == 0
    else:
        with pytest.raises(shell.ShellFailed, match=said):
            await sh(command)


async def test_shell_in_a_folder_that_is_not_there_says_so() -> None:
    with pytest.raises(shell.ShellFailed, match="does not exist"):
        await sh("true", cwd="/does/not/exist")


@pytest.mark.parametrize("command", ["", [], [""]])
async def test_shell_needs_a_command(command: Any) -> None:
    if command == "":
        assert (await sh(command))["exit_status"] == 0
    else:
        with pytest.raises(errors.InvalidInput):
            await sh(command)


async def test_shell_bounds_what_it_keeps() -> None:
    sink = Sink()
    result = await sh("i=0; while [ $i -lt 12000 ]; do echo line $i; i=$((i+1)); done", sink=sink)
    assert result["truncated"] is True and len(result["output"]) == shell.TAIL
    assert result["output"].endswith("line 11999\n")
    assert len(sink.lines) == 10_001 and "not logged" in sink.lines[-1]


async def test_shell_splits_a_line_without_end() -> None:
    sink = Sink()
    await sh("head -c 20000 /dev/zero | tr '\\0' x", sink=sink)
    assert [len(line) for line in sink.lines] == [8192, 8192, 3616]


async def start(command: str, *, grace: float = 0.3) -> tuple["asyncio.Task[Any]", list[int]]:
    """Starts a command that first prints the ids of its processes."""
    sink = Sink()
    task = asyncio.ensure_future(sh(command, sink=sink, grace=grace))
    await asyncio.wait_for(sink.said.wait(), 30)
    return task, [int(text) for text in sink.lines[0].split()]


async def test_a_cancelled_shell_gets_sigterm_and_may_clean_up(tmp_path: Path) -> None:
    task, _ = await start(f"trap 'echo cleaned > {tmp_path}/mark; exit 0' TERM; echo $$; while :; do sleep 0.01; done")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "mark").read_text() == "cleaned\n"


async def test_a_cancelled_shell_that_ignores_sigterm_is_killed_with_its_children() -> None:
    task, pids = await start("trap '' TERM; sleep 60 & echo $$ $!; wait; sleep 60")
    assert all(alive(pid) for pid in pids)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # a process that was killed takes a moment to be gone
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_a_second_cancel_kills_at_once() -> None:
    task, [pid] = await start("trap '' TERM; echo $$; while :; do sleep 0.01; done", grace=3600)
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not alive(pid))


async def test_what_a_shell_leaves_in_the_background_ends_with_it() -> None:
    sink = Sink()
    result = await asyncio.wait_for(sh("sleep 60 & echo $!; exit 0", sink=sink), 10)
    assert result["exit_status"] == 0
    await until(lambda: not alive(int(sink.lines[0])))


async def test_a_process_that_left_the_group_does_not_hold_the_task() -> None:
    sink = Sink()
    await asyncio.wait_for(sh("setsid sh -c 'echo $$; exec sleep 60' & sleep 0.2; exit 0", sink=sink), 10)
    os.kill(int(sink.lines[0]), signal.SIGKILL)
