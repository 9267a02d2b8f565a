"""An app with a live query over a table of its own."""

from typing import Any

from weft import App

app = App()


@app.query(tables=["orders"])
async def orders(ask: Any, filler: int = 0, number: int = 0) -> Any:
    """How many there are, and the largest; as large as asked for."""
    [found] = await ask.rows("select count(*) as count, coalesce(max(n), 0) as most, coalesce(sum(n), 0) as sum from orders")
    return {**found, "sum": int(found["sum"]), "filler": "x" * filler}
