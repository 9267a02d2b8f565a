"""Bytes as texts that stand in URLs, headers and tokens: base64 with - and _, without padding."""

import base64
import binascii
import re

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_TEXT = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)


def encode(raw: bytes) -> str:
    return binascii.b2a_base64(raw, newline=False).translate(_URL_SAFE).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """ValueError for what nobody who encodes would write."""
    if not _TEXT.fullmatch(text):
        raise ValueError("not base64url")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
