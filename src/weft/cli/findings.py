"""What `weft doctor` makes of the facts. Each check is a function of them: findings out, at least one, the good ones too."""

import dataclasses
import datetime as dt
from collections.abc import Iterator
from typing import Literal

from weft.cli.facts import Facts, Holder, MissingIndex, Way
from weft.cli.output import span

Level = Literal["ok", "note", "warning", "danger"]
"""`danger`: work can be lost, doubled or stand still. `warning`: it may come to that. `note`: good to know."""

LEVELS: tuple[Level, ...] = ("ok", "note", "warning", "danger")

OLDEST = 150000
_WRAPAROUND = 1_500_000_000
_SLOT_AGE = 10_000_000
_NEEDS = 10
"""Connections one worker process may open: its pool and the reserved ones."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that is so, and what to do about it."""

    check: str
    level: Level
    what: str
    fix: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """From when on something is too long."""

    idle: dt.timedelta = dt.timedelta(seconds=60)
    """An open transaction that does nothing: a warning; ten times that, a danger."""
    transaction: dt.timedelta = dt.timedelta(minutes=15)
    prepared: dt.timedelta = dt.timedelta(minutes=5)
    skew: dt.timedelta = dt.timedelta(seconds=5)
    waiting: dt.timedelta = dt.timedelta(minutes=5)
    """Ready work that nobody takes."""
    vacant: dt.timedelta = dt.timedelta(seconds=10)
    """Without a leader."""


def version(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    number = facts.server.version
    shown = f"PostgreSQL {number // 10000}.{number % 10000}"
    if number < OLDEST:
        yield Finding("version", "danger", f"{shown} is older than 15, which Weft needs", "upgrade PostgreSQL")
    else:
        yield Finding("version", "ok", shown)


def durability(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    server = facts.server
    risks = {
        "fsync": (server.fsync, "a crash of the machine can destroy the database"),
        "full_page_writes": (server.full_page_writes, "a crash of the machine can tear pages"),
        "synchronous_commit": (server.synchronous_commit, "a crash can lose tasks that were enqueued and results"),
    }
    for name, (on, risk) in risks.items():
        if not on:
            yield Finding("durability", "danger", f"{name} is off: {risk}", f"alter system set {name} = on; then reload")
    if server.read_only:
        yield Finding(
            "durability",
            "danger",
            "this database takes no writes: it is a standby, or set to read only",
            "point DATABASE_URL at the primary",
        )
    if all(on for on, _ in risks.values()) and not server.read_only:
        yield Finding("durability", "ok", "what is committed stays (fsync, full_page_writes, synchronous_commit)")


def vacuum(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    if not facts.server.autovacuum:
        yield Finding(
            "vacuum",
            "danger",
            "autovacuum is off: claims get slower with every task",
            "alter system set autovacuum = on; then reload",
        )
    for table in facts.installation.unvacuumed if facts.installation else []:
        yield Finding(
            "vacuum", "danger", f"autovacuum is off for weft.{table}", f"alter table weft.{table} reset (autovacuum_enabled)"
        )
    if facts.server.transaction_age > _WRAPAROUND:
        yield Finding(
            "vacuum",
            "danger",
            f"the oldest row is {facts.server.transaction_age:,} transactions old: "
            f"PostgreSQL stops taking writes at two billion",
            "vacuum freeze; look for what holds it back",
        )
    elif facts.server.autovacuum and not (facts.installation and facts.installation.unvacuumed):
        yield Finding("vacuum", "ok", "autovacuum is on")


def holders(facts: Facts, limits: Limits) -> Iterator[Finding]:
    """Dead rows stay as long as anybody might still see them; each claim then wades through them."""
    found = [finding for holder in facts.holders if (finding := _held(holder, limits)) is not None]
    yield from found
    if not found:
        yield Finding("old transactions", "ok", "nobody keeps dead rows from being removed")


def _held(holder: Holder, limits: Limits) -> Finding | None:
    check = "old transactions"
    match holder.kind:
        case "idle" if holder.held >= limits.idle.total_seconds():
            level: Level = "danger" if holder.held >= 10 * limits.idle.total_seconds() else "warning"
            what = f"process {holder.name} ({holder.who}) has done nothing for {span(holder.held)} in an open transaction"
            return Finding(
                check,
                level,
                what,
                f"end it: select pg_terminate_backend({holder.name}); and set "
                f"idle_in_transaction_session_timeout for that role",
            )
        case "transaction" if holder.held >= limits.transaction.total_seconds():
            level = "danger" if holder.held >= 10 * limits.transaction.total_seconds() else "warning"
            what = f"a transaction of process {holder.name} ({holder.who}) has been open for {span(holder.held)}"
            return Finding(
                check,
                level,
                what,
                f"let it end, or: select pg_cancel_backend({holder.name}); "
                f"long reports belong on a replica without hot_standby_feedback",
            )
        case "prepared" if holder.held >= limits.prepared.total_seconds():
            what = f"the prepared transaction {holder.name!r} of {holder.who} holds rows and locks since {span(holder.held)}"
            return Finding(check, "danger", what, f"commit prepared '{holder.name}' or rollback prepared '{holder.name}'")
        case "slot" if holder.held > _SLOT_AGE:
            what = f"the replication slot {holder.name!r} ({holder.who}) holds rows of {holder.held:,.0f} transactions"
            return Finding(
                check, "danger", what, f"let its standby catch up, or: select pg_drop_replication_slot('{holder.name}')"
            )
        case "slot" if holder.held == 0:
            what = f"nobody reads from the replication slot {holder.name!r} ({holder.who}): WAL piles up on the disk"
            return Finding(check, "warning", what, f"start its reader, or: select pg_drop_replication_slot('{holder.name}')")
        case _:
            return None


def connections(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    server = facts.server
    left = server.room - server.connections
    said = f"{server.connections} of {server.room} connections are taken"
    if left < _NEEDS:
        yield Finding(
            "connections",
            "danger",
            f"{said}: a worker or server may not get in",
            "raise max_connections, lower WEFT_POOL_SIZE, or put PgBouncer in between",
        )
    elif left < server.room * 0.2:
        yield Finding("connections", "warning", said, "raise max_connections, or lower WEFT_POOL_SIZE")
    else:
        yield Finding("connections", "ok", said)


def pooler(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    """LISTEN, leadership and liveness live in a session; a pooler in transaction mode has none to give."""
    problem = _pooled(facts.way)
    yield problem or Finding(
        "pooler", "ok", "a pooler, and a direct way around it" if facts.way.pooled else "none in between"
    )


def _pooled(way: Way) -> Finding | None:
    if way.work_refused is not None:
        return Finding(
            "pooler",
            "danger",
            f"DATABASE_URL does not answer as WEFT_DIRECT_URL does: {way.work_refused}",
            "is DATABASE_URL right? WEFT_DIRECT_URL must name the same database",
        )
    if way.direct_pooler:
        name = "WEFT_DIRECT_URL" if way.has_direct else "DATABASE_URL"
        return Finding(
            "pooler",
            "danger",
            f"{name} leads through a pooler; leadership and liveness need a session",
            "set WEFT_DIRECT_URL to PostgreSQL itself, and WEFT_POOLED=1",
        )
    if way.work_pooler and not way.pooled:
        return Finding(
            "pooler",
            "danger",
            "DATABASE_URL leads through a pooler and WEFT_POOLED is not set: workers "
            "would rely on session settings it does not keep",
            "set WEFT_POOLED=1",
        )
    if way.pooled and not way.work_pooler:
        return Finding(
            "pooler",
            "note",
            "WEFT_POOLED is set, but DATABASE_URL leads straight to PostgreSQL",
            "leave WEFT_POOLED out: it costs a round trip per call",
        )
    return None


def clock(facts: Facts, limits: Limits) -> Iterator[Finding]:
    off = abs(facts.skew)
    if off > limits.skew.total_seconds():
        way = "ahead of" if facts.skew > 0 else "behind"
        yield Finding(
            "clock",
            "warning",
            f"this machine's clock is {span(off)} {way} the database's: Weft goes by the "
            f"database's, but a run_at you compute here is off",
            "set this machine's time by NTP",
        )
    else:
        yield Finding("clock", "ok", "this machine and the database agree on the time")


def schema(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    by_state = {
        state: [one.name for one in facts.migrations if one.state == state] for state in ("pending", "unknown", "changed")
    }
    if by_state["pending"]:
        yield Finding("schema", "danger", f"not applied: {', '.join(by_state['pending'])}", "weft migrate up")
    if by_state["unknown"]:
        yield Finding(
            "schema",
            "danger",
            f"the database is newer than this Weft: {', '.join(by_state['unknown'])}",
            "upgrade Weft on this machine",
        )
    if by_state["changed"]:
        yield Finding(
            "schema",
            "danger",
            f"changed after it was applied: {', '.join(by_state['changed'])}",
            "install the Weft that applied it; never edit a migration",
        )
    # a newer schema may have other indexes, and knows why
    missing = [] if by_state["unknown"] else facts.missing_indexes
    yield from map(_missing, missing)
    if not any(by_state.values()) and not missing:
        yield Finding("schema", "ok", f"up to date ({facts.migrations[-1].name})")


def _missing(index: MissingIndex) -> Finding:
    keeps_out = "create unique " in index.made_by or "weft.refuse(" in index.made_by
    without = "what it keeps out gets in" if keeps_out else "what it makes fast is slow"
    what = f"the index weft.{index.name} is {'not valid' if index.unfit else 'missing'}: {without}"
    remove = f"drop index weft.{index.name}; " if index.unfit else ""
    return Finding("schema", "danger" if keeps_out else "warning", what, f"{remove}{index.made_by}")


def roles(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    found = facts.installation
    if found is None:
        return
    if found.missing_roles:
        yield Finding(
            "roles",
            "danger",
            f"these roles are missing: {', '.join(found.missing_roles)}",
            "; ".join(f"create role {name} nologin" for name in found.missing_roles) + "; then weft migrate up "
            "on a fresh database, or grant as its migrations do",
        )
    elif not found.member:
        yield Finding(
            "roles", "danger", "the user of DATABASE_URL is not a member of weft_engine", "grant weft_engine to that user"
        )
    if found.tenant_sees_all:
        yield Finding(
            "roles",
            "danger",
            "weft_tenant is superuser or has bypassrls: orgs see each other",
            "alter role weft_tenant nosuperuser nobypassrls",
        )
    for table in found.unprotected:
        yield Finding(
            "roles",
            "danger",
            f"weft.{table} is not held by row-level security: orgs may see each other",
            f"alter table weft.{table} enable row level security, force row level security",
        )
    if not found.missing_roles and found.member and not found.tenant_sees_all and not found.unprotected:
        yield Finding("roles", "ok", "roles and row-level security are in place")


def partitions(facts: Facts, _limits: Limits) -> Iterator[Finding]:
    found = facts.installation
    if found is None:
        return
    if found.missing_partitions:
        yield Finding(
            "partitions",
            "warning",
            f"missing: {', '.join(found.missing_partitions)}",
            "a leading worker or server makes them every hour; at once: select weft.make_partitions()",
        )
    if found.rows_in_default:
        many = "1,000 or more" if found.rows_in_default >= 1000 else str(found.rows_in_default)
        yield Finding(
            "partitions",
            "warning",
            f"{many} rows lie in a default partition, where retention does not reach",
            "select weft.make_partitions() moves those of this month on; older ones: delete them",
        )
    if not found.missing_partitions and not found.rows_in_default:
        yield Finding("partitions", "ok", "made ahead")
