"""Which addresses are public. Everything that is not known to be is refused."""

import ipaddress

from weft.net.url import Address

_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "169.254.169.254",  # most clouds
        "169.254.170.2",  # AWS container credentials
        "169.254.170.23",  # AWS pod identity
        "169.254.0.23",  # Tencent
        "100.100.100.200",  # Alibaba
        "192.0.0.192",  # Oracle
        "168.63.129.16",  # Azure, on an address that looks public
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
    )
)

_IPV4 = tuple(
    (ipaddress.IPv4Network(network), why)
    for network, why in (
        ("0.0.0.0/8", "unspecified"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared (carrier-grade NAT)"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved (documentation)"),
        ("192.88.99.0/24", "reserved (6to4 relay)"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved (benchmarking)"),
        ("198.51.100.0/24", "reserved (documentation)"),
        ("203.0.113.0/24", "reserved (documentation)"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
    )
)

# the first that contains the address speaks
_IPV6 = tuple(
    (ipaddress.IPv6Network(network), why)
    for network, why in (
        ("::1/128", "loopback"),
        ("::/128", "unspecified"),
        ("64:ff9b:1::/48", "private (local NAT64)"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private (site-local)"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "a tunnel (Teredo)"),
        ("2001::/23", "reserved"),
        ("2001:db8::/32", "reserved (documentation)"),
        ("2002::/16", "a tunnel (6to4)"),
        ("3fff::/20", "reserved (documentation)"),
    )
)
_IPV6_PUBLIC = ipaddress.IPv6Network("2000::/3")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# interface identifiers 0000:5efe and 0200:5efe, then an IPv4 address
_ISATAP = (0x00005EFE, 0x02005EFE)


LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""What a machine calls itself."""


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host that is listened on."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_metadata(address: Address) -> bool:
    """Whether this is where a cloud hands out its credentials."""
    return any(one in _METADATA for one in meanings(address))


def why_refused(address: Address) -> str | None:
    """Why an address is not public ('loopback', 'private'…), or None if it is."""
    if is_metadata(address):
        return "cloud metadata"
    if isinstance(address, ipaddress.IPv4Address):
        return next((why for network, why in _IPV4 if address in network), None)
    for inner in meanings(address)[1:]:
        if why := why_refused(inner):
            return f"{why} ({inner}) inside IPv6"
    for network, why in _IPV6:
        if address in network:
            return why
    return None if address in _IPV6_PUBLIC or address in _NAT64 else "reserved"


def meanings(address: Address) -> tuple[Address, ...]:
    """The address and the IPv4 address that a translator would read out of it."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return address, address.ipv4_mapped
    if address in _NAT64 or (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return address, ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return (address,)
