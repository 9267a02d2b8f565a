"""The tutorial and the first five minutes work as they are pasted."""

import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import blocks

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def folder() -> Iterator[Path]:
    """As root, pytest's own folders are closed to the account the server runs under."""
    made = Path(tempfile.mkdtemp(prefix="weft-tutorial-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


PAGES = [
    ("tutorial.md", 25), ("start.md", 5), ("from-cron-to-dag.md", 14), ("order-workflow.md", 14), ("afl-tutorial.md", 14),
]  # fmt: skip


@pytest.mark.parametrize(("page", "at_least"), PAGES)
def test_every_pasted_block_works(folder: Path, page: str, at_least: int) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert blocks.Reader(folder, {"8712": str(port)}).follow(DOCS / page) >= at_least


def test_what_is_not_said_is_noticed(folder: Path) -> None:
    page = folder / "page.md"
    page.write_text("```sh\necho one\n```\n\n```text\ntwo\n```\n")
    with pytest.raises(AssertionError, match="not said"):
        blocks.Reader(folder).follow(page)


def test_a_command_that_fails_is_noticed(folder: Path) -> None:
    page = folder / "page.md"
    page.write_text("```sh\nfalse\n```\n")
    with pytest.raises(AssertionError):
        blocks.Reader(folder).follow(page)
