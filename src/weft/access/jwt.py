"""Tokens of an OIDC issuer: read, checked against the issuer's keys, judged by what they claim. Pure.

The algorithm is the configured one. A token's head may agree with it or be refused; it never chooses. Keys that do not fit
the algorithm (an HMAC secret among RSA keys, a short RSA key) are as good as not there.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from weft.base import base64url, errors

Algorithm = Literal["RS256", "PS256", "ES256", "EdDSA"]
Verify = Callable[[bytes, bytes], None]
"""Signature, signed → nothing, or InvalidSignature."""

LONGEST = 8192
_MOST_KEYS = 64
_SMALLEST_RSA = 2048
_LARGEST_RSA = 8192
_TYPES = frozenset({None, "jwt", "at+jwt", "application/at+jwt"})


class Head(msgspec.Struct, frozen=True):
    """What a token says of itself, before anything of it is believed."""

    alg: str
    kid: str | None = None
    typ: str | None = None
    crit: msgspec.Raw | None = None


class Claims(msgspec.Struct, frozen=True):
    """What we ask of a token. Times are seconds since 1970."""

    iss: str
    sub: str
    aud: str | list[str]
    exp: float
    nbf: float | None = None
    iat: float | None = None


class Token(msgspec.Struct, frozen=True):
    """A token that was read, and nothing more: whoever wrote it may be anybody."""

    head: Head
    body: bytes
    signed: bytes
    signature: bytes


def looks_like_one(text: str) -> bool:
    """Whether a credential is meant to be a token: three parts, the first a JSON object."""
    return text.startswith("eyJ") and text.count(".") == 2


def read(text: str) -> Token:
    """Takes a token apart; Unauthenticated if it is none."""
    if len(text) > LONGEST or not text.isascii():
        raise errors.Unauthenticated("the token is longer than any token we take")
    head, _, rest = text.partition(".")
    body, _, signature = rest.partition(".")
    try:
        read_head = msgspec.json.decode(base64url.decode(head), type=Head)
        return Token(read_head, base64url.decode(body), f"{head}.{body}".encode(), base64url.decode(signature))
    except (ValueError, RecursionError):
        raise errors.Unauthenticated("the token cannot be read; send it exactly as the issuer gave it") from None


def verify(token: Token, keys: Mapping[str | None, Verify], *, algorithm: Algorithm) -> dict[str, Any]:
    """What a token says, which one of these keys has signed; UnknownKey if it names another."""
    if token.head.alg != algorithm:
        raise errors.Unauthenticated(f"the token is signed with {token.head.alg[:20]!r}; this server takes {algorithm} only")
    if token.head.crit is not None or (token.head.typ and token.head.typ.lower()) not in _TYPES:
        raise errors.Unauthenticated("the token is of a kind this server does not take; send the issuer's access token")
    check = keys.get(token.head.kid)
    if check is None and token.head.kid is None and len(keys) == 1:
        [check] = keys.values()
    if check is None:
        raise UnknownKey
    try:
        check(token.signature, token.signed)
    except InvalidSignature:
        raise errors.Unauthenticated("the token's signature is wrong") from None
    try:
        found: dict[str, Any] = msgspec.json.decode(token.body, type=dict[str, Any])
    except (ValueError, RecursionError):
        raise errors.Unauthenticated("the token cannot be read") from None
    return found


def claims(said: Mapping[str, Any], *, issuer: str, audience: str) -> Claims:
    """What a verified token claims; Unauthenticated if it comes from, or is meant for, somebody else."""
    try:
        found = msgspec.convert(said, Claims)
    except msgspec.ValidationError as error:
        raise errors.Unauthenticated(f"the token lacks what it must say: {error}") from None
    if found.iss != issuer:
        raise errors.Unauthenticated("the token is from another issuer than this server's")
    if audience not in ([found.aud] if isinstance(found.aud, str) else found.aud):
        raise errors.Unauthenticated("the token is meant for another audience than this server")
    if not found.sub:
        raise errors.Unauthenticated("the token names nobody: its `sub` is empty")
    return found


def judge(claims: Claims, *, now: float, leeway: float) -> None:
    """Unauthenticated before and after the token's time, with a little leeway for clocks that differ."""
    if not claims.exp + leeway > now:
        raise errors.Unauthenticated("the token has expired; log in again", expired=True)
    if claims.nbf is not None and not claims.nbf - leeway <= now:
        raise errors.Unauthenticated("the token is not valid yet; is the issuer's clock, or the database's, right?")
    if claims.iat is not None and not claims.iat - leeway <= now:
        raise errors.Unauthenticated("the token was made in the future; is the issuer's clock, or the database's, right?")


def keys(document: bytes, *, algorithm: Algorithm) -> dict[str | None, Verify]:
    """Of an issuer's JWKS those keys that can verify this algorithm, by their id."""
    try:
        listed = msgspec.json.decode(document, type=_Jwks).keys
    except (ValueError, RecursionError):
        raise errors.Unavailable("the issuer's document of keys is not a JWKS") from None
    found: dict[str | None, Verify] = {}
    for one in listed[:_MOST_KEYS]:
        try:
            key = msgspec.convert(one, Jwk)
            if key.kid not in found and (made := _verifier(key, algorithm)) is not None:
                found[key.kid] = made
        except (msgspec.ValidationError, ValueError):
            continue  # a key of a kind we do not know is not ours to judge
    return found


class UnknownKey(errors.Unauthenticated):
    """The token was signed by a key that the issuer does not show (any more)."""


class Jwk(msgspec.Struct, frozen=True):
    """A public key as issuers write it."""

    kty: str
    kid: str | None = None
    use: str | None = None
    alg: str | None = None
    crv: str | None = None
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""


class _Jwks(msgspec.Struct):
    keys: list[Any]


def _verifier(key: Jwk, algorithm: Algorithm) -> Verify | None:
    """How to check a signature with this key; None if it is not a key for that."""
    if key.use not in (None, "sig") or key.alg not in (None, algorithm):
        return None
    match algorithm, key.kty, key.crv:
        case ("RS256" | "PS256"), "RSA", _:
            return _rsa(key, algorithm)
        case "ES256", "EC", "P-256":
            return _ec(key)
        case "EdDSA", "OKP", "Ed25519":
            return _ed25519(key)
        case _:
            return None


def _rsa(key: Jwk, algorithm: Algorithm) -> Verify | None:
    n = _number(key.n)
    if not _SMALLEST_RSA <= n.bit_length() <= _LARGEST_RSA:
        return None
    public = rsa.RSAPublicNumbers(_number(key.e), n).public_key()
    padded: padding.AsymmetricPadding = padding.PKCS1v15()
    if algorithm == "PS256":
        padded = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
    return lambda signature, signed: public.verify(signature, signed, padded, hashes.SHA256())


def _ec(key: Jwk) -> Verify:
    public = ec.EllipticCurvePublicNumbers(_number(key.x), _number(key.y), ec.SECP256R1()).public_key()

    def verify(signature: bytes, signed: bytes) -> None:
        if len(signature) != 64:
            raise InvalidSignature
        halves = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        public.verify(encode_dss_signature(*halves), signed, ec.ECDSA(hashes.SHA256()))

    return verify


def _ed25519(key: Jwk) -> Verify:
    return ed25519.Ed25519PublicKey.from_public_bytes(base64url.decode(key.x)).verify


def _number(text: str) -> int:
    return int.from_bytes(base64url.decode(text), "big")
