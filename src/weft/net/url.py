"""URLs, parsed strictly. One reading of a URL is used for the check and for the connection, so no two can differ."""

import dataclasses
import ipaddress
import re
import unicodedata
import urllib.parse
from typing import Literal

import idna

from weft.base import errors

MAX_LENGTH = 8192

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_SHAPE = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)(?P<target>[^#]*)(?:#.*)?", re.IGNORECASE)
_PORT = re.compile(r"[0-9]{1,5}")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_KEPT = "%/?:@!$&'()*+,;=-._~[]"


@dataclasses.dataclass(frozen=True)
class Url:
    """An absolute http(s) URL. `host` is ASCII, lower case, without brackets, without the root's dot."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str
    """Path and query as they go on the wire."""
    address: Address | None
    """What `host` is, if it is an address in any notation rather than a name."""

    @property
    def default_port(self) -> bool:
        return self.port == (443 if self.scheme == "https" else 80)

    @property
    def authority(self) -> str:
        """What the Host header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.default_port else f"{host}:{self.port}"

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def public(self) -> str:
        """The URL without its query, which often holds a secret: fit for logs and messages."""
        path, mark, _ = self.target.partition("?")
        return f"{self.scheme}://{self.authority}{path}{'?…' if mark else ''}"


def parse(text: str) -> Url:
    """The URL that `text` is; Refused if it is none or could be read in two ways."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        raise errors.Refused(f"the URL must be text of at most {MAX_LENGTH:,} characters")
    if any(char == "\\" or char.isspace() or unicodedata.category(char) in ("Cc", "Cf", "Cs") for char in text):
        raise errors.Refused(f"{_shown(text)} has a space, backslash or control character; percent-encode it")
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise errors.Refused(f"{_shown(text)} is not an absolute http:// or https:// URL")
    scheme: Literal["http", "https"] = "https" if shape["scheme"].lower() == "https" else "http"
    if "@" in shape["authority"]:
        raise errors.Refused("the URL holds a user name or password; send an Authorization header instead")
    written, port = _split(shape["authority"], default=443 if scheme == "https" else 80)
    host, address = read_host(written)
    target = urllib.parse.quote(shape["target"], safe=_KEPT)
    return Url(scheme, host, port, target if target.startswith("/") else f"/{target}", address)


def read_host(written: str) -> tuple[str, Address | None]:
    """A host in canonical form, and the address it is if it is one. Knows every notation that resolvers accept."""
    if written.startswith("["):
        address = _ipv6(written)
        return str(address), address
    host = _ascii(_decoded(written)).removesuffix(".")
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        address4 = _ipv4(labels, written=written)
        return str(address4), address4
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise errors.Refused(f"the host {_shown(written)} is not a valid name")
    return host, None


def unwrap(address: Address) -> Address:
    """An IPv4 address written as IPv6 (::ffff:1.2.3.4) as what it is: the system connects over IPv4."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _split(authority: str, *, default: int) -> tuple[str, int]:
    if authority.startswith("["):
        inside, bracket, rest = authority.partition("]")
        host = inside + bracket
        if not bracket or (rest and not rest.startswith(":")):
            raise errors.Refused(f"the host {_shown(authority)} is not valid: an IPv6 address stands in brackets")
        colon, port = rest[:1], rest[1:]
    else:
        host, colon, port = authority.partition(":")
    if not host:
        raise errors.Refused("the URL names no host")
    if not colon:
        return host, default
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        raise errors.Refused(f"the port {_shown(port)} is not a number from 1 to 65535")
    return host, int(port)


def _ipv6(written: str) -> Address:
    inside = written[1:-1]
    if "%" in inside:
        raise errors.Refused(
            f"the address {_shown(written)} has a zone, which only reaches this machine's own networks"
        )
    try:
        return unwrap(ipaddress.IPv6Address(inside))
    except ValueError:
        raise errors.Refused(f"{_shown(written)} is not a valid IPv6 address") from None


def _decoded(written: str) -> str:
    if "%" not in written:
        return written
    try:
        decoded = urllib.parse.unquote(written, errors="strict")
    except UnicodeDecodeError:
        decoded = "%"
    # a second level of encoding, or an encoded delimiter, has no honest use in a host
    if "%" in decoded or any(char in "/?#@:[]\\" or char.isspace() for char in decoded):
        raise errors.Refused(f"the host {_shown(written)} is not validly percent-encoded")
    return decoded


def _ascii(host: str) -> str:
    """Full-width digits, circled letters, the ideographic full stop… become what a resolver would make of them."""
    if host.isascii():
        return host.lower()
    try:
        mapped = idna.uts46_remap(host, std3_rules=False, transitional=False)
        return ".".join(
            label.lower() if label.isascii() else idna.alabel(label).decode("ascii") for label in mapped.split(".")
        )
    except idna.IDNAError as error:
        raise errors.Refused(f"the host {_shown(host)} is not a valid international name: {error}") from None


def _ipv4(labels: list[str], *, written: str) -> ipaddress.IPv4Address:
    """`inet_aton`: one to four parts, decimal, octal (0…) or hexadecimal (0x…); the last fills what is left."""
    if len(labels) <= 4 and all(_NUMBER.fullmatch(label) for label in labels):
        try:
            numbers = [_number(label) for label in labels]
        except ValueError:
            numbers = [-1]
        *heads, last = numbers
        if all(0 <= head <= 255 for head in heads) and 0 <= last < 256 ** (4 - len(heads)):
            high = sum(head << (24 - 8 * place) for place, head in enumerate(heads))
            return ipaddress.IPv4Address(high + last)
    raise errors.Refused(f"the host {_shown(written)} ends in a number but is not a valid IPv4 address")


def _number(label: str) -> int:
    if len(label) > 40:
        raise ValueError(label)
    if label.startswith("0x"):
        return int(label[2:] or "0", 16)
    return int(label, 8 if label.startswith("0") else 10)


def _shown(text: str) -> str:
    """What a user wrote, short and without anything that could play tricks in a terminal or log."""
    return ascii(text if len(text) <= 80 else text[:77] + "...")
