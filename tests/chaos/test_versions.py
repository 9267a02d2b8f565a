"""Workers of the version before keep working while, and after, the schema moves on.

There is no earlier release yet. So today's workers are the earlier version, and the next one is played by a migration on
top of ours that adds what migrations may add: columns, a table, indexes, a view, a function. When there is a release, run
its workers here instead.
"""

import pytest
from crowd import Crowd, rows, say, until, value
from witness import Witness

from weft import App
from weft.base import errors
from weft.cluster import nodes
from weft.db import migrate
from weft.db.migrate import Migration

NEXT = Migration(
    name="0002_next",
    up="""
        alter table weft.tasks add column next_note text;
        alter table weft.tasks add column next_count integer not null default 0;
        alter table weft.task_history add column next_note text;
        alter table weft.task_history add column next_count integer not null default 0;
        alter table weft.nodes add column next_zone text;
        alter table weft.leaders add column next_zone text;
        create index tasks_next_note on weft.tasks (next_note) where next_note is not null;
        create table weft.next_things (id uuid primary key, task_id uuid, at timestamptz not null default weft.now());
        create view weft.next_view as select id, next_note from weft.tasks;
        create function weft.next_answer() returns integer language sql stable return 42;
        grant select on weft.next_things to weft_engine;
    """,
    down="drop view weft.next_view; drop table weft.next_things; drop function weft.next_answer();",
)


async def work(witness: Witness, app: App) -> None:
    await witness.enqueue(app, 40)
    await witness.enqueue(app, 5, fail=1)
    await witness.enqueue(app, 3, seconds=0.3)
    await witness.enqueue(app, 4, concurrency_key="k", concurrency="strict")
    await witness.enqueue(app, 4, delay="200ms")


async def test_workers_of_the_version_before_keep_working_on_the_next_schema(
    witness: Witness, watched_crowd: Crowd, capsys: pytest.CaptureFixture[str]
) -> None:
    witness.harmed.add(1)  # nobody is
    for _ in range(2):
        await watched_crowd.start("--lease", "3")
    async with App(database_url=witness.url) as app:
        await work(witness, app)
        await until(lambda: len(witness.ran()) > 10)
        async with await (await app.open()).reserve(purpose="owner") as owner:
            assert await migrate.up(owner, [*migrate.ours(), NEXT]) == [NEXT.name]
        await work(witness, app)
        await witness.all_ended()
        async with app.tx() as tx:
            assert len([one for one in await nodes.known(tx) if one.status == "active"]) == 2
    # who starts anew is told, and touches nothing
    with pytest.raises(errors.MigrationError, match="upgrade Weft"):
        await App(database_url=witness.url).open()
    assert value(witness.url, "select count(*) from weft.task_history where losses > 0 or next_count <> 0") == 0
    assert rows(witness.url, "select distinct state from weft.task_history") == [("completed",)]
    assert await witness.findings() == []
    assert watched_crowd.alive() == 2
    stderr = (watched_crowd.folder / "stderr").read_text()
    assert "cached plan" not in stderr, stderr[-3000:]
    say(capsys, f"the schema moved on under two workers: {len(witness.asked)} tasks, none lost, no lease lost")
