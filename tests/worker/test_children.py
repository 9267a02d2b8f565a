"""`isolate="process"`: another process, killed with all it started, and its death is an error of its task alone."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import isolated
import pytest
from waiting import LONG, alive, ended, in_state, until

from weft import App

HERE = Path(__file__).parent


@pytest.fixture
def app(database_url: str, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    app = App(database_url=database_url)
    app.registry = isolated.app.registry
    return app


@pytest.fixture(autouse=True)
async def closing(app: App) -> object:
    yield
    await app.close()


async def hanging(note: Path) -> list[int]:
    """The pids of a hanging child and its grandchild."""
    text: str = await until(lambda: note.exists() and len(note.read_text().split()) == 2 and note.read_text())
    return [int(pid) for pid in text.split()]


async def test_it_runs_in_another_process_which_is_used_again(app: App) -> None:
    async with app.worker(target="isolated:app", concurrency=1):
        first = await app.result((await app.enqueue(isolated.pid)).id, timeout=LONG)
        second = await app.result((await app.enqueue(isolated.pid)).id, timeout=LONG)
        assert first[1] == os.getpid() and first == second
    assert not alive(first[0])


async def test_what_it_prints_and_reads_does_not_mix_with_its_answer(app: App) -> None:
    async with app.worker(target="isolated:app"):
        task = await app.enqueue(isolated.chatty)
        result = await app.result(task.id, timeout=LONG)
    assert result["task"] == str(task.id) and result["attempt"] == 1
    assert [(line.level, line.message, line.fields) for line in await app.logs(task.id)] == [
        ("warning", "std logging", None), ("error", "with fields", {"size": 3}),
    ]  # fmt: skip


@pytest.mark.parametrize(("how", "said"), [("exit", "exit code 3"), ("sys.exit", "exit code 4"), ("segv", "SIGSEGV")])
async def test_the_death_of_a_child_is_a_failed_attempt_and_the_worker_lives(app: App, how: str, said: str) -> None:
    async with app.worker(target="isolated:app"):
        view = await ended(app, await app.enqueue(isolated.dies, {"how": how}))
        assert await app.result((await app.enqueue(isolated.pid)).id, timeout=LONG)
    assert (view.state, view.reason, view.attempt, view.losses) == ("failed", "dead", 2, 0)
    assert view.error is not None and view.error["type"] == "ChildDied" and said in view.error["message"]


async def test_exceptions_keep_their_meaning_type_and_traceback(app: App) -> None:
    async with app.worker(target="isolated:app"):
        views = {
            how: await ended(app, await app.enqueue(isolated.raises, {"how": how}))
            for how in ("os", "value", "discard", "snooze", "later")
        }
    assert {how: (view.state, view.reason, view.attempt) for how, view in views.items()} == {
        "os": ("failed", "dead", 2), "value": ("failed", "refused", 1), "discard": ("cancelled", "discarded", 1),
        "snooze": ("completed", None, 2), "later": ("failed", "dead", 2),
    }  # fmt: skip
    error = views["os"].error
    assert error is not None and error["type"] == "ConnectionError" and error["message"].startswith("gone")
    assert "raise {" in error["traceback"]


async def test_a_result_that_is_too_large_is_refused_as_it_is_elsewhere(app: App) -> None:
    async with app.worker(target="isolated:app"):
        good = await app.enqueue(isolated.large, {"size": 250_000})
        bad = await ended(app, await app.enqueue(isolated.large, {"size": 10_000_000}))
        assert len(await app.result(good.id, timeout=LONG)) == 250_000
    assert bad.reason == "refused" and bad.error is not None and "store the data elsewhere" in bad.error["message"]


async def test_a_child_that_runs_too_long_is_killed_with_its_own_children(app: App, tmp_path: Path) -> None:
    note = tmp_path / "pids"
    async with app.worker(target="isolated:app"):
        task = await app.enqueue(isolated.hang, {"note": str(note)}, timeout=8)
        pids = await hanging(note)
        assert (await ended(app, task)).state == "timed_out"
        await until(lambda: not any(alive(pid) for pid in pids))


async def test_a_cancelled_child_is_killed_with_its_own_children(app: App, tmp_path: Path) -> None:
    note = tmp_path / "pids"
    async with app.worker(target="isolated:app"):
        task = await app.enqueue(isolated.hang, {"note": str(note)})
        pids = await hanging(note)
        view = await in_state(app, task, "running")
        assert all(alive(pid) for pid in pids)
        await until(lambda: _progress(app, task.id))
        await app.cancel(task.id)
        assert (await ended(app, task)).state == "cancelled"
        await until(lambda: not any(alive(pid) for pid in pids))
    assert view.attempt == 1


async def _progress(app: App, id: object) -> bool:
    return (await app.get(id)).progress == 50  # type: ignore[arg-type]


async def test_without_a_target_it_says_what_is_missing(app: App) -> None:
    async with app.worker():
        view = await ended(app, await app.enqueue(isolated.pid, {}, max_attempts=1))
    assert view.error is not None and "weft worker module:app" in view.error["message"]


async def test_a_child_whose_worker_is_killed_ends_too(database_url: str, app: App, tmp_path: Path) -> None:
    note = tmp_path / "pids"
    program = (
        "import asyncio, isolated\n"
        "async def main():\n"
        "    async with isolated.app.worker(target='isolated:app'):\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "ISOLATED_URL": database_url}
    worker = await asyncio.create_subprocess_exec(sys.executable, "-c", program, env=environment)
    try:
        await app.enqueue(isolated.hang, {"note": str(note)})
        pids = await hanging(note)
        worker.send_signal(signal.SIGKILL)
        await until(lambda: not any(alive(pid) for pid in pids))
    finally:
        with contextlib.suppress(ProcessLookupError):
            worker.kill()
        await worker.wait()
