"""Tasks, runs and steps are reactive by default: a statement that changes one of them tells the change feed of it."""

import re
from pathlib import Path

import pytest

import weft
from weft.db import statements
from weft.sdk import query

SOURCE = Path(weft.__file__).parent
FOLDERS = sorted(
    str(folder.relative_to(SOURCE)).replace("/", ".")
    for folder in SOURCE.rglob("*")
    if (folder / "queries.sql").exists() or (folder / "queries").is_dir()
)
REACTIVE = ("tasks", "runs", "steps")

EXEMPT = {
    # a lease is nobody's news: what is shown of a task does not change with it
    "contrib.aiopslab keep_leases": "only the lease",
    "services fence_task": "only the lease's token",
    "queue count_running_as_limited": "whether a limit counts it, which nobody is shown",
    "queue count_late_as_limited": "whether a limit counts it, which nobody is shown",
    "queue count_running_of_org": "whether a limit counts it, which nobody is shown",
    # internal columns
    "flows await_run": "only who waits for the run",
    "flows forsake_run": "only who waits for the run",
    "services keep_run": "only how long the run is kept",
    # their transaction writes the same run once more and tells of it then
    "flows begin_run": "write_advance follows",
    "flows reopen_run": "write_advance follows",
    "flows renew_runs": "write_workflows follows",
}
"""What need not tell, and why."""

_FUNCTION = re.compile(r"^create function weft\.(\w+).*?^\$\$;", re.MULTILINE | re.DOTALL)
_TELLS = re.compile(r"insert into weft\.change_inbox.*?(?=\n\)|;|\Z)", re.DOTALL)
_WRITES = re.compile(r"\b(?:insert into|update|delete from)\s+weft\.(\w+)")


def _doers() -> dict[str, str]:
    """Every named statement, and every function in the database, with its text."""
    found = {
        f"{folder} {name}": text for folder in FOLDERS for name, text in statements.load(f"weft.{folder}").texts.items()
    }
    for path in SOURCE.rglob("*.sql"):
        if "queries" not in path.parts and "migrations" not in path.parts and path.name != "queries.sql":
            home = ".".join(path.parent.relative_to(SOURCE).parts)
            found |= {f"{home} {function[1]}": function[0] for function in _FUNCTION.finditer(path.read_text())}
    return found


DOERS = _doers()


def _untold(text: str) -> set[str]:
    """The reactive tables that it writes and does not tell the feed of."""
    told = re.findall(r"'(\w+)'", "".join(_TELLS.findall(text)))
    return (set(_WRITES.findall(text)) & set(REACTIVE)) - set(told)


@pytest.mark.parametrize("doer", [name for name, text in DOERS.items() if set(_WRITES.findall(text)) & set(REACTIVE)])
def test_whatever_changes_a_task_a_run_or_a_step_tells_of_it(doer: str) -> None:
    if doer not in EXEMPT:
        assert not _untold(DOERS[doer]), f"{doer} changes what the change feed is not told of; tell it, or say here why not"


def test_what_is_exempt_is_there_and_says_why() -> None:
    assert set(EXEMPT) <= set(DOERS) and all(EXEMPT.values())


def test_the_guard_sees_what_it_must_see() -> None:
    assert {"queue finish", "queue claim_plain", "flows write_advance", "queue cancel", "flows send"} <= set(DOERS)
    assert _untold(statements.load("weft.queue").block.replace("change_inbox", "nowhere")) == {"tasks"}
    other = "with a as (update weft.runs as r set state = 'x')\ninsert into weft.change_inbox values ('tasks')"
    assert _untold(other) == {"runs"}


def test_a_live_query_may_read_what_the_feed_tells_of_and_nothing_else() -> None:
    """The names in the code are those that statements, functions and triggers write."""
    texts = "\n".join(DOERS.values())
    written = set(re.findall(r"(?:select |values \()'(\w+)', '(?:INSERT|UPDATE|DELETE)'", texts))
    ours = (SOURCE / "live" / "ours.sql").read_text()
    triggered = set(re.findall(r"\bon weft\.(\w+)", ours))
    assert {*written, *triggered, "steps"} == set(query.FED)
