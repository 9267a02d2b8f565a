"""The key that `weft dev` makes, so that the API can be tried at once."""

import datetime as dt
import os
from pathlib import Path

from weft.access import keys
from weft.access.keys import KeyRole
from weft.app import App
from weft.base import errors, ids
from weft.db.database import Database

_FILE = "dev-{role}.key"
_LASTS = dt.timedelta(hours=12)


async def ready(app: App, *, role: KeyRole = "admin") -> str:
    """A key of the default org. For the embedded database it is kept in its folder; elsewhere it is new, and expires."""
    database = await app.open()
    if app.settings.database_url is not None:
        return await _make(database, role=role, lasts=_LASTS)
    file = app.settings.folder / _FILE.format(role=role)
    kept = _kept(file)
    if kept is not None and await _opens(database, kept):
        return kept
    text = await _make(database, role=role, lasts=None)
    _keep(file, text)
    return text


async def _make(database: Database, *, role: KeyRole, lasts: dt.timedelta | None) -> str:
    async with database.tx() as tx:
        _, text = await keys.create(
            tx, org=ids.DEFAULT_ORG, name=f"weft dev {role}", role=role, actor="weft dev", lasts=lasts
        )
    return text


async def _opens(database: Database, text: str) -> bool:
    """Whether the database still knows it: it may be another one by now, or somebody revoked it."""
    async with database.once() as tx:
        try:
            return await keys.find(tx, text) is not None
        except errors.Unauthenticated:
            return False


def _kept(file: Path) -> str | None:
    try:
        return file.read_text().strip() or None
    except OSError:
        return None


def _keep(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(text + "\n")
