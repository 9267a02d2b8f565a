"""An agent over HTTP whose server is killed: it keeps a diary in a file, whatever becomes of the server."""

import os
from pathlib import Path

from weft import Agent, Context

agent = Agent(database_url="postgresql://nowhere.invalid/none")
DIARY = Path(os.environ.get("HTTP_DIARY", "/dev/null"))


@agent.handles("n.Twice")
def twice(ctx: Context, k: int) -> dict[str, int]:
    file = os.open(DIARY, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(file, f"end {ctx.task_id}\n".encode())
    os.close(file)
    return {"v": k * 2}


@agent.handles("n.Never")
def never() -> dict[str, int]:
    raise ValueError("never")
