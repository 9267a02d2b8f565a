"""Task tokens: what proves, over HTTP, that an attempt is yours. Pure.

`weftt_` and a JWT (HS256) that says task, attempt, lease, org and expiry. Its head must be, byte for byte, one that we
write ourselves for a key we know: there is no algorithm to choose, so none to be talked into.
"""

import hashlib
import hmac
from collections.abc import Mapping

import msgspec

from weft.base import base64url, errors

PREFIX = "weftt_"

MARGIN = 300.0
"""Seconds a token outlives the task's timeout."""

NO_TIMEOUT = 3600.0
"""Seconds a token of a task without a timeout lives, besides the margin; heartbeats bring new ones."""

_LONGEST = 4000


class Proof(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attempt somebody holds, or held."""

    task: str
    attempt: int
    lease: str
    org: str
    exp: float
    """Seconds since 1970 by the database's clock."""
    key: str | None = None
    """Its concurrency key: whoever ends it must let the next one in."""
    by: str | None = None
    """The id of the key it was claimed with: without that key, it proves nothing."""
    run: bool = False
    """It belongs to a run, which goes on when it ends."""


class Keys:
    """Secrets by id. The newest signs, all of them verify."""

    def __init__(self, secrets: Mapping[str, bytes], *, current: str) -> None:
        self._macs = {id: _Mac(secret) for id, secret in secrets.items()}
        self._mac = self._macs[current]
        self._heads = {_head(id): id for id in secrets}
        self._signing = _head(current)

    def sign(self, proof: Proof) -> str:
        """The token of an attempt."""
        signed = f"{self._signing}.{base64url.encode(_encode(proof))}"
        return f"{PREFIX}{signed}.{base64url.encode(self._mac.of(signed.encode()))}"

    def verify(self, token: str, *, now: float) -> Proof:
        """What a token proves; Unauthenticated, saying why, if it proves nothing."""
        if not token.startswith(PREFIX) or len(token) > _LONGEST:
            raise errors.Unauthenticated("this is not a task token; use the one that came with the claim")
        head, _, rest = token[len(PREFIX) :].partition(".")
        body, _, mac = rest.partition(".")
        id = self._heads.get(head)
        if id is None:
            raise UnknownKey("the task token was signed by a key this server does not know")
        expected = base64url.encode(self._macs[id].of(f"{head}.{body}".encode()))
        if not hmac.compare_digest(expected.encode(), mac.encode()):
            raise errors.Unauthenticated("the signature of the task token is wrong")
        try:
            proof = _decode(base64url.decode(body))
        except (msgspec.DecodeError, ValueError):
            raise errors.Unauthenticated("the task token cannot be read") from None
        if proof.exp <= now:
            raise errors.Unauthenticated("the task token has expired", expired=True)
        return proof

    def fresh(self, token: str) -> bool:
        """Whether the key that signs now signed this token."""
        return token.startswith(f"{PREFIX}{self._signing}.")


class _Mac:
    """HMAC-SHA256 with one key, whose two blocks are hashed once: a third of the time of `hmac.digest`, which a server
    spends twice per task. A test compares the two."""

    def __init__(self, secret: bytes) -> None:
        block = (hashlib.sha256(secret).digest() if len(secret) > 64 else secret).ljust(64, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def of(self, message: bytes) -> bytes:
        inner = self._inner.copy()
        inner.update(message)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()


class UnknownKey(errors.Unauthenticated):
    """The token was signed by a key that is not known here (yet)."""


def lifetime(timeout: float | None) -> float:
    """Seconds a token lives."""
    return (NO_TIMEOUT if timeout is None else timeout) + MARGIN


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Proof).decode


def _head(id: str) -> str:
    return base64url.encode(msgspec.json.encode({"alg": "HS256", "typ": "JWT", "kid": id}))
