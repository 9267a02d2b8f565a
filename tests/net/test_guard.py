"""What the guard refuses and what it lets through, in every notation."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.base import errors
from weft.net import address, allow, guard, url

PUBLIC = "93.184.215.14"


async def public(host: str, port: int) -> list[str]:
    return [PUBLIC]


def answering(*found: str) -> guard.Resolver:
    async def resolve(host: str, port: int) -> list[str]:
        return list(found)

    return resolve


REFUSED = [
    # loopback in every notation
    "http://127.0.0.1/", "http://127.0.0.1./", "http://127.1/", "http://127.0.1/", "http://2130706433/",
    "http://0x7f000001/", "http://0x7F.1/", "http://0177.0.0.1/", "http://017700000001/", "http://0x7f.0x0.0x0.0x1/",
    "http://127.255.255.254/", "http://00000177.0.0.1/", "http://%31%32%37.0.0.1/", "http://127%2e0%2e0%2e1/",
    "http://１２７.０.０.１/", "http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://127．0．0．1/",
    "http://[::1]/", "http://[0:0:0:0:0:0:0:1]/", "http://[0000::0001]:8080/", "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/", "http://[::127.0.0.1]/", "http://[::7f00:1]/", "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[2001:0:7f00:1::]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", "http://[64:ff9b:1::7f00:1]/", "http://[::ffff:0:127.0.0.1]/",
    "http://[2a00:1450::5efe:127.0.0.1]/", "http://[2a00:1450::200:5efe:10.0.0.1]/", "https://127.0.0.1:443/",
    # unspecified
    "http://0/", "http://0.0.0.0/", "http://0x0/", "http://0x/", "http://00/", "http://[::]/", "http://0.1.2.3/",
    # private, shared, link-local
    "http://10.0.0.1/", "http://10.255.255.255/", "http://167772161/", "http://012.0.0.1/", "http://172.16.0.1/",
    "http://172.31.255.255/", "http://192.168.0.1/", "http://192.168.257/", "http://0300.0250.0.1/",
    "http://100.64.0.1/", "http://100.127.255.255/", "http://169.254.1.1/", "http://[fe80::1]/", "http://[febf::1]/",
    "http://[fc00::1]/", "http://[fdff::1]/", "http://[fec0::1]/", "http://[::ffff:10.0.0.1]/",
    "http://[::ffff:192.168.1.1]/",
    # metadata
    "http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/",
    "http://[::ffff:169.254.169.254]/", "http://[fd00:ec2::254]/", "http://[fd20:ce::254]/", "http://100.100.100.200/",
    "http://168.63.129.16/", "http://192.0.0.192/", "http://[64:ff9b::a9fe:a9fe]/",
    # multicast, reserved, documentation
    "http://224.0.0.1/", "http://239.255.255.255/", "http://240.0.0.1/", "http://255.255.255.255/", "http://4294967295/",
    "http://192.0.0.1/", "http://192.0.2.1/", "http://198.18.0.1/", "http://198.51.100.1/", "http://203.0.113.9/",
    "http://192.88.99.1/", "http://[ff02::1]/", "http://[2001:db8::1]/", "http://[3fff::1]/", "http://[100::1]/",
    "http://[2001:10::1]/", "http://[4000::1]/", "http://[5f00::1]/",
]  # fmt: skip

MALFORMED = [
    "", "example.com", "//example.com/", "/path", "ftp://example.com/", "file:///etc/passwd", "gopher://example.com/",
    "javascript:alert(1)", "dict://localhost:11211/", "http:/example.com", "http:example.com", "http://", "http:///path",
    "https://:443/", "http://user@example.com/", "http://user:pass@example.com/", "http://example.com@127.0.0.1/",
    "http://@example.com/", "http://127.0.0.1:80@example.com/", "http://example.com:80:80/", "http://example.com:0/",
    "http://example.com:65536/", "http://example.com:99999999/", "http://example.com:-1/", "http://example.com:8o/",
    "http://example.com:/", "http://example.com:８０/", "http://exa mple.com/", "http://example.com/a b",
    "http://example.com/\r\nX: y", "http://example.com/\t", "\x00http://example.com/", " http://example.com/",
    "http://example.com\\@127.0.0.1/", "http://example.com/\\..", "http://exam\u200bple.com/", "http://[::1", "http://::1/",
    "http://[::1]x/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/", "http://[::1%2525lo]/", "http://[v1.a]/",
    "http://[127.0.0.1]/", "http://[]/", "http://[::g]/", "http://256.256.256.256/", "http://1.2.3.4.5/", "http://4294967296/",
    "http://08.0.0.1/", "http://0x7g.1/", "http://1.2.3.999/", "http://a.b.c.1/", "http://example.com.0x1/", "http://..",
    "http://example..com/", "http://.example.com/", "http://example.com../", "http://exa%00mple.com/", "http://exa%ffmple/",
    "http://127%252e0%252e0%252e1/", "http://example.com%2f@127.0.0.1/", "http://example.com%40127.0.0.1/",
    "http://example.com%3a80/", "http://-example.com/", "http://exa$mple.com/", "http://exa<mple>.com/",
    "http://" + "a" * 64,
    "http://" + ".".join(["a" * 60] * 5) + "/", "http://example.com/" + "a" * 9000, "http://*/", "http://xn--.\ufffd/",
]  # fmt: skip

ALLOWED = [
    ("http://example.com/", "example.com", 80, PUBLIC),
    ("HTTP://EXAMPLE.COM/", "example.com", 80, PUBLIC),
    ("https://example.com", "example.com", 443, PUBLIC),
    ("https://example.com./x", "example.com", 443, PUBLIC),
    ("https://example.com:8443/x?y=z", "example.com", 8443, PUBLIC),
    ("https://example.com?y=z", "example.com", 443, PUBLIC),
    ("https://example.com/#part", "example.com", 443, PUBLIC),
    ("https://sub.domain.example.co.uk/", "sub.domain.example.co.uk", 443, PUBLIC),
    ("https://my_service.example/", "my_service.example", 443, PUBLIC),
    ("https://r3---sn-abc.example/", "r3---sn-abc.example", 443, PUBLIC),
    ("https://127.0.0.1.example.com/", "127.0.0.1.example.com", 443, PUBLIC),
    ("https://bücher.example/", "xn--bcher-kva.example", 443, PUBLIC),
    ("https://faß.example/", "xn--fa-hia.example", 443, PUBLIC),
    ("https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, PUBLIC),
    ("https://例え.テスト/", "xn--r8jz45g.xn--zckzah", 443, PUBLIC),
    ("https://ex%61mple.com/", "example.com", 443, PUBLIC),
    ("https://ｅｘａｍｐｌｅ.com/", "example.com", 443, PUBLIC),
    ("http://8.8.8.8/", "8.8.8.8", 80, "8.8.8.8"),
    ("http://134744072/", "8.8.8.8", 80, "8.8.8.8"),
    ("http://0x08080808/", "8.8.8.8", 80, "8.8.8.8"),
    ("http://010.8.8.8/", "8.8.8.8", 80, "8.8.8.8"),
    ("http://172.15.255.255/", "172.15.255.255", 80, "172.15.255.255"),
    ("http://172.32.0.1/", "172.32.0.1", 80, "172.32.0.1"),
    ("http://100.128.0.1/", "100.128.0.1", 80, "100.128.0.1"),
    ("http://[2606:4700::1111]/", "2606:4700::1111", 80, "2606:4700::1111"),
    ("http://[2606:4700:0:0::1111]:81/", "2606:4700::1111", 81, "2606:4700::1111"),
    ("http://[::ffff:8.8.8.8]/", "8.8.8.8", 80, "8.8.8.8"),
    ("http://[64:ff9b::8.8.8.8]/", "64:ff9b::808:808", 80, "64:ff9b::808:808"),
]


@pytest.mark.parametrize("text", REFUSED)
async def test_an_address_that_is_not_public_is_refused(text: str) -> None:
    with pytest.raises(errors.Refused, match=r"not a public address.*WEFT_ALLOW_HOSTS") as caught:
        await guard.check(text, resolver=public)
    assert caught.value.details["why"]


@pytest.mark.parametrize("text", MALFORMED)
async def test_what_is_not_one_clear_url_is_refused(text: str) -> None:
    with pytest.raises(errors.Refused):
        await guard.check(text, resolver=public)


@pytest.mark.parametrize(("text", "host", "port", "address"), ALLOWED)
async def test_a_public_url_is_let_through(text: str, host: str, port: int, address: str) -> None:
    target = await guard.check(text, resolver=public)
    assert (target.url.host, target.url.port, target.address) == (host, port, address)


@pytest.mark.parametrize(
    "found",
    ["127.0.0.1", "10.1.2.3", "::1", "::ffff:10.0.0.1", "fe80::1", "169.254.169.254", "fd00:ec2::254", "0.0.0.0"],
)
async def test_a_name_that_resolves_to_a_private_address_is_refused(found: str) -> None:
    with pytest.raises(errors.Refused, match=r"innocent\.example resolves to"):
        await guard.check("https://innocent.example/", resolver=answering(found))


async def test_one_private_address_among_public_ones_refuses_the_host() -> None:
    with pytest.raises(errors.Refused, match="private"):
        await guard.check("https://mixed.example/", resolver=answering(PUBLIC, "10.0.0.1"))


@pytest.mark.parametrize("found", ["fe80::1%eth0", "not-an-address", "127.0.0.1:80"])
async def test_a_resolver_that_answers_nonsense_is_refused(found: str) -> None:
    with pytest.raises(errors.Refused):
        await guard.check("https://odd.example/", resolver=answering(found))


async def test_a_host_without_addresses_is_unreachable_not_refused() -> None:
    with pytest.raises(guard.Unreachable):
        await guard.check("https://empty.example/", resolver=answering())


async def test_a_name_that_cannot_be_resolved_is_unreachable_not_refused() -> None:
    with pytest.raises(guard.Unreachable, match="cannot be resolved"):
        await guard.check("https://does-not-exist.invalid/")


async def test_the_answer_holds_every_checked_address_in_order_once() -> None:
    target = await guard.check("https://two.example/", resolver=answering("8.8.8.8", "8.8.4.4", "8.8.8.8"))
    assert target.addresses == ("8.8.8.8", "8.8.4.4")


@pytest.mark.parametrize(
    ("text", "found", "entry"),
    [
        ("http://localhost:9000/", "127.0.0.1", "localhost"),
        ("http://localhost./", "127.0.0.1", "LOCALHOST"),
        ("http://localhost:9000/", "127.0.0.1", "localhost:9000"),
        ("http://localhost:9000/", "127.0.0.1", "127.0.0.1"),
        ("http://127.0.0.1:9000/", "-", "127.0.0.1:9000"),
        ("http://2130706433/", "-", "127.0.0.1"),
        ("http://[::ffff:127.0.0.1]/", "-", "127.0.0.1"),
        ("http://[::1]:9000/", "-", "[::1]:9000"),
        ("http://[::1]:9000/", "-", "::1"),
        ("http://api.corp.example/", "10.0.0.1", "*.corp.example"),
        ("http://api.corp.example/", "10.0.0.1", "10.0.0.0/8"),
        ("http://api.corp.example/", "fd12::1", "fd00::/8"),
        ("http://bücher.example/", "10.0.0.1", "bücher.example"),
        ("http://169.254.169.254/", "-", "169.254.169.254"),
        ("http://[64:ff9b::10.0.0.1]/", "-", "10.0.0.0/8"),
    ],
)
async def test_the_allow_list_opens_what_it_names(text: str, found: str, entry: str) -> None:
    target = await guard.check(text, allow=["unrelated.example", entry], resolver=answering(found))
    assert target.addresses


@pytest.mark.parametrize(
    ("text", "found", "entry"),
    [
        ("http://localhost:9001/", "127.0.0.1", "localhost:9000"),
        ("http://evil-localhost/", "127.0.0.1", "localhost"),
        ("http://corp.example/", "10.0.0.1", "*.corp.example"),
        ("http://evilcorp.example/", "10.0.0.1", "*.corp.example"),
        ("http://api.corp.example.evil.example/", "10.0.0.1", "*.corp.example"),
        ("http://api.corp.example/", "127.0.0.1", "10.0.0.0/8"),
        ("http://api.corp.example/", "169.254.169.254", "api.corp.example"),
        ("http://api.corp.example/", "169.254.169.254", "0.0.0.0/0"),
        ("http://169.254.169.254/", "-", "169.254.0.0/16"),
    ],
)
async def test_the_allow_list_opens_nothing_else(text: str, found: str, entry: str) -> None:
    with pytest.raises(errors.Refused):
        await guard.check(text, allow=[entry], resolver=answering(found))


@pytest.mark.parametrize(
    "entry", ["", "*", "*.10.0.0.1", "10.0.0.0/33", "host:0", "host:70000", "http://host", "a b", "[::1", "host:"]
)
def test_an_allow_list_entry_that_says_nothing_is_a_config_error(entry: str) -> None:
    with pytest.raises(errors.ConfigError, match="allow-list"):
        allow.read((entry,))


@given(st.ip_addresses())
def test_whatever_python_calls_private_is_refused(found: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    strange = found.is_private or found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified
    if strange or found.is_reserved:
        nat64 = found.version == 6 and found in ipaddress.IPv6Network("64:ff9b::/96")
        mapped = isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None
        assert nat64 or mapped or address.why_refused(found) is not None


@given(st.ip_addresses(v=4))
def test_every_notation_of_an_address_is_the_same_address(found: ipaddress.IPv4Address) -> None:
    number, parts = int(found), str(found).split(".")
    written = [
        str(found), str(number), hex(number), oct(number).replace("o", ""), ".".join(hex(int(part)) for part in parts),
        ".".join(f"0{int(part):o}" for part in parts), f"{parts[0]}.{number & 0xFFFFFF}", f"[::ffff:{found}]",
        "".join(f"%{ord(char):02x}" for char in str(found)), f"{found}.",
    ]  # fmt: skip
    assert {url.read_host(one) for one in written} == {(str(found), found)}


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_refused(text: str) -> None:
    for candidate in (text, f"http://{text}", f"https://example.com{text}"):
        try:
            parsed = url.parse(candidate)
        except errors.Refused:
            continue
        assert url.parse(str(parsed)) == parsed
