"""The checks of `weft doctor` that look at the work itself: who leads, who serves what, what stands still."""

from collections.abc import Callable, Iterator

from weft.cli import findings
from weft.cli.facts import Facts, StuckTasks, Waiting
from weft.cli.findings import Finding, Limits
from weft.cli.output import span

Check = Callable[[Facts, Limits], Iterator[Finding]]

_SWEPT = 300.0
"""Seconds for which a node that died is worth telling of."""


def leader(facts: Facts, limits: Limits) -> Iterator[Finding]:
    found = facts.leadership
    if found is None:
        return
    if found.vacant <= 0:
        yield Finding("leader", "ok", "somebody leads the upkeep")
        return
    if not facts.waiting and not facts.crew:
        yield Finding("leader", "note", "nobody leads, and nothing waits", "start: weft worker MODULE:APP, or weft server")
        return
    since = "" if found.vacant > 1e8 else f" for {span(found.vacant)}"
    if found.vacant < limits.vacant.total_seconds() and found.candidates:
        yield Finding("leader", "warning", f"nobody has led{since}; {found.candidates} can", "look again in some seconds")
        return
    fix = (
        "restart a worker or server; see its log for why it does not lead"
        if found.candidates
        else "start a worker without --no-lead, or: weft server"
    )
    yield Finding(
        "leader",
        "danger",
        f"nobody has led the upkeep{since}: scheduled work does not become ready, "
        f"and the tasks of dead workers stay where they are",
        fix,
    )


def service(facts: Facts, limits: Limits) -> Iterator[Finding]:
    """Queues nobody serves, kinds nobody knows, capabilities nobody has, paused queues with old work."""
    found = [finding for waiting in facts.waiting if (finding := _unserved(waiting, limits)) is not None]
    yield from _merged(found)
    if not found:
        yield Finding("service", "ok", "somebody serves everything that waits" if facts.waiting else "nothing waits")


def _unserved(waiting: Waiting, limits: Limits) -> Finding | None:
    tasks = f"{waiting.tasks:,} task{'' if waiting.tasks == 1 else 's'} of {waiting.kind!r} waiting"
    if waiting.paused:
        if waiting.oldest < limits.waiting.total_seconds():
            return None
        return Finding(
            "service",
            "warning",
            f"the queue {waiting.queue!r} is paused: {tasks}, oldest {span(waiting.oldest)} old",
            f"weft queues resume {waiting.queue}",
        )
    if not waiting.of_queue:
        return Finding(
            "service",
            "danger",
            f"no worker serves the queue {waiting.queue!r}: {tasks}",
            f"weft worker MODULE:APP -q {waiting.queue}",
        )
    if not waiting.of_kind:
        return Finding(
            "service",
            "danger",
            f"no worker of the queue {waiting.queue!r} has a handler for {waiting.kind!r}: {tasks}",
            "deploy the code that declares it, or cancel them",
        )
    if not waiting.able:
        return Finding(
            "service",
            "danger",
            f"no worker has {waiting.capabilities}: {tasks}",
            f"start a worker with --capability {waiting.capabilities.partition(',')[0]}",
        )
    if waiting.oldest >= limits.waiting.total_seconds():
        return Finding(
            "service",
            "warning",
            f"ready in the queue {waiting.queue!r}: {tasks}, oldest {span(waiting.oldest)} old",
            "add workers or concurrency, or look for a limit: weft explain ID",
        )
    return None


def _merged(found: list[Finding]) -> list[Finding]:
    """The first ten; what is alike beyond that says nothing new."""
    if len(found) <= 10:
        return found
    return [*found[:10], Finding("service", "note", f"and {len(found) - 10} more like these")]


_STUCK = {
    "promotion": ("due but not ready: nobody promotes", "see the check of the leader"),
    "cancellation": ("cancelled over a minute ago and still running", "the handler does not end; restart its worker"),
    "lease": ("running with a lease that has lapsed: nobody rescues", "see the check of the leader"),
    "node": ("held by a worker that is gone: nobody rescues", "see the check of the leader"),
    "timeout": (
        "running over a minute longer than the timeout",
        "the handler cannot be ended in place (a blocked thread?): use isolate='process', restart its worker",
    ),
}


def stuck(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    for one in facts.stuck:
        yield _stands_still(one)
    if facts.stalled is not None:
        runs = "1 run stands still" if facts.stalled.runs == 1 else f"{facts.stalled.runs:,} runs stand still"
        since = f"for {span(facts.stalled.seconds)}, such as {facts.stalled.example}"
        yield Finding(
            "stuck", "danger", f"{runs}: nothing is running and nothing is awaited ({since})", "weft run repair ID"
        )  # fmt: skip
    if facts.installation is not None and not facts.stuck and facts.stalled is None:
        yield Finding("stuck", "ok", "nothing stands still")


def _stands_still(one: StuckTasks) -> Finding:
    what, fix = _STUCK[one.what]
    tasks = "1 task" if one.tasks == 1 else f"{one.tasks:,} tasks"
    return Finding("stuck", "danger", f"{tasks} {what} (up to {span(one.seconds)}, such as {one.example})", fix)


def nodes(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    if facts.installation is None:
        return
    found = []
    for one in facts.crew:
        name = f"{one.hostname}, process {one.pid}"
        if one.status == "dead" and one.silent < _SWEPT:
            found.append(
                Finding(
                    "nodes",
                    "warning",
                    f"{name} died {span(one.silent)} ago; its tasks were given to others",
                    "see its log; if it was killed for memory: --max-memory",
                )
            )
        elif one.status != "dead" and one.silent > one.lease:
            found.append(
                Finding(
                    "nodes",
                    "danger",
                    f"{name} has not been heard of for {span(one.silent)}, and nobody gave it up",
                    "see the check of the leader",
                )
            )
    # a worker over HTTP says what it likes, and fits as long as it keeps to the protocol
    versions = sorted({one.version for one in facts.crew if one.status != "dead" and not one.version.startswith("http ")})
    if len(versions) > 1:
        found.append(
            Finding("nodes", "note", f"several versions run side by side: {', '.join(versions)}", "finish the upgrade")
        )
    yield from found
    if not found:
        alive = [one for one in facts.crew if one.status != "dead"]
        workers = sum(one.works for one in alive)
        yield Finding("nodes", "ok" if alive else "note", f"{len(alive)} alive, {workers} of them workers")


CHECKS: tuple[Check, ...] = (
    findings.version,
    findings.durability,
    findings.vacuum,
    findings.holders,
    findings.connections,
    findings.pooler,
    findings.clock,
    findings.schema,
    findings.roles,
    findings.partitions,
    leader,
    nodes,
    service,
    stuck,
)
"""In the order they are shown."""


def examine(facts: Facts, limits: Limits | None = None) -> list[Finding]:
    """Every finding of every check."""
    wanted = limits or Limits()
    return [finding for check in CHECKS for finding in check(facts, wanted)]
