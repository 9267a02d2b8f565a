"""A base install stays small: every package that `pip install weft` brings along, counted."""

import importlib.metadata
import re

from packaging.requirements import Requirement

MOST = 29
"""Fewer than 30, Weft itself left out."""


def brought(name: str, extras: tuple[str, ...], found: set[str]) -> set[str]:
    """A package and all it needs here."""
    found.add(re.sub(r"[-_.]+", "-", name).lower())
    for text in importlib.metadata.requires(name) or ():
        wanted = Requirement(text)
        if wanted.marker is not None and not any(wanted.marker.evaluate({"extra": one}) for one in ("", *extras)):
            continue
        if re.sub(r"[-_.]+", "-", wanted.name).lower() not in found:
            brought(wanted.name, tuple(wanted.extras), found)
    return found


def test_a_base_install_brings_fewer_than_thirty_packages() -> None:
    found = brought("weft", (), set()) - {"weft"}
    assert "psycopg" in found and len(found) <= MOST, sorted(found)
