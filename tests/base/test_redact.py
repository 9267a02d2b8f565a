"""What was given to a task as a secret is found in what it says, in every form that programs give texts."""

import base64
import codecs
import html
import json
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.base.redact import MASK, Redactor

SECRET = 's3cr3t/"näive"+<&>\'x= 17'

ENCODINGS = {
    "plain": SECRET,
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "base64url": base64.urlsafe_b64encode(SECRET.encode()).decode(),
    "hex": SECRET.encode().hex(),
    "upper-case hex": SECRET.encode().hex().upper(),
    "URL-encoded": urllib.parse.quote(SECRET, safe=""),
    "form-encoded": urllib.parse.quote_plus(SECRET),
    "JSON-escaped": json.dumps(SECRET)[1:-1],
    "JSON-escaped, but for letters": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "reversed": SECRET[::-1],
    "rot13": codecs.encode(SECRET, "rot13"),
    "repr": repr(SECRET)[1:-1],
    "JSON in JSON": json.dumps(json.dumps({"a": SECRET})),
    "JSON in a repr": repr((json.dumps(SECRET), 1)),
    "reversed in a repr": repr([SECRET[::-1]]),
    "HTML": html.escape(SECRET),
    "basic authentication": base64.b64encode(f"user:{SECRET}".encode()).decode(),
    "in the middle of base64": base64.b64encode(f"ab{SECRET}, and more".encode()).decode(),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_form_is_found(name: str) -> None:
    found = Redactor([SECRET]).text(f"before {ENCODINGS[name]} after")
    assert MASK in found and found.startswith("before ") and found.endswith(" after")


@given(st.text(min_size=8, max_size=40, alphabet=st.characters(min_codepoint=33, max_codepoint=0x2FF)), st.text(max_size=9))
def test_whatever_the_secret_and_wherever_it_begins(secret: str, before: str) -> None:
    hide = Redactor([secret])
    assert secret not in hide.text(f"{before}{secret}!")
    encoded = base64.b64encode(f"{before}{secret}".encode()).decode()
    found = hide.text(encoded)
    assert MASK in found and len(found.replace(MASK, "")) <= len(base64.b64encode(before.encode())) + 4


def test_texts_inside_values_are_found_and_the_rest_stays() -> None:
    hide = Redactor(["hunter2hunter2"])
    value = {"a": ["hunter2hunter2", 1, None, True, {"hunter2hunter2": "x hunter2hunter2"}], "b": 2.5}
    assert hide.value(value) == {"a": [MASK, 1, None, True, {MASK: f"x {MASK}"}], "b": 2.5}


def test_lines_of_a_long_secret_are_found_one_by_one() -> None:
    pem = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----"
    hide = Redactor([pem])
    assert hide.text("got MIIEvQIBADANBgkqhkiG9w0B") == f"got {MASK}"
    assert hide.text("-----BEGIN KEY-----") == "-----BEGIN KEY-----"


def test_a_text_that_was_cut_shows_no_half() -> None:
    hide = Redactor(["correct horse battery"])
    long = "x" * 5000
    for size in range(4, 21):
        assert hide.text(f"{long} {'correct horse battery'[:size]}") == f"{long} {MASK}"
        assert hide.text(f"{'correct horse battery'[-size:]} {long}") == f"{MASK} {long}"
    # chance, and texts nobody cuts
    assert hide.text(f"{long} cor") == f"{long} cor" and hide.text("it is correct") == "it is correct"


def test_large_secrets_are_no_trouble() -> None:
    large = "\n".join(f"{n:05d} is a line of its own, long enough to count" for n in range(1300))
    hide = Redactor([large])
    assert hide.text(f"before {large} after") == f"before {MASK} after"
    assert "long enough" not in hide.text("x" * 500 + large[:40_000])


def test_of_two_secrets_the_longer_goes_whole() -> None:
    assert Redactor(["password", "password-of-prod"]).text("password-of-prod") == MASK


def test_without_secrets_nothing_changes() -> None:
    assert Redactor([]).text("anything") == "anything"
