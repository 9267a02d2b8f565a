"""`weft live`: in this process, and against a real server process."""

import json

import psycopg
from shell import Shell, served


async def test_it_prints_what_there_is_here_and_on_a_server(database_url: str) -> None:
    local = Shell(DATABASE_URL=database_url)
    code, _ = await local("enqueue", "mail", "--no-check")
    assert code == 0
    async with served(database_url, role="reader") as far:
        for shell in (local, far):
            code, said = await shell("live", "counts", "--times", "1", "--json")
            assert code == 0 and json.loads(said)["ready"]["count"] == 1, said
        code, said = await far("live", "queue", "name=default", "--times", "1")
        assert code == 0 and '"name":"default"' in said
        code, said = await far("live", "task", "id=0198c5f0-2f6e-7c3a-9d43-2f1f8d3c1a55")
        assert code == 1 and "there is no task" in said
        code, said = await far("live", "query:nothing")
        assert code == 1 and "there is no subject" in said


async def test_it_ends_quietly_while_a_statement_of_its_waits(database_url: str) -> None:
    """What watched in this process is ended in order, before its connections are closed."""
    with psycopg.connect(database_url) as holder:
        # the change feed is looked at all the time; now that look takes long
        holder.execute("lock table weft.change_inbox in access exclusive mode")
        code, said = await Shell(DATABASE_URL=database_url)("live", "counts", "--times", "1", "--json")
    assert code == 0 and json.loads(said)["ready"]["count"] == 0
