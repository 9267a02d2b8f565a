"""What options and files say: JSON and text, or an error that names where it stands."""

import sys
from pathlib import Path
from typing import Any

import click

from weft.base import errors, json


def value(text: str, option: str) -> Any:
    """What an option says in JSON."""
    try:
        return json.parsed(text, what=option)
    except ValueError as error:
        raise errors.InvalidInput(f"{option} is not JSON: {error}") from None


def mapping(text: str, option: str) -> dict[str, Any]:
    """What an option says, which must be a JSON object."""
    found = value(text, option)
    if not isinstance(found, dict):
        raise errors.InvalidInput(f'{option} is no JSON object; write it like {{"day": "2026-01-15"}}')
    return found


def text(path: Path) -> str:
    """What a file says; `-`: what comes in."""
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        return raw.decode()
    except OSError as error:
        raise click.UsageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{path} is not UTF-8 text") from None
