"""Signing what is sent to others' addresses, so that they know whom it is from and that it is not an old one again. Pure.

    webhook-id         the same for every try: whoever has seen it ignores it
    webhook-timestamp  seconds since 1970; refuse what is older than a few minutes
    webhook-signature  v1,base64(HMAC-SHA256(key, id "." timestamp "." body))

The key is written `whsec_` and base64, as the Standard Webhooks specification has it; so are the headers.
"""

import base64
import hashlib
import hmac

_PREFIX = "whsec_"


def headers(key: bytes, *, id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """What goes with a body."""
    signed = base64.b64encode(_digest(key, id=id, timestamp=str(timestamp), body=body)).decode()
    return {"webhook-id": id, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{signed}"}


def is_genuine(key: bytes, told: dict[str, str], body: bytes) -> bool:
    """Whether these headers (in lower case) fit the body; the age is the receiver's to judge."""
    expected = _digest(
        key, id=told.get("webhook-id", ""), timestamp=told.get("webhook-timestamp", ""), body=body
    )  # fmt: skip
    for one in told.get("webhook-signature", "").split():
        version, _, signature = one.partition(",")
        if version == "v1" and hmac.compare_digest(signature.encode(), base64.b64encode(expected)):
            return True
    return False


def write_key(key: bytes) -> str:
    return _PREFIX + base64.b64encode(key).decode()


def read_key(text: str) -> bytes:
    return base64.b64decode(text.removeprefix(_PREFIX))


def _digest(key: bytes, *, id: str, timestamp: str, body: bytes) -> bytes:
    return hmac.digest(key, f"{id}.{timestamp}.".encode() + body, hashlib.sha256)
