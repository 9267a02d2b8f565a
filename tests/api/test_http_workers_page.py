"""docs/concepts/http-workers.md: its curl session runs as it is written."""

import asyncio
import os
import re
import sys
from pathlib import Path

from weft import App
from weft.api import errors, worker_types
from weft.cli import serving
from weft.queue import remote

PAGE = Path(__file__).parent.parent.parent / "docs" / "concepts" / "http-workers.md"


async def test_the_curl_session_runs_as_written(database_url: str) -> None:
    script = "".join(re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S))
    assert script.count("curl") >= 6
    app = App(database_url=database_url)
    async with app, serving.served(app, port=0) as url:
        env = {**os.environ, "URL": url, "DATABASE_URL": database_url}
        env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env['PATH']}"
        process = await asyncio.create_subprocess_exec(
            "bash", "-euo", "pipefail", "-c", script, env=env, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await asyncio.wait_for(process.communicate(), 60)
    text = said.decode()
    assert process.returncode == 0, text
    assert "https://example.com/cat.jpg" in text and text.rstrip().endswith("640"), text
    assert text.count('"state":"completed"') == 2 and '"kept":1' in text


def test_the_pages_numbers_are_the_codes() -> None:
    text = PAGE.read_text()
    assert f"A lease is {remote.LEASE.total_seconds():g} seconds" in text
    assert f"every {remote.HEARTBEAT.total_seconds():g} seconds" in text
    assert f"`limit` ({worker_types.MOST})" in text and f"`wait` ({worker_types.LONGEST_WAIT:g})" in text


def test_the_pages_codes_have_its_statuses() -> None:
    rows = re.findall(r"^\| ([\d, ]+) \| (`[^|]+) \|", PAGE.read_text(), re.M)
    assert len(rows) >= 5
    for statuses, codes in rows:
        wanted = {int(status) for status in statuses.split(",")}
        assert {errors.STATUS[code] for code in re.findall(r"`(\w+)`", codes)} <= wanted
