"""Servers you talk to, by name: address and key, in a file that only you can read."""

import os
import re
import stat
import tempfile
from pathlib import Path

import msgspec

from weft.base import errors

LOCAL = "local"
"""Not a profile: the database of this machine's settings."""

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Profile(msgspec.Struct, forbid_unknown_fields=True):
    """A server and the key to it."""

    server: str
    key: str | None = None


class Profiles(msgspec.Struct, forbid_unknown_fields=True):
    """All of them, and the one that is used when nothing else is said."""

    profiles: dict[str, Profile] = {}
    used: str | None = None


def path() -> Path:
    """`~/.config/weft/profiles.json`, or where XDG_CONFIG_HOME says."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "weft" / "profiles.json"


def load() -> Profiles:
    """What was stored; ConfigError if others can read it, or it is not what we wrote."""
    file = path()
    try:
        with file.open("rb") as opened:
            if stat.S_IMODE(os.fstat(opened.fileno()).st_mode) & 0o077:
                raise errors.ConfigError(f"{file} holds keys and others can read it; run: chmod 600 {file}")
            return msgspec.json.decode(opened.read(), type=Profiles)
    except FileNotFoundError:
        return Profiles()
    except OSError as error:
        raise errors.ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.ConfigError(f"{file} is not a file of profiles: {error}; mend it or remove it") from None


def save(profiles: Profiles) -> None:
    """Written beside the old one and put in its place: never half a file, never readable by others."""
    file = path()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=".profiles-")  # mode 600
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(msgspec.json.format(msgspec.json.encode(profiles), indent=2) + b"\n")
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise errors.ConfigError(f"{file} cannot be written: {error.strerror}") from None


def check_name(name: str) -> str:
    """InvalidInput for what is no name of a profile."""
    if not _NAME.fullmatch(name) or name == LOCAL:
        raise errors.InvalidInput(
            f"{name!r} cannot name a profile: letters, digits, dots, dashes; {LOCAL!r} is this machine's own database"
        )
    return name


def find(profiles: Profiles, name: str) -> Profile:
    """ConfigError, naming those there are, if there is no such profile."""
    found = profiles.profiles.get(name)
    if found is None:
        known = ", ".join(sorted(profiles.profiles)) or "none"
        raise errors.ConfigError(f"there is no profile {name!r} (there are: {known}); make it with `weft profile add`")
    return found
