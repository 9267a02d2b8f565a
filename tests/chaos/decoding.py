"""The database's own history by logical decoding: every change of the tables that matter, in the order of commits.

`pgoutput` is the one decoder every PostgreSQL brings. It is read with a function over a plain connection; the format is
the one of the manual, "Logical Replication Message Formats".
"""

import dataclasses
import struct
from typing import Any, Literal

import psycopg

Operation = Literal["insert", "update", "delete"]
Columns = dict[str, str | None]

TABLES = ("tasks", "task_history", "task_logs", "nodes", "leaders", "runs", "run_inbox")
WHOLE = ("tasks", "nodes", "leaders")
"""Those whose rows are told as they were before, too."""
PUBLICATION = "weft_chaos"


@dataclasses.dataclass(frozen=True)
class Change:
    """A row that came, changed or went. `transaction` grows in the order of commits."""

    transaction: int
    table: str
    operation: Operation
    old: Columns
    new: Columns

    @property
    def row(self) -> Columns:
        return self.new or self.old


def watch(connection: "psycopg.Connection[Any]") -> None:
    """From here on everything is kept. Needs wal_level = logical."""
    for table in WHOLE:
        connection.execute(f"alter table weft.{table} replica identity full".encode())
    # the rows of partitions are told as if of their table
    names = ", ".join(f"weft.{table}" for table in TABLES)
    connection.execute(f"create publication {PUBLICATION} for table {names} with (publish_via_partition_root)".encode())
    # slots are the server's, not the database's
    connection.execute("select pg_create_logical_replication_slot('of_' || current_database(), 'pgoutput')")


def read(connection: "psycopg.Connection[Any]") -> list[Change]:
    """What was committed since the last call."""
    rows = connection.execute(
        "select data from pg_logical_slot_get_binary_changes("
        "'of_' || current_database(), null, null, 'proto_version', '1', 'publication_names', %s)",
        (PUBLICATION,),
        binary=True,
    ).fetchall()
    return decode([bytes(data) for (data,) in rows])


def forget(connection: "psycopg.Connection[Any]") -> None:
    """A slot that nobody reads keeps the log for ever."""
    connection.execute(
        "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = 'of_' || current_database()"
    )


_transactions = iter(range(1, 1 << 62))


def decode(messages: list[bytes]) -> list[Change]:
    """Messages in the order of commits, each transaction in one piece."""
    relations: dict[int, tuple[str, list[str]]] = {}
    changes: list[Change] = []
    transaction = 0
    for data in messages:
        reader = _Reader(data)
        match reader.take(1):
            case b"B":
                transaction = next(_transactions)
            case b"R":
                number = reader.number("!I")
                relations[number] = reader.relation()
            case b"I":
                table, columns = relations[reader.number("!I")]
                reader.take(1)
                changes.append(Change(transaction, table, "insert", {}, reader.row(columns)))
            case b"U":
                table, columns = relations[reader.number("!I")]
                old = reader.row(columns) if reader.take(1) in (b"K", b"O") else {}
                if old:
                    reader.take(1)
                new = {name: value if value is not _SAME else old.get(name) for name, value in reader.row(columns).items()}
                changes.append(Change(transaction, table, "update", old, new))
            case b"D":
                table, columns = relations[reader.number("!I")]
                reader.take(1)
                changes.append(Change(transaction, table, "delete", reader.row(columns), {}))
            case _:
                pass  # commit, type, origin: nothing we need
    return changes


_SAME = "\0unchanged"


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def text(self) -> str:
        end = self._data.index(b"\0", self._at)
        return self.take(end - self._at + 1)[:-1].decode()

    def relation(self) -> tuple[str, list[str]]:
        self.text()
        table = self.text()
        self.take(1)
        columns = []
        for _ in range(self.number("!H")):
            self.take(1)
            columns.append(self.text())
            self.take(8)
        return table, columns

    def row(self, columns: list[str]) -> Columns:
        found: Columns = {}
        count = self.number("!H")
        for name in columns[:count]:
            match self.take(1):
                case b"n":
                    found[name] = None
                case b"u":
                    found[name] = _SAME
                case _:
                    found[name] = self.take(self.number("!I")).decode()
        return found
