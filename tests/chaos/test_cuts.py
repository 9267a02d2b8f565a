"""The connection is cut at every statement that matters: before, in the middle of and after question and answer."""

import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import cutting
import cutting_migration
import pytest
from crowd import say
from witness import Witness

SHORT = cutting.POINTS[::2]
"""Of the six places those that differ for the server: it got nothing, all but the sync, or has answered. `make chaos`
cuts at all six."""


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-cuts-") as made:
        yield Path(made)


async def test_a_connection_cut_anywhere_loses_nothing_and_ends_nobody(
    witness: Witness, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    slowest = (0.0, "")
    async with cutting.scene(witness, folder) as scene:
        for point in SHORT:
            started = time.monotonic()
            await scene.suffer(point)
            slowest = max(slowest, (time.monotonic() - started, str(point)))
        await witness.all_ended()
    assert await witness.findings() == []
    say(capsys, f"{len(SHORT)} cuts in {time.monotonic() - began:.0f} s ({slowest[1]}: {slowest[0]:.1f} s), "
                f"{len(witness.asked)} enqueues, {sum(one.verdict == 'unknown' for one in witness.asked)} unknown, "
                f"0 lost, 0 double, 0 stale")  # fmt: skip


async def test_a_migration_cut_at_any_statement_converges(
    witness: Witness, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything of one migration is one transaction: what is cut is not there, and the next one is whole. `make chaos`
    cuts at every statement."""
    cuts, statements = await cutting_migration.cut_everywhere(witness.url, folder, at_most=12)
    assert cuts >= 12
    say(capsys, f"a migration of {statements} statements was cut at {cuts} places; then it went through")


ELSEWHERE = {
    "block", "promote", "prune_org", "prune_dedupe_keys", "sweep_nodes", "sweep_locks", "mark_dead",  # chores: crash points
    "count_late_as_limited", "count_minutes", "prune_minutes", "sample_depths", "prune_depths",  # as those
    "finish_held",  # test_runs_cut.py
    "spend_tokens",  # in the transaction of "limited claim", cut at its commit
    "extend_leases", "first_signing_key", "retire_signing_keys", "forget_signing_keys",  # servers, for HTTP workers
    "discard_dead", "set_queue", "found_queue", "count_running_as_limited",  # as redrive: one transaction
    "register", "serve", "sleep", "retire", "resign",  # said again with the next connection, or needless then
    "drain_node",  # one transaction of a server; who asked asks again
    "acquire", "extend", "release", "force_release",  # one statement each, of clients
}  # fmt: skip
"""Statements that change something and are not cut, and why."""


def test_every_statement_that_changes_something_is_cut_or_said_not_to_be() -> None:
    changes = re.compile(r"\b(insert into|update|delete from) weft\.")
    cut = {one.statement for one in cutting.STATEMENTS}
    missing = {
        name
        for room in (cutting.QUEUE, cutting.CLUSTER)
        for name, text in room.texts.items()
        if changes.search(text) and cutting.sent(text) not in cut
    }
    assert missing == ELSEWHERE
