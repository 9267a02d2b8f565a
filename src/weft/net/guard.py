"""The SSRF guard: says where a URL may connect to, or refuses.

The host is resolved once. If any of its addresses is not public, the whole host is refused unless the allow-list has
it; otherwise the answer holds the very addresses that were checked, and the caller connects to those.
"""

import asyncio
import dataclasses
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

from weft.base import errors
from weft.net import address as addresses
from weft.net import allow as allowing
from weft.net import url as urls
from weft.net.url import Address, Url

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port → every address, as text."""

_MOST_ADDRESSES = 8


class Unreachable(errors.WeftError):
    """The host cannot be reached now."""

    code = "UNREACHABLE"


@dataclasses.dataclass(frozen=True)
class Target:
    """A URL that may be called, and the checked addresses to connect to, best first."""

    url: Url
    addresses: tuple[str, ...]

    @property
    def address(self) -> str:
        return self.addresses[0]


async def resolve(host: str, port: int) -> list[str]:
    """What the system's resolver says, in its order of preference."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unreachable(f"the host {host} cannot be resolved: {error}", host=host) from error
    return [str(entry[4][0]) for entry in found]


async def check(text: str, *, allow: Sequence[str] = (), resolver: Resolver = resolve) -> Target:
    """Where `text` may connect to. Refused says what is in the way and how to allow it."""
    url = urls.parse(text)
    if url.address is not None:
        return decide(url, [url.address], allow=allow)
    written = await resolver(url.host, url.port)
    return decide(url, [_read(one, host=url.host) for one in dict.fromkeys(written)], allow=allow)


def decide(url: Url, found: Sequence[Address], *, allow: Sequence[str] = ()) -> Target:
    """Pure: the target of a URL whose host has these addresses."""
    if not found:
        raise Unreachable(f"the host {url.host} has no address", host=url.host)
    entries = allowing.read(tuple(allow))
    for address in found:
        why = addresses.why_refused(address)
        if why and not any(entry.admits(url.host, address=address, port=url.port) for entry in entries):
            raise errors.Refused(_words(url, address, why=why), host=url.host, address=str(address), why=why)
    return Target(url, tuple(str(address) for address in found[:_MOST_ADDRESSES]))


def _read(written: str, *, host: str) -> Address:
    try:
        address = urls.unwrap(ipaddress.ip_address(written))
    except ValueError:
        raise errors.Refused(f"the resolver gave {written!r} for {host}, which is not an address") from None
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        raise errors.Refused(f"{host} resolves to {address}, which only exists on this machine's own networks")
    return address


def _words(url: Url, address: Address, *, why: str) -> str:
    where = f"{url.host} is" if url.address is not None else f"{url.host} resolves to {address}, which is"
    entry = str(address) if addresses.is_metadata(address) or url.address is not None else url.host
    return (
        f"calling {url.public} is refused: {where} not a public address but {why}. "
        f"If this is wanted, add {entry} to WEFT_ALLOW_HOSTS"
    )
