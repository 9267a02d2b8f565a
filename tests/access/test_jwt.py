"""Tokens that strangers send: whatever they are, they are refused as such."""

import pytest

from weft.access import code_flow, jwt
from weft.base import base64url, errors


@pytest.mark.parametrize("head", [b"", b"{", b"[]", b"\xff", b'{"alg":"RS256","x":' + b"[" * 3000], ids=lambda one: one[:8])
def test_what_is_no_token_is_refused(head: bytes) -> None:
    with pytest.raises(errors.Unauthenticated):
        jwt.read(f"{base64url.encode(head)}.e30.e30")
    with pytest.raises(errors.Unauthenticated):
        code_flow.Pending.read(base64url.encode(head))
