"""Calls over real sockets: pinned addresses, redirects, limits, TLS names."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from loopback_server import Server, run

from weft.base import errors
from weft.net import guard, http

LIMITS = {"timeout": 5.0, "max_bytes": 1000}


class Resolver:
    """Answers one address after another, and counts how often it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        return [self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]]


async def test_an_allowed_local_server_is_called(server: Server) -> None:
    server.answer("/hello?x=1", b"hi", headers="Content-Type: text/plain\r\n")
    request = http.Request(
        url=f"http://127.0.0.1:{server.port}/hello?x=1", method="POST", headers={"X-Mine": "yes"}, body=b"sent"
    )
    response = await http.call(request, allow=[f"127.0.0.1:{server.port}"], **LIMITS)
    assert (response.status, response.body, response.truncated) == (200, b"hi", False)
    assert response.headers["content-type"] == "text/plain"
    [got] = server.received
    assert (got.method, got.body, got.headers["x-mine"]) == ("POST", b"sent", "yes")
    assert got.headers["host"] == f"127.0.0.1:{server.port}"


async def test_a_local_server_is_refused_without_the_allow_list(server: Server) -> None:
    with pytest.raises(errors.Refused, match="loopback"):
        await http.call(http.Request(url=f"http://127.0.0.1:{server.port}/"), **LIMITS)
    assert server.received == []


async def test_the_name_is_resolved_once_and_the_checked_address_is_called(server: Server) -> None:
    server.answer("/", b"ok")
    resolver = Resolver("127.0.0.1", "127.0.0.2")
    request = http.Request(url=f"http://rebind.example:{server.port}/")
    await http.call(request, allow=["127.0.0.1"], resolver=resolver, **LIMITS)
    assert resolver.asked == ["rebind.example"]
    assert server.received[0].to == "127.0.0.1"
    assert server.received[0].headers["host"] == f"rebind.example:{server.port}"


async def test_a_name_that_changes_its_address_between_hops_is_checked_again(server: Server) -> None:
    server.answer("/", status="302 Found", headers="Location: /again\r\n")
    resolver = Resolver("127.0.0.1", "127.0.0.2")
    with pytest.raises(errors.Refused, match=r"127\.0\.0\.2"):
        await http.call(
            http.Request(url=f"http://rebind.example:{server.port}/"), allow=["127.0.0.1"], resolver=resolver, **LIMITS
        )
    assert len(server.received) == 1


async def test_the_next_address_is_tried_when_one_takes_no_connection(server: Server) -> None:
    server.answer("/", b"ok")

    async def resolver(host: str, port: int) -> list[str]:
        return ["::1", "127.0.0.1"]

    request = http.Request(url=f"http://two.example:{server.port}/")
    response = await http.call(request, allow=["two.example"], resolver=resolver, **LIMITS)
    assert response.body == b"ok"


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2:{port}/secret", "http://localhost:{port}/secret", "//127.0.0.2:{port}/secret", "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "http://a@127.0.0.1:{port}/", "gopher://x/",
        "http://0x7f000002:{port}/secret",
    ],
)  # fmt: skip
async def test_a_redirect_to_an_unchecked_host_is_refused(server: Server, location: str) -> None:
    server.answer("/", status="302 Found", headers=f"Location: {location.format(port=server.port)}\r\n")
    server.answer("/secret", b"secret")
    with pytest.raises(errors.Refused):
        await http.call(
            http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=[f"127.0.0.1:{server.port}"],
            resolver=Resolver("127.0.0.2"), **LIMITS,
        )  # fmt: skip
    assert [got.target for got in server.received] == ["/"]


@pytest.mark.parametrize(
    ("status", "method", "then", "body"),
    [
        ("301 Moved", "POST", "GET", b""),
        ("302 Found", "POST", "GET", b""),
        ("302 Found", "PUT", "PUT", b"sent"),
        ("303 See Other", "PUT", "GET", b""),
        ("303 See Other", "HEAD", "HEAD", b"sent"),
        ("307 Temporary", "POST", "POST", b"sent"),
        ("308 Permanent", "POST", "POST", b"sent"),
    ],
)
async def test_a_redirect_keeps_or_changes_the_method(
    server: Server, status: str, method: str, *, then: str, body: bytes
) -> None:
    server.answer("/", status=status, headers="Location: next?y=2\r\n")
    server.answer("/next?y=2", b"" if method == "HEAD" else b"ok")
    response = await http.call(
        http.Request(url=f"http://127.0.0.1:{server.port}/", method=method, body=b"sent"), allow=["127.0.0.1"], **LIMITS
    )
    assert response.url.endswith("/next?y=2")
    assert (server.received[1].method, server.received[1].body) == (then, body)


async def test_credentials_do_not_follow_to_another_origin(server: Server) -> None:
    server.answer("/", status="307 Temporary", headers=f"Location: http://other.example:{server.port}/next\r\n")
    server.answer("/next", b"ok")
    await http.call(
        http.Request(
            url=f"http://one.example:{server.port}/",
            headers={"Authorization": "Bearer x", "X-Api-Key": "x", "Cookie": "x", "Accept": "text/plain"},
        ),
        allow=["*.example"], resolver=Resolver("127.0.0.1"), **LIMITS,
    )  # fmt: skip
    first, second = server.received
    assert {"authorization", "x-api-key", "cookie"} <= set(first.headers)
    assert not {"authorization", "x-api-key", "cookie"} & set(second.headers)
    assert second.headers["accept"] == "text/plain"


async def test_five_redirects_are_followed_and_six_are_not(server: Server) -> None:
    for hop in range(6):
        server.answer(f"/{hop}", status="302 Found", headers=f"Location: /{hop + 1}\r\n")
    server.answer("/6", b"end")
    base = f"http://127.0.0.1:{server.port}"
    assert (await http.call(http.Request(url=f"{base}/1"), allow=["127.0.0.1"], **LIMITS)).body == b"end"
    with pytest.raises(errors.Refused, match="more than 5 redirects"):
        await http.call(http.Request(url=f"{base}/0"), allow=["127.0.0.1"], **LIMITS)


async def test_with_no_redirects_wanted_the_redirect_is_the_answer(server: Server) -> None:
    server.answer("/", status="302 Found", headers="Location: http://169.254.169.254/\r\n")
    response = await http.call(
        http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=["127.0.0.1"], redirects=0, **LIMITS
    )
    assert response.status == 302


@pytest.mark.parametrize(("size", "truncated"), [(999, False), (1000, False), (1001, True)])
async def test_a_body_is_cut_at_the_limit(server: Server, size: int, truncated: bool) -> None:
    server.answer("/", b"x" * size)
    response = await http.call(http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=["127.0.0.1"], **LIMITS)
    assert (len(response.body), response.truncated) == (min(size, 1000), truncated)


async def test_an_endless_body_is_not_read_to_its_end(server: Server) -> None:
    async def endless(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
            await writer.drain()

    server.answers["/"] = endless
    response = await http.call(http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=["127.0.0.1"], **LIMITS)
    assert (len(response.body), response.truncated) == (1000, True)


async def test_the_time_limit_holds_however_slowly_bytes_drip(server: Server) -> None:
    gone = asyncio.Event()

    async def drip(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            gone.set()

    server.answers["/"] = drip
    with pytest.raises(guard.Unreachable, match=r"within 0\.3 s"):
        await http.call(
            http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=["127.0.0.1"], timeout=0.3, max_bytes=1000000
        )
    await asyncio.wait_for(gone.wait(), 5)


async def test_the_time_limit_covers_all_hops_together(server: Server) -> None:
    async def slow(writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)
        writer.write(b"HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()

    server.answers["/"] = slow
    with pytest.raises(guard.Unreachable, match=r"within 0\.5 s"):
        await http.call(
            http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=["127.0.0.1"], timeout=0.5, max_bytes=10
        )


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf"])
async def test_a_broken_answer_is_unreachable(server: Server, answer: bytes) -> None:
    server.answers["/"] = answer
    with pytest.raises(guard.Unreachable):
        await http.call(http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=["127.0.0.1"], **LIMITS)


async def test_a_closed_port_is_unreachable() -> None:
    with pytest.raises(guard.Unreachable, match="cannot be connected to"):
        await http.call(http.Request(url="http://127.0.0.1:1/"), allow=["127.0.0.1"], **LIMITS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "TRACE"}, {"method": "get"}, {"method": "GET /\r\n"}, {"headers": {"Host": "internal"}},
        {"headers": {"Content-Length": "0"}}, {"headers": {"transfer-encoding": "chunked"}}, {"headers": {"a b": "c"}},
        {"headers": {"X": "a\r\nY: b"}}, {"headers": {"X": "a\0"}}, {"headers": {"": "x"}}, {"headers": {"X": " a"}},
    ],
)  # fmt: skip
async def test_a_request_that_could_be_misread_is_not_sent(server: Server, wrong: dict[str, object]) -> None:
    request = http.Request(url=f"http://127.0.0.1:{server.port}/", **wrong)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidInput):
        await http.call(request, allow=["127.0.0.1"], **LIMITS)
    assert server.received == []


async def test_the_machine_s_proxy_and_netrc_take_no_part(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    server.answer("/", b"ok")
    await http.call(http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=["127.0.0.1"], **LIMITS)
    assert "authorization" not in server.received[0].headers


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """A certificate for secure.example, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    made, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "1", "-keyout", key, "-out", made, "-subj", "/CN=secure.example",
            "-addext", "subjectAltName=DNS:secure.example",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return made, key


async def test_tls_is_checked_against_the_name_though_the_address_is_called(certificate: tuple[Path, Path]) -> None:
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(*certificate)
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    server = Server()
    listening = await run(server, serving)
    server.answer("/", b"safe")
    server.answer("/down", status="302 Found", headers="Location: http://secure.example/\r\n")

    async def get(host: str, target: str = "/") -> http.Response:
        request = http.Request(url=f"https://{host}:{server.port}{target}")
        return await http.call(request, allow=["*.example"], resolver=Resolver("127.0.0.1"), tls=trusting, **LIMITS)

    try:
        assert (await get("secure.example")).body == b"safe"
        with pytest.raises(guard.Unreachable, match=r"(?i)certificate"):
            await get("wrong.example")
        with pytest.raises(errors.Refused, match="not encrypted"):
            await get("secure.example", "/down")
    finally:
        listening.close()
