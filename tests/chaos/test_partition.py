"""The network between a worker and PostgreSQL is away: nothing comes through and nobody is told. Real TCP and namespaces."""

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import network
import psycopg
import pytest
from crowd import Crowd, say, until
from eyes import Eyes
from own_server import OwnServer
from staging import stage
from witness import Witness

from weft import App

COUNT = 5
FOR_EVER = 3600


@contextlib.contextmanager
def access_rules() -> Iterator[Path]:
    """Who may connect, where the server's account can read it."""
    with tempfile.TemporaryDirectory(prefix="weft-rules-") as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "hba"
        file.write_text(f"local all all trust\nhost all all {network.RANGE} trust\n")
        file.chmod(0o644)
        yield file


@pytest.fixture
async def cabled() -> AsyncIterator[tuple[Witness, network.Cable]]:
    """A server that also listens at this end of a cable."""
    if why := network.why_not():
        pytest.skip(f"NOT TESTED: a network partition. {why}")
    with network.cable() as cable, access_rules() as rules:
        server = OwnServer(logical=True, settings={"listen_addresses": network.HERE, "hba_file": str(rules)})
        try:
            await server.start()
            async with stage(server) as witness:
                yield witness, cable
        finally:
            await server.close()


async def test_a_leader_and_worker_that_is_cut_off_from_the_network_is_replaced_and_comes_back(
    cabled: tuple[Witness, network.Cable], capsys: pytest.CaptureFixture[str]
) -> None:
    witness, cable = cabled
    near = Crowd(witness.url, witness.folder)
    far = Crowd(psycopg.conninfo.make_conninfo(witness.url, host=network.HERE), witness.folder)
    try:
        async with App(database_url=witness.url) as app, Eyes(witness.url) as eyes:
            lost = await far.start("--lease", "2", inside=cable.inside)
            term = await eyes.until("select max(term) from weft.leaders")
            held = set(await witness.enqueue(app, COUNT, first=FOR_EVER))
            await until(lambda: {one.task for one in witness.ran() if one.pid == lost.pid} == held)
            heir = await near.start("--lease", "2")
            witness.harmed.add(lost.pid)
            cable.cut()
            cut = time.time()
            await eyes.until("select max(term) from weft.leaders", so=lambda now: now > term)
            led = time.time() - cut
            await until(lambda: {one.task for one in witness.ran() if one.pid == heir.pid} == held)
            taken = max(one.at for one in witness.ran() if one.pid == heir.pid and one.what == "start") - cut
            await witness.all_ended()
            cable.mend()
            mended = time.time()
            heir.kill()
            witness.harmed.add(heir.pid)
            later = await witness.enqueue(app, 2)
            await until(lambda: {one.task for one in witness.ran() if one.pid == lost.pid} >= set(later))
            await witness.all_ended()
            say(capsys, f"cut off from the network: another leads after {led:.2f} s, its tasks run elsewhere after "
                        f"{taken:.2f} s, it works again {time.time() - mended:.2f} s after the network is back")  # fmt: skip
            assert lost.returncode is None
            assert await witness.findings() == []
    finally:
        cable.mend()
        await near.close()
        await far.close()
