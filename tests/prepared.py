"""Named statements as the server gets them: prepared, with the types that Python's values say."""

import re
from collections.abc import Mapping
from typing import Any

import psycopg

SENT_AS = {"older": "interval", "grace": "interval", "quiet": "interval", "lease": "interval", "leader_lease": "interval"}
"""What a value tells the server where the statement does not say it: a timedelta is an interval."""

_PARAMETER = re.compile(r"%\((\w+)\)s")

Connection = psycopg.Connection[tuple[Any, ...]]


def parameters(text: str) -> list[str]:
    """Its parameters in the order of their numbers."""
    return list(dict.fromkeys(_PARAMETER.findall(text)))


def statement(name: str, text: str) -> str:
    """As the driver sends it: %(name)s becomes $n, one number per name."""
    numbers = {parameter: n for n, parameter in enumerate(parameters(text), 1)}
    body = _PARAMETER.sub(lambda found: f"${numbers[found[1]]}", text)
    types = ", ".join(SENT_AS.get(parameter, "unknown") for parameter in numbers)
    return f"prepare {name} {f'({types})' if types else ''} as {body.replace('%%', '%')}"


def explain(connection: Connection, name: str, *, options: str, values: Mapping[str, Any], text: str) -> Any:
    """The plan of a prepared statement, which it already has if it was explained on this connection before."""
    if connection.execute("select from pg_prepared_statements where name = %s", (name,)).fetchone() is None:
        connection.execute(statement(name, text).encode())
    ordered = [values[parameter] for parameter in parameters(text)]
    places = f"({', '.join(['%s'] * len(ordered))})" if ordered else ""
    with connection.transaction(force_rollback=True), psycopg.ClientCursor(connection) as cursor:
        found = cursor.execute(f"explain (format json{options}) execute {name}{places}".encode(), ordered).fetchone()
    assert found is not None
    return found[0][0]
