"""The disk of PostgreSQL is full: clients are told, nothing acknowledged is lost, and it goes on when there is room."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from crowd import Crowd, say
from own_server import OwnServer
from staging import stage
from witness import Witness

from weft import App

SIZE = "220m"
LARGE = "x" * 100_000


def why_not() -> str | None:
    if sys.platform != "linux" or os.getuid() != 0:
        return "mounting a small disk needs root on Linux"
    with tempfile.TemporaryDirectory(prefix="weft-disk-") as folder:
        tried = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True)
        if tried.returncode == 0:
            subprocess.run(["umount", folder], check=True)
    return tried.stderr.strip() or None


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="weft-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
        folder.rmdir()


@pytest.fixture
async def small() -> AsyncIterator[tuple[OwnServer, Witness]]:
    if why := why_not():
        pytest.skip(f"NOT TESTED: a full disk. {why}")
    with small_disk() as folder:
        server = OwnServer(logical=True, folder=folder, settings={"max_wal_size": "64MB", "min_wal_size": "32MB"})
        try:
            await server.start()
            async with stage(server) as witness:
                yield server, witness
        finally:
            await server.close()


def fill(folder: Path) -> Path:
    """To the last page."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1 << 16))
    return ballast


async def test_a_full_disk_loses_nothing_that_was_acknowledged_and_work_goes_on_when_there_is_room(
    small: tuple[OwnServer, Witness], capsys: pytest.CaptureFixture[str]
) -> None:
    server, witness = small
    crowd = Crowd(witness.url, witness.folder)
    try:
        worker = await crowd.start("--concurrency", "4")
        witness.harmed.add(worker.pid)
        async with App(database_url=witness.url) as app:
            await witness.enqueue(app, 20)
            ballast = fill(server.folder)
            refused = 0
            for number in range(1000):
                before = len(witness.asked)
                await witness.enqueue(app, 1, padding=f"{number}{LARGE}")
                refused += witness.asked[before].verdict != "ok"
                if refused >= 3:
                    break
            assert refused, "the disk was never full"
            ballast.unlink()
            # it may have stopped: then somebody starts it again, as they would
            died = not server.running
            if died:
                await server.start()
            again = await witness.enqueue(app, 5)
            assert again, "it takes nothing although there is room"
            await witness.all_ended()
            verdicts = [one.verdict for one in witness.asked]
            there = "stopped" if died else "stayed"
            say(capsys, f"full disk: {len(verdicts)} enqueues, {verdicts.count('failed')} refused, "
                        f"{verdicts.count('unknown')} unknown, PostgreSQL {there}; 0 lost")  # fmt: skip
            assert worker.returncode is None
            assert await witness.findings() == []
    finally:
        await crowd.close()


