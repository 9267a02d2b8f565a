"""The bundle: small at first, and of our own files only."""

import gzip
import re
from pathlib import Path

import pytest

DIST = Path(__file__).parents[2] / "src" / "weft" / "web" / "dist"


@pytest.fixture
def index() -> str:
    if not (DIST / "index.html").exists():
        pytest.skip("NOT TESTED: the bundle of the web UI; it is not built (make ui)")
    return (DIST / "index.html").read_text()


def test_all_of_it_is_under_400_kB_and_so_is_the_first_load_of_any_page(index: str) -> None:
    """Pages come in parts of their own, when they are first looked at; not even all of them together are too much."""
    parts = [one for one in DIST.rglob("*") if one.is_file()]
    assert {DIST / name for name in re.findall(r'(?:src|href)="/([^"]+)"', index)} < set(parts)
    assert sum(one.suffix == ".js" for one in parts) > 20
    assert sum(len(gzip.compress(one.read_bytes())) for one in parts) < 400_000


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(index: str) -> None:
    assert not re.search(r"<script(?![^>]*\bsrc=)", index)
    assert not re.search(r"<style|\bstyle=|\bon\w+=", index)
    assert not re.search(r'(?:src|href)="(?!/)', index)
    for sheet in DIST.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", sheet.read_text()), sheet
