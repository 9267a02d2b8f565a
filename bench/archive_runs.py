"""Runs as they are after months: of every kind, name and state, most of them of one org; and two that are large."""

from uuid import UUID

import psycopg

from bench.archive import ID, MONTHS

# `mixed` scatters n; each property takes other bits of it.
RUNS = f"""
insert into weft.runs (
    id, org_id, kind, name, definition_id, state, params, config, output, error, trigger, actor, logical_date, tags, nodes,
    nodes_ended, nodes_failed, created_at, started_at, finished_at)
select {ID}, x.org_id, x.kind, x.kind || '-' || x.which, md5(x.org_id::text || x.kind || x.which)::uuid, x.state,
    '{{"day": "2026-01-15"}}', '{{}}', case when x.state = 'completed' then '{{"rows": 10}}'::jsonb end,
    case when x.state = 'failed' then '{{"type": "Error", "message": "no"}}'::jsonb end, 'manual', 'key:ops', a.at,
    case when x.dice %% 10 = 3 then array['tag-' || x.dice %% 7] end, 6, 6, 0, a.at, a.at,
    case when x.state in ('completed', 'failed', 'cancelled', 'compensated') then a.at + interval '1 minute' end
from generate_series(1, %(count)s) as n
cross join lateral (
    select weft.now() - (%(count)s - n) * (%(span)s::interval / %(count)s) as at
) as a
cross join lateral (
    select hashint8(n + %(seed)s)::bigint & 2147483647 as mixed, hashint8(n * 31 + 7)::bigint & 2147483647 as other
) as m
cross join lateral (
    select
        (%(orgs)s::uuid[])[
            case when m.mixed %% 10 < 6 then 1 else 1 + (m.mixed / 10) %% cardinality(%(orgs)s::uuid[]) end
        ] as org_id,
        case when m.other %% 100 < 60 then 'dag' when m.other %% 100 < 99 then 'workflow' else 'flow' end as kind,
        case when m.other %% 100 < 80 then (m.other / 100) %% 5 else (m.other / 100) %% 60 end as which,
        m.mixed / 1000 %% 1000 as dice
) as t
cross join lateral (
    select t.*, case
        when n > %(count)s - 2000 then (array['created', 'running', 'waiting', 'paused'])[1 + t.dice %% 4]
        when t.dice < 20 then 'failed' when t.dice < 25 then 'cancelled' when t.dice < 27 then 'compensated'
        when t.dice < 30 then 'waiting' when t.dice = 30 then 'blocked' else 'completed'
    end as state
) as x
"""


def fill(url: str, orgs: list[UUID], *, runs: int) -> None:
    """Put the runs there, as the owner; the first org gets most of them."""
    with psycopg.connect(url, autocommit=True, options="-c synchronous_commit=off") as connection:
        connection.execute(RUNS, {"orgs": orgs, "count": runs, "span": f"{30 * (MONTHS - 1)} days", "seed": 77})
        connection.execute("vacuum (analyze) weft.runs")


def large(nodes: int) -> dict[str, object]:
    """A DAG of so many tasks: chains of ten, side by side, in groups of a hundred."""
    tasks: list[dict[str, object]] = []
    for n in range(nodes):
        after = [f"step {n - 10}"] if n % 100 >= 10 else []
        payload = {"task": "nobody-runs-this"}
        tasks.append({"name": f"step {n}", "group": f"shard{n // 100}", "payload": payload, "dependencies": after})
    groups: dict[str, object] = {f"shard{n}": {} for n in range(-(-nodes // 100))}
    return {"name": f"large-{nodes}", "groups": groups, "tasks": tasks}
