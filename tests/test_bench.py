"""The benchmark measures what it says: its floor has the product's indexes, and its tables say what was to be reached."""

from pathlib import Path

import psycopg
import pytest
from bench import report

FLOOR = Path(__file__).parent.parent / "bench" / "floor.sql"

INDEXES = """
    select c.relname, pg_get_indexdef(c.oid)
    from pg_index as i
    join pg_class as c on c.oid = i.indexrelid
    where i.indrelid in ('weft.tasks'::regclass, 'weft.task_history'::regclass) and not i.indisprimary
"""
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


def test_a_target_is_judged_as_far_as_it_was_measured() -> None:
    wanted = report.TARGETS["drain_1", "weft"]
    assert report.judged(wanted, {"peer": 1.2, "floor": 0.7}) == ("≥ 1.1 × the best peer, ≥ 0.6 × floor", "met")
    assert report.judged(wanted, {"peer": 1.2, "floor": 0.5})[1] == "missed"
    assert report.judged(wanted, {"peer": 1.0}) == ("≥ 1.1 × the best peer", "missed")
    assert report.judged(wanted, {}) == ("", "") == report.judged({}, {"peer": 2.0})
