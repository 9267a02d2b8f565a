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


def test_the_first_load_is_under_400_kB(index: str) -> None:
    first = re.findall(r'(?:src|href)="/([^"]+)"', index)
    assert any(name.endswith(".js") for name in first)
    size = len(gzip.compress(index.encode())) + sum(len(gzip.compress((DIST / name).read_bytes())) for name in first)
    assert size < 400_000


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(index: str) -> None:
    assert not re.search(r"<script(?![^>]*\bsrc=)", index)
    assert not re.search(r"<style|\bstyle=|\bon\w+=", index)
    assert not re.search(r'(?:src|href)="(?!/)', index)
    for sheet in DIST.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", sheet.read_text()), sheet
