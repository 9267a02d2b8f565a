"""The allow-list: private hosts that may be called in spite of the guard.

An entry is `host`, `host:port`, `*.domain`, an address, `address:port`, `[ipv6]:port` or a network (`10.0.0.0/8`).
A name opens whatever it resolves to, except cloud metadata: that takes the address itself, so that neither a wide
network nor a name in somebody else's hands can open it.
"""

import dataclasses
import functools
import ipaddress

from weft.base import errors
from weft.net import address as addresses
from weft.net import url as urls
from weft.net.url import Address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of the list: a name or a network, on one port or all."""

    name: str | None
    network: Network | None
    port: int | None

    def admits(self, host: str, *, address: Address, port: int) -> bool:
        if self.port is not None and self.port != port:
            return False
        if self.network is not None:
            if addresses.is_metadata(address) and self.network.num_addresses > 1:
                return False
            return any(
                one.version == self.network.version and one in self.network for one in addresses.meanings(address)
            )
        if self.name is None or addresses.is_metadata(address):
            return False
        return host.endswith(self.name[1:]) if self.name.startswith("*.") else host == self.name


@functools.lru_cache(maxsize=256)
def read(entries: tuple[str, ...]) -> tuple[Entry, ...]:
    """The list as people write it; ConfigError names an entry that says nothing."""
    return tuple(_entry(text) for text in entries)


def _entry(text: str) -> Entry:
    try:
        if "/" in text:
            return Entry(None, ipaddress.ip_network(text, strict=False), None)
        if text.count(":") > 1 and not text.startswith("["):
            return _host(f"[{text}]", port=None)
        host, colon, port = text.rpartition(":") if text.rpartition(":")[2].isdecimal() else (text, "", "")
        return _host(host, port=int(port) if colon else None)
    except (ValueError, errors.Refused):
        raise errors.ConfigError(
            f"the allow-list entry {text!r} is not valid: write a host, host:port, *.domain, an address or a network "
            f"such as 10.0.0.0/8"
        ) from None


def _host(written: str, *, port: int | None) -> Entry:
    if port is not None and not 1 <= port <= 65535:
        raise ValueError(port)
    if written.startswith("[") and not written.endswith("]"):
        raise ValueError(written)
    if written.startswith("*."):
        name, address = urls.read_host(written[2:])
        if address is not None:
            raise ValueError(written)
        return Entry(f"*.{name}", None, port)
    name, address = urls.read_host(written)
    if address is not None:
        return Entry(None, ipaddress.ip_network(str(address)), port)
    return Entry(name, None, port)
