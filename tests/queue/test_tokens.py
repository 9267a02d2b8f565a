"""Task tokens: what they prove, and everything that they must not be taken for."""

import base64
import hashlib
import hmac
import json
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.base import errors
from weft.db.database import Database
from weft.queue import signing, tokens
from weft.queue.tokens import Keys, Proof

SECRET = b"s" * 32
KEYS = Keys({"k1": SECRET}, current="k1")
PROOF = Proof("t", 1, "l", "o", 1000.0)


def jwt(head: object, body: object, *, secret: bytes = SECRET, signed: bool = True) -> str:
    def written(part: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(part, separators=(",", ":")).encode()).rstrip(b"=").decode()

    text = f"{written(head)}.{written(body)}"
    mac = hmac.digest(secret, text.encode(), hashlib.sha256) if signed else b""
    return f"{tokens.PREFIX}{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


BODY = {"task": "t", "attempt": 1, "lease": "l", "org": "o", "exp": 1000.0}


@given(st.builds(Proof, st.text(), st.integers(1, 2**31), st.text(), st.text(), st.floats(101, 1e12), st.none() | st.text()))
def test_a_token_proves_what_was_signed(proof: Proof) -> None:
    assert KEYS.verify(KEYS.sign(proof), now=100) == proof


def test_it_is_a_jwt_anybody_can_read_and_only_the_key_can_make() -> None:
    head, body, mac = KEYS.sign(PROOF).removeprefix(tokens.PREFIX).split(".")
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "HS256", "typ": "JWT", "kid": "k1"}
    assert json.loads(base64.urlsafe_b64decode(body + "==")) == BODY
    expected = hmac.digest(SECRET, f"{head}.{body}".encode(), "sha256")
    assert base64.urlsafe_b64decode(mac + "==") == expected


def test_ours_and_what_the_test_makes_are_the_same() -> None:
    assert jwt({"alg": "HS256", "typ": "JWT", "kid": "k1"}, BODY) == KEYS.sign(PROOF)


@given(st.data())
def test_no_character_can_be_changed(data: st.DataObject) -> None:
    token = KEYS.sign(PROOF)
    place = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from("ABCabc019-_.=é").filter(lambda char: char != token[place]))
    with pytest.raises(errors.Unauthenticated):
        KEYS.verify(token[:place] + other + token[place + 1 :], now=0)


@given(st.text(max_size=200))
def test_other_text_proves_nothing(text: str) -> None:
    for token in (text, tokens.PREFIX + text):
        with pytest.raises(errors.Unauthenticated):
            KEYS.verify(token, now=0)


@pytest.mark.parametrize(
    "token",
    [
        jwt({"alg": "none", "typ": "JWT", "kid": "k1"}, BODY, signed=False),
        jwt({"alg": "none", "typ": "JWT", "kid": "k1"}, BODY),
        jwt({"alg": "HS512", "typ": "JWT", "kid": "k1"}, BODY),
        jwt({"alg": "hs256", "typ": "JWT", "kid": "k1"}, BODY),
        jwt({"alg": "HS256", "typ": "JWT"}, BODY),
        jwt({"kid": "k1", "alg": "HS256", "typ": "JWT"}, BODY),
        jwt({"alg": "HS256", "typ": "JWT", "kid": "k2"}, BODY),
        jwt({"alg": "HS256", "typ": "JWT", "kid": "k1"}, BODY, signed=False),
        jwt({"alg": "HS256", "typ": "JWT", "kid": "k1"}, BODY, secret=b"x" * 32),
        jwt({"alg": "HS256", "typ": "JWT", "kid": "k1"}, {"task": "t"}),
        jwt({"alg": "HS256", "typ": "JWT", "kid": "k1"}, [1]),
        jwt({"alg": "HS256", "typ": "JWT", "kid": "k1"}, {**BODY, "exp": "never"}),
        jwt({"alg": "HS256", "typ": "JWT", "kid": "k1"}, BODY) + "." + "x",
        "weftt_" + "a" * 5000,
    ],
)
def test_forged_tokens_prove_nothing(token: str) -> None:
    with pytest.raises(errors.Unauthenticated):
        KEYS.verify(token, now=0)


@given(st.binary(max_size=200), st.binary(max_size=500))
def test_our_mac_is_the_librarys(secret: bytes, message: bytes) -> None:
    assert tokens._Mac(secret).of(message) == hmac.digest(secret, message, "sha256")


def test_a_token_ends() -> None:
    token = KEYS.sign(PROOF)
    assert KEYS.verify(token, now=999.9) == PROOF
    for now in (1000, 1001, 1e12):
        with pytest.raises(errors.Unauthenticated, match="expired"):
            KEYS.verify(token, now=now)


def test_a_token_outlives_the_timeout_by_five_minutes() -> None:
    assert tokens.lifetime(60) == 360
    assert tokens.lifetime(None) == 3900


def test_the_newest_key_signs_and_all_verify() -> None:
    both = Keys({"k2": b"t" * 32, "k1": SECRET}, current="k2")
    old, new = KEYS.sign(PROOF), both.sign(PROOF)
    assert both.verify(old, now=0) == both.verify(new, now=0) == PROOF
    assert (both.fresh(old), both.fresh(new)) == (False, True)
    with pytest.raises(tokens.UnknownKey):
        KEYS.verify(new, now=0)


async def test_the_key_is_made_once_and_shared(database: Database) -> None:
    async with database.tx() as tx:
        first, _ = await signing.load(tx)
    async with database.tx() as tx:
        second, clock = await signing.load(tx)
        assert await tx.value("select count(*) from weft.signing_keys") == 1
        now = await tx.value("select extract(epoch from weft.now())::double precision")
    assert second.verify(first.sign(PROOF), now=0) == PROOF
    assert abs(clock.now() - now) < 60


async def test_rotation_keeps_the_old_key_for_a_while_and_then_forgets_it(database: Database) -> None:
    async with database.tx() as tx:
        old, _ = await signing.load(tx)
        await signing.rotate(tx)
        both, _ = await signing.load(tx)
    assert both.verify(old.sign(PROOF), now=0) == PROOF and not both.fresh(old.sign(PROOF))
    async with database.tx() as tx:
        await tx.run("update weft.signing_keys set retired_at = weft.now() - interval '1 second' where signs is null")
        await signing.rotate(tx)
        assert await tx.value("select count(*) from weft.signing_keys") == 2
        newest, _ = await signing.load(tx)
    with pytest.raises(tokens.UnknownKey):
        newest.verify(old.sign(PROOF), now=0)


async def test_no_tenant_can_read_the_keys(database: Database) -> None:

    with pytest.raises(errors.DatabaseError, match="permission denied"):
        async with database.tx(org=uuid.uuid4()) as tx:
            await tx.rows("select * from weft.signing_keys")
