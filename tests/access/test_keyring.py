"""Keys that seal secrets: where they come from, what they open."""

import base64
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.access import keyring
from weft.access.keyring import Box, Keyring
from weft.base import errors
from weft.base.config import Settings

OLD, NEW = keyring.generate(), keyring.generate()


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="weft-keys-"))
    yield made
    shutil.rmtree(made)


def ring(*texts: str) -> Keyring:
    return keyring.load(Settings(database_url="x", secret_key=",".join(texts)))


def test_what_was_sealed_opens_with_the_same_about_only() -> None:
    box = ring(NEW).seal("hello secret", about="mine")
    assert ring(NEW).open(box, about="mine") == "hello secret"
    with pytest.raises(errors.DatabaseError, match="does not open"):
        ring(NEW).open(box, about="theirs")
    assert b"hello" not in box.sealed and "hello" not in repr(box) and base64.b64encode(box.sealed).decode() not in repr(box)


def test_every_bit_of_a_box_counts() -> None:
    box = ring(NEW).seal("hello secret", about="mine")
    for place in range(len(box.sealed)):
        bent = bytes(byte ^ (n == place) for n, byte in enumerate(box.sealed))
        with pytest.raises(errors.DatabaseError):
            ring(NEW).open(Box(box.key_id, box.nonce, bent), about="mine")


def test_the_first_key_seals_and_all_open() -> None:
    box = ring(OLD).seal("hello secret", about="x")
    assert ring(NEW, OLD).open(box, about="x") == "hello secret"
    assert ring(NEW, OLD).seal("y", about="x").key_id == ring(NEW).current != box.key_id
    with pytest.raises(errors.NoSecretKey, match=box.key_id):
        ring(NEW).open(box, about="x")


@pytest.mark.parametrize("text", ["", "short", "AAAA", OLD[:-4], OLD + "AAAA", "ä" * 44, f"{OLD},nonsense"], ids=range(7))
def test_what_is_no_key_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        keyring.parse(text.replace(",", "\n"), where="WEFT_SECRET_KEY")
    assert len(text) < 5 or text not in str(caught.value)


def test_a_key_may_be_written_for_urls() -> None:
    raw = bytes(range(224, 256))
    assert keyring.parse(base64.urlsafe_b64encode(raw).decode().rstrip("="), where="x") == [raw]


def test_a_file_must_be_closed_to_others(folder: Path) -> None:
    file = folder / "key"
    file.write_text(f"{NEW}\n{OLD}\n")
    settings = Settings(database_url="x", secret_key_file=file)
    for mode in (0o644, 0o604, 0o622, 0o602):
        file.chmod(mode)
        with pytest.raises(errors.ConfigError, match="chmod 600"):
            keyring.load(settings)
    for mode in (0o600, 0o400, 0o440):
        file.chmod(mode)
        assert keyring.load(settings).ids == [keyring.key_id(base64.b64decode(one)) for one in (NEW, OLD)]
    with pytest.raises(errors.ConfigError, match="cannot be read"):
        keyring.load(Settings(database_url="x", secret_key_file=folder / "nothing"))


def test_another_database_has_no_secrets_without_a_key() -> None:
    with pytest.raises(errors.NoSecretKey, match="weft secret keygen"):
        keyring.load(Settings(database_url="x"), create=True)


def test_the_embedded_database_makes_its_own_key_once(folder: Path) -> None:
    settings = Settings(folder=folder)
    with pytest.raises(errors.NoSecretKey):
        keyring.load(settings)
    first = keyring.load(settings, create=True)
    assert keyring.load(settings, create=True).current == keyring.load(settings).current == first.current
    assert os.stat(folder / "secret.key").st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == ["secret.key"]


def test_settings_do_not_show_the_key() -> None:
    assert OLD not in repr(Settings(secret_key=OLD))
