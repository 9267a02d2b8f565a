"""The keys that seal secrets: read from the environment or a file, never stored in the database.

A ring is a list of keys, 32 bytes in base64 each. The first seals; all of them open. A key's id is made from the key, so
that no two rings can mean different keys by one name:

    WEFT_SECRET_KEY       keys separated by commas
    WEFT_SECRET_KEY_FILE  a file with a key per line; nobody else may read it
    neither               the embedded database keeps one in its folder; another database has no secrets
"""

import base64
import binascii
import contextlib
import dataclasses
import hashlib
import os
import secrets
import stat
from collections.abc import Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from weft.base import errors
from weft.base.config import Settings

_SIZE = 32
_NONCE = 12
_FILE = "secret.key"
_HOW = "make a key with `weft secret keygen`, write it into a file and name that in WEFT_SECRET_KEY_FILE"


@dataclasses.dataclass(frozen=True)
class Box:
    """Something sealed, and which key seals it."""

    key_id: str
    nonce: bytes
    sealed: bytes = dataclasses.field(repr=False)


class Keyring:
    """Seals with its first key, opens with any."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._keys = {key_id(key): key for key in keys}
        self.current = key_id(keys[0])

    @property
    def ids(self) -> list[str]:
        return list(self._keys)

    def seal(self, text: str, *, about: str) -> Box:
        """`about` says what it is and whose: it opens only together with the same."""
        nonce = os.urandom(_NONCE)
        return Box(self.current, nonce, AESGCM(self._keys[self.current]).encrypt(nonce, text.encode(), about.encode()))

    def open(self, box: Box, *, about: str) -> str:
        """NoSecretKey: its key is not here. DatabaseError: the row was changed by somebody who had no key."""
        key = self._keys.get(box.key_id)
        if key is None:
            raise errors.NoSecretKey(
                f"a secret is sealed with the key {box.key_id}, which this process does not have; add it to its ring"
            )
        try:
            return AESGCM(key).decrypt(box.nonce, box.sealed, about.encode()).decode()
        except InvalidTag:
            raise errors.DatabaseError("a secret does not open: its row was damaged or changed; set it again") from None


def load(settings: Settings, *, create: bool = False) -> Keyring:
    """The ring of the settings; NoSecretKey says how to get one. `create` makes the embedded database's own."""
    if settings.secret_key is not None:
        return Keyring(parse(settings.secret_key.replace(",", "\n"), where="WEFT_SECRET_KEY"))
    if settings.secret_key_file is not None:
        return Keyring(parse(_read(settings.secret_key_file), where=str(settings.secret_key_file)))
    if settings.database_url is not None:
        raise errors.NoSecretKey(f"there is no key to seal secrets with; {_HOW}")
    file = settings.folder / _FILE
    if create:
        _make(file)
    if not file.exists():
        raise errors.NoSecretKey("there are no secrets yet; `weft secret set NAME` keeps one")
    return Keyring(parse(_read(file), where=str(file)))


def find(settings: Settings) -> Keyring | None:
    """The ring, made if it is the embedded database's own; None if nobody has set one up."""
    if settings.database_url is not None and settings.secret_key is None and settings.secret_key_file is None:
        return None
    return load(settings, create=True)


def parse(text: str, *, where: str) -> list[bytes]:
    """The keys of a ring; ConfigError names what is wrong, without showing it."""
    lines = [line.strip() for line in text.splitlines()]
    keys = [_key(line, where=f"{where}, key {n}") for n, line in enumerate((one for one in lines if one), 1)]
    if not keys:
        raise errors.ConfigError(f"{where} holds no key; {_HOW}")
    return keys


def generate() -> str:
    """A new key, as a ring holds it."""
    return base64.b64encode(secrets.token_bytes(_SIZE)).decode()


def key_id(key: bytes) -> str:
    return hashlib.sha256(b"weft secret key\0" + key).hexdigest()[:16]


def _key(line: str, *, where: str) -> bytes:
    try:
        key = base64.b64decode(line.replace("-", "+").replace("_", "/") + "=" * (-len(line) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != _SIZE:
        raise errors.ConfigError(f"{where}: a key is {_SIZE} bytes in base64; `weft secret keygen` makes one")
    return key


def _read(file: Path) -> str:
    try:
        mode = file.stat().st_mode
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ConfigError(f"the key file {file} cannot be read: {error}") from None
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        raise errors.ConfigError(f"the key file {file} is open to others; close it with `chmod 600 {file}`")
    return text


def _make(file: Path) -> None:
    """Whole or not at all, and of several at once the first wins."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as out:
            out.write(generate() + "\n")
            out.flush()
            os.fsync(out.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(beside, file)
    finally:
        beside.unlink()
