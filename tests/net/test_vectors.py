"""More of what is refused and what is not: redirects, resolvers that change their mind, names in other scripts."""

import pytest
from loopback_server import Server
from test_guard import ALLOWED, MALFORMED, PUBLIC, REFUSED, answering, public

from weft.base import errors
from weft.net import guard, http

MORE_REFUSED = [
    # loopback once more: mixed notations, leading zeros, trailing dots, other scripts
    "http://0x7f.0.0.1/", "http://0177.0x0.0.01/", "http://127.0x1/", "http://0X7F000001/", "http://00000000177.0.0.1/",
    "http://127.000.000.001/", "http://127.0.0.1.:80/", "http://2130706433./", "http://%30x7f000001/", "http://0x7f%2e1/",
    "http://１２７。０。０。１/", "http://𝟏𝟐𝟕.𝟎.𝟎.𝟏/", "http://１27.0.0.1/", "http://127.0.0.1%2f/".replace("%2f", ""),
    "https://[::ffff:127.1.2.3]:8443/", "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://[::ffff:0:0]/", "http://[::0.0.0.1]/",
    "http://[64:ff9b::10.0.0.1]/", "http://[64:ff9b::192.168.0.1]/", "http://[2002:a9fe:a9fe::]/", "http://[2002:c0a8:1::]/",
    "http://[fe80::a9fe:a9fe]/", "http://[fd00::1]/", "http://[ff05::1:3]/", "http://[2001:db8:ffff::1]/",
    # every private range at both ends
    "http://10.0.0.0/", "http://172.16.0.0/", "http://192.168.255.255/", "http://169.254.0.0/", "http://169.254.255.255/",
    "http://100.64.0.0/", "http://198.19.255.255/", "http://192.0.0.255/", "http://0.255.255.255/", "http://233.252.0.1/",
    # metadata by number
    "http://0xA9FEA9FE/", "http://0xa9.0xfe.0xa9.0xfe/", "http://169.16689662/", "http://169.254.43518/",
    "http://①⑥⑨.②⑤④.①⑥⑨.②⑤④/",
]  # fmt: skip

MORE_ALLOWED = [
    "http://example.com:80/", "https://example.com:443/", "https://example.com:1/", "https://example.com:65535/",
    "https://a.b.c.d.e.example/", "https://1and1.example/", "https://123.example/", "https://example.123a/",
    "https://0x7f.example/", "https://localhost.example/", "https://xn--d1acufc.xn--p1ai/", "https://домен.рф/",
    "https://münchen.example/straße?q=ü", "https://example.com/%2e%2e/", "https://example.com/a@b", "https://example.com/?u=@x",
    "https://example.com/#@127.0.0.1", "https://example.com/http://127.0.0.1/", "https://example.com/?next=http://127.0.0.1/",
    "https://example.com/%C3%A4", "https://EXAMPLE.com/PATH", "http://1.1.1.1/", "http://0x01010101/", "http://1.1/".replace(
        "1.1/", "1.0.0.1/"), "http://9.255.255.255/", "http://11.0.0.0/", "http://126.255.255.255/", "http://128.0.0.1/",
    "http://169.253.255.255/", "http://169.255.0.0/", "http://172.15.0.1/", "http://192.167.255.255/", "http://192.169.0.0/",
    "http://223.255.255.255/", "http://[2a00:1450:4001:81b::200e]/", "https://[2606:4700:4700::1111]:8443/dns-query",
    "http://[64:ff9b::1.1.1.1]/", "http://[::ffff:1.1.1.1]/", "https://hooks.example.com/services/T00/B00/XXXX?wait=true",
    "https://example.com:8443", "https://example.com?", "https://sub-domain.example/", "https://under_score.example/x",
]  # fmt: skip


def test_there_are_enough() -> None:
    assert len({*REFUSED, *MALFORMED, *MORE_REFUSED}) >= 200
    assert len({*(text for text, *_ in ALLOWED), *MORE_ALLOWED}) >= 65


@pytest.mark.parametrize("text", MORE_REFUSED)
async def test_it_is_refused(text: str) -> None:
    with pytest.raises(errors.Refused):
        await guard.check(text, resolver=public)


@pytest.mark.parametrize("text", MORE_ALLOWED)
async def test_it_is_let_through_to_what_was_checked(text: str) -> None:
    target = await guard.check(text, resolver=public)
    assert target.address == (PUBLIC if target.url.address is None else str(target.url.address))


@pytest.mark.parametrize(
    "found",
    [
        ("127.0.0.1",), ("::1",), ("0.0.0.0",), ("::",), ("10.1.1.1",), ("169.254.169.254",), ("fd00:ec2::254",),
        ("::ffff:169.254.169.254",), ("64:ff9b::7f00:1",), ("2002:7f00:1::",), ("fe80::1",), ("100.64.0.1",),
        (PUBLIC, "127.0.0.1"), (PUBLIC, "::1"), ("2606:4700::1111", "192.168.1.1"), (PUBLIC, PUBLIC, "172.20.0.1"),
        ("fe80::1%eth0",), ("127.0.0.1%lo",), ("localhost",), ("",), ("256.1.1.1",), ("0x7f.1",),
    ],
)  # fmt: skip
async def test_a_name_is_judged_by_all_it_resolves_to(found: tuple[str, ...]) -> None:
    with pytest.raises(errors.Refused):
        await guard.check("https://innocent.example/", resolver=answering(*found))


class Fickle:
    """A name server of an attacker: public when asked first, private ever after."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)

    async def __call__(self, host: str, port: int) -> list[str]:
        return [self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]]


LIMITS = {"timeout": 5.0, "max_bytes": 1000}


@pytest.mark.parametrize("private", ["127.0.0.2", "10.0.0.1", "::1", "169.254.169.254", "::ffff:127.0.0.2"])
async def test_a_name_that_turns_private_between_two_calls_is_refused_the_second_time(server: Server, private: str) -> None:
    server.answer("/", b"ok")
    fickle = Fickle("127.0.0.1", private)
    request = http.Request(url=f"http://rebind.example:{server.port}/")
    assert (await http.call(request, allow=["127.0.0.1"], resolver=fickle, **LIMITS)).body == b"ok"
    with pytest.raises(errors.Refused):
        await http.call(request, allow=["127.0.0.1"], resolver=fickle, **LIMITS)
    assert [got.to for got in server.received] == ["127.0.0.1"]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2:{port}/x", "http://0x7f000002:{port}/x", "http://2130706434:{port}/x", "http://0177.0.0.2:{port}/x",
        "http://[::ffff:127.0.0.2]:{port}/x", "//127.0.0.2:{port}/x", "http://u:p@127.0.0.1:{port}/x", "http://127.0.0.1:1/x",
        "http://inside.example:{port}/x", "http://169.254.169.254/", "ftp://127.0.0.1/x", "javascript:alert(1)",
    ],
)  # fmt: skip
async def test_no_redirect_leads_to_an_unchecked_host(server: Server, status: str, location: str) -> None:
    server.answer("/", status=status, headers=f"Location: {location.format(port=server.port)}\r\n")
    server.answer("/x", b"secret")
    with pytest.raises(errors.Refused):
        await http.call(
            http.Request(url=f"http://127.0.0.1:{server.port}/"), allow=[f"127.0.0.1:{server.port}"],
            resolver=Fickle("127.0.0.2"), **LIMITS,
        )  # fmt: skip
    assert [got.target for got in server.received] == ["/"]
