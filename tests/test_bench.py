"""The benchmark measures what it says: its floor has the product's indexes."""

from pathlib import Path

import psycopg
import pytest

FLOOR = Path(__file__).parent.parent / "bench" / "floor.sql"

INDEXES = """
    select c.relname, pg_get_indexdef(c.oid)
    from pg_index as i
    join pg_class as c on c.oid = i.indexrelid
    where i.indrelid in ('weft.tasks'::regclass, 'weft.task_history'::regclass) and not i.indisprimary
        and c.relname not like '%refused'
"""
"""But for what is only there to refuse, as the floor has no checks."""
TRIGGERS = """
    select count(*)
    from pg_trigger
    where tgrelid in ('weft.tasks'::regclass, 'weft.task_history'::regclass) and not tgisinternal
"""


def test_the_floor_keeps_the_indexes_and_triggers_that_the_product_keeps(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        product = dict(connection.execute(INDEXES).fetchall())
        triggers = connection.execute(TRIGGERS).fetchone()
        if connection.info.server_version < 180000:
            pytest.skip("the floor needs uuidv7()")
        connection.execute(FLOOR.read_text().encode())
        floor = dict(connection.execute(INDEXES.replace("weft.", "floor.")).fetchall())
        made = connection.execute(TRIGGERS.replace("weft.", "floor.")).fetchone()
    assert {name: text.replace("floor.", "weft.") for name, text in floor.items()} == product
    assert made == triggers
