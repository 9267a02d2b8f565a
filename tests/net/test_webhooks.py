"""Signatures of webhooks: whoever has the key can tell, nobody else can make one."""

import base64
import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from weft.net import webhooks


def test_it_is_the_hmac_of_id_timestamp_and_body_as_standard_webhooks_has_it() -> None:
    told = webhooks.headers(b"k" * 32, id="msg", timestamp=1_700_000_000, body=b'{"a": 1}')
    expected = base64.b64encode(hmac.new(b"k" * 32, b'msg.1700000000.{"a": 1}', hashlib.sha256).digest()).decode()
    assert told == {"webhook-id": "msg", "webhook-timestamp": "1700000000", "webhook-signature": f"v1,{expected}"}


@given(key=st.binary(min_size=1), body=st.binary(), id=st.uuids(), timestamp=st.integers(0, 2**40), other=st.binary())
def test_only_the_same_key_id_time_and_body_fit(key: bytes, body: bytes, id: object, timestamp: int, other: bytes) -> None:
    told = webhooks.headers(key, id=str(id), timestamp=timestamp, body=body)
    assert webhooks.is_genuine(key, told, body)
    assert not webhooks.is_genuine(key + b"x", told, body)
    assert other == body or not webhooks.is_genuine(key, told, other)
    assert not webhooks.is_genuine(key, {**told, "webhook-timestamp": str(timestamp + 1)}, body)
    assert not webhooks.is_genuine(key, {**told, "webhook-id": "another"}, body)
    assert webhooks.is_genuine(key, {**told, "webhook-signature": f"v0,x {told['webhook-signature']}"}, body)
    assert not webhooks.is_genuine(key, {}, body)


@given(st.binary(min_size=1))
def test_a_key_is_read_as_it_was_written(key: bytes) -> None:
    assert webhooks.read_key(webhooks.write_key(key)) == key and webhooks.write_key(key).startswith("whsec_")
