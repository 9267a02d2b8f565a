"""Everything through PgBouncer in transaction mode, recorded: workers are killed and stopped, the checker finds nothing."""

import contextlib
import signal

import pytest
from crowd import Crowd, ended, say, seasoned, until
from eyes import Eyes
from faults import GIVEN_UP
from witness import Witness

import bouncer
from weft import App
from weft.base import config


async def busy(witness: Witness, app: App, pid: int) -> None:
    """Work for all, until this one has begun something of it."""
    before = witness.begun[pid]
    for _ in range(10):
        await witness.enqueue(app, 30)
        await witness.enqueue(app, 6, seconds=0.5)
        await witness.enqueue(app, 3, fail=1)
        await witness.enqueue(app, 3, concurrency_key="k", concurrency="strict")
        with contextlib.suppress(AssertionError):  # the others were quicker
            await until(lambda: witness.ran() and witness.begun[pid] > before, within=3)
            return
    raise AssertionError(f"process {pid} never works")


@pytest.mark.skipif(bouncer.PGBOUNCER is None, reason=f"NOT TESTED: faults behind a pooler. {bouncer.REASON}")
async def test_kills_and_freezes_behind_a_transaction_pooler_lose_nothing(
    witness: Witness, capsys: pytest.CaptureFixture[str]
) -> None:
    await seasoned(witness.url)
    with bouncer.pooled(witness.url) as url:
        crowd = Crowd(url, witness.folder)
        through = {"WEFT_POOLED": "1", "WEFT_DIRECT_URL": witness.url}
        settings = config.Settings(database_url=url, direct_url=witness.url, pooled=True)
        try:
            async with App(settings=settings) as app, Eyes(witness.url) as eyes:
                await crowd.start("--queues", "nothing", env=through)  # leads
                killed, frozen = [
                    await crowd.start("--no-lead", "--lease", "2", "--concurrency", "20", env=through) for _ in range(2)
                ]
                witness.harmed |= {killed.pid, frozen.pid}
                for victim in (killed, frozen):
                    await busy(witness, app, victim.pid)
                    if victim is killed:
                        victim.kill()
                        await ended(victim)
                    else:
                        victim.send_signal(signal.SIGSTOP)
                        await eyes.until(GIVEN_UP, victim.pid)
                        victim.send_signal(signal.SIGCONT)
                await witness.all_ended()
                assert frozen.returncode is None
                assert await witness.findings() == []
        finally:
            await crowd.close()
    say(capsys, f"behind PgBouncer a worker was killed and another stopped: {len(witness.asked)} tasks, none lost")
