-- Who has work, and taking it. The hot part of the kernel.

-- A loose index scan: one probe per (lane, org) that has ready work, whatever its depth.
-- name: lanes
with recursive plain as (
    (
        select t.lane, t.org_id
        from weft.tasks as t
        where t.state = 'ready' and t.plain
        order by t.lane, t.org_id
        limit 1
    )
    union all
    select n.lane, n.org_id
    from plain as p
    cross join lateral (
        select t.lane, t.org_id
        from weft.tasks as t
        where t.state = 'ready' and t.plain and (t.lane, t.org_id) > (p.lane, p.org_id)
        order by t.lane, t.org_id
        limit 1
    ) as n
),
special as (
    (
        select t.lane, t.org_id
        from weft.tasks as t
        where t.state = 'ready' and not t.plain
        order by t.lane, t.org_id
        limit 1
    )
    union all
    select n.lane, n.org_id
    from special as p
    cross join lateral (
        select t.lane, t.org_id
        from weft.tasks as t
        where t.state = 'ready' and not t.plain and (t.lane, t.org_id) > (p.lane, p.org_id)
        order by t.lane, t.org_id
        limit 1
    ) as n
),
found as (
    select p.lane, p.org_id, true as plain from plain as p
    union all
    select s.lane, s.org_id, false from special as s
)
select
    f.lane,
    f.org_id::text,
    f.plain,
    coalesce(o.weight, 1),
    o.max_concurrent is not null or coalesce(bool_or(q.max_running is not null or q.rate_limit is not null), false),
    coalesce(bool_or(q.paused), false) or o.suspended_at is not null,
    f.plain and coalesce(bool_and(q.rate_limit is null), true)
from found as f
left join weft.orgs as o
    on o.id = f.org_id
left join weft.queues as q
    on q.name = split_part(f.lane, '+', 1)
    and q.org_id in (f.org_id, '00000000-0000-0000-0000-000000000000')
group by f.lane, f.org_id, f.plain, o.weight, o.max_concurrent, o.suspended_at;

-- How every claim ends: the picked rows are held by this token, the feed hears of it, the worker gets what it needs.
-- Rows are locked before, then addressed by ctid: a join by id flipped to a scan of the whole table.
-- piece: taken
claimed as (
    update weft.tasks as t
    set state = 'running',
        attempt = t.attempt + 1,
        claimed_at = weft.now(),
        node_id = %(node_id)s,
        lease_token = %(token)s,
        -- counted against the limits from here on
        limited = %(limited)s,
        -- only for HTTP workers: null leaves the lease with the node's beat
        lease_until = weft.now() + coalesce(case when %(lease)s::interval is not null then t.heartbeat_timeout end, %(lease)s)
    where t.ctid = any(array(select p.place from picked as p))
    returning
        t.id, t.org_id, t.kind, t.payload, t.attempt, t.lane, t.urgency, t.run_at,
        -- what few tasks have travels in one column: each further one costs every task. Most tasks of runs have no more than
        -- their run and step, and text that is joined costs them a fifth of an object that is built.
        case
            when t.uncounted > 0 or t.losses > 0 or num_nonnulls(
                t.max_attempts, t.concurrency_key, t.retry, t.timeout, t.heartbeat_timeout, t.correlation_id, t.trace_parent,
                t.tags
            ) > 0
            then json_build_object(
                'uncounted', t.uncounted, 'losses', t.losses, 'max_attempts', t.max_attempts, 'retry', t.retry,
                'concurrency_key', t.concurrency_key, 'timeout', extract(epoch from t.timeout)::double precision,
                'heartbeat_timeout', extract(epoch from t.heartbeat_timeout)::double precision,
                'correlation_id', t.correlation_id, 'trace_parent', t.trace_parent, 'run_id', t.run_id, 'step_id', t.step_id,
                'tags', t.tags)::text
            when t.run_id is not null
            then '{"run_id":"' || t.run_id || coalesce('","step_id":"' || t.step_id, '') || '"}'
        end as rest
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then (select array_agg(c.id) from claimed as c) end
    -- counted by their places: the rows themselves are wide, and most claims have many
    from picked as p
    having count(*) > 0
)
select c.id::text, c.org_id::text, c.kind, c.payload::text, c.attempt, c.lane, c.urgency, c.run_at, c.rest
from claimed as c
order by c.urgency, c.run_at, c.id;

-- Unlimited work in one statement. A lane that has become limited or paused is left out by the statement itself.
-- The mark skips the dead entries of what was claimed before; it is a hint that the worker drops every second.
-- name: claim_plain
with lane as (
    select l.lane, l.org_id, l.take, l.urgency, l.run_at, l.id
    from unnest(
        %(lanes)s::text[], %(orgs)s::uuid[], %(takes)s::integer[],
        %(mark_urgency)s::smallint[], %(mark_run_at)s::timestamptz[], %(mark_id)s::uuid[]
    ) as l (lane, org_id, take, urgency, run_at, id)
    where not exists (
        select
        from weft.orgs as o
        where o.id = l.org_id and (o.max_concurrent is not null or o.suspended_at is not null)
    )
    and not exists (
        select
        from weft.queues as q
        where q.name = split_part(l.lane, '+', 1)
            and q.org_id in (l.org_id, '00000000-0000-0000-0000-000000000000')
            and (q.paused or q.max_running is not null or q.rate_limit is not null)
    )
),
picked as materialized (
    select c.place
    from lane as l
    cross join lateral (
        select t.ctid as place
        from weft.tasks as t
        where t.state = 'ready'
            and t.plain
            and t.lane = l.lane
            and t.org_id = l.org_id
            and (t.urgency, t.run_at, t.id) > (l.urgency, l.run_at, l.id)
            and t.kind = any(%(kinds)s)
        order by t.urgency, t.run_at, t.id
        limit l.take
        for update skip locked
    ) as c
),
-- use: taken

-- What stands ready under a key or after a loss, at most a few per lane.
-- name: special_candidates
select c.id::text, c.org_id::text, c.lane, c.concurrency_key, c.concurrency, c.losses, c.urgency, c.run_at
from unnest(
    %(lanes)s::text[], %(orgs)s::uuid[], %(mark_urgency)s::smallint[], %(mark_run_at)s::timestamptz[], %(mark_id)s::uuid[]
) as l (lane, org_id, urgency, run_at, id)
cross join lateral (
    select t.id, t.org_id, t.lane, t.concurrency_key, t.concurrency, t.losses, t.urgency, t.run_at
    from weft.tasks as t
    where t.state = 'ready'
        and not t.plain
        and t.lane = l.lane
        and t.org_id = l.org_id
        and (t.urgency, t.run_at, t.id) > (l.urgency, l.run_at, l.id)
        and t.kind = any(%(kinds)s)
    order by t.urgency, t.run_at, t.id
    limit %(take)s
) as c
order by c.urgency, c.run_at, c.id;

-- Locks limits by name for this transaction. A limit somebody else is counting is left to the next round.
-- name: lock_limits
select n.name, pg_try_advisory_xact_lock(hashtextextended('weft.limit ' || n.name, 0))
from unnest(%(names)s::text[]) as n (name);

-- How full the limits of these orgs are; one that is suspended has no room. Counted from leased rows in a statement of its own, after the locks.
-- An org's own limit has no queue.
-- name: count_limits
select
    o.id::text, null as name, false as paused, case when o.suspended_at is null then o.max_concurrent else 0 end,
    null::double precision as tokens, count(t.id)
from weft.orgs as o
left join weft.tasks as t
    on t.org_id = o.id and t.state = 'running' and t.limited
where o.id = any(%(orgs)s::uuid[]) and (o.max_concurrent is not null or o.suspended_at is not null)
group by o.id, o.max_concurrent, o.suspended_at
union all
select
    q.org_id::text, q.name, q.paused, q.max_running,
    -- the bucket as it would be now
    case
        when q.rate_limit is not null then least(
            q.rate_burst,
            coalesce(q.tokens, q.rate_burst)
            + extract(epoch from weft.now() - coalesce(q.refilled_at, weft.now()))
            / extract(epoch from q.rate_period) * q.rate_limit)
    end::double precision,
    (
        select count(*)
        from weft.tasks as t
        where t.state = 'running' and t.limited and t.queue = q.name
            and (t.org_id = q.org_id or q.org_id = '00000000-0000-0000-0000-000000000000')
    )
from weft.queues as q
where q.name = any(%(names)s::text[]) and q.org_id = any(%(orgs)s::uuid[] || '00000000-0000-0000-0000-000000000000'::uuid);

-- How many of these keys run, and for strict keys which task is first in line (in any state).
-- name: count_keys
select
    k.org_id::text, k.key,
    (
        select count(*)
        from weft.tasks as t
        where t.org_id = k.org_id and t.concurrency_key = k.key and t.state = 'running'
    ),
    (
        -- one probe per state, because the index has them apart and a key may have very many. At least, not exactly, the
        -- state: ordered by id alone, the first would be sought along the primary key
        select f.id::text
        from (values ('scheduled'), ('blocked'), ('ready'), ('running')) as s (state)
        cross join lateral (
            select t.id, t.state
            from weft.tasks as t
            where t.org_id = k.org_id and t.concurrency_key = k.key and t.state >= s.state
            order by t.state, t.id
            limit 1
        ) as f
        where f.state = s.state
        order by f.id
        limit 1
    )
from unnest(%(orgs)s::uuid[], %(keys)s::text[]) as k (org_id, key);

-- name: spend_tokens
update weft.queues as q
set tokens = b.left_over, refilled_at = weft.now()
from unnest(%(orgs)s::uuid[], %(names)s::text[], %(left_over)s::double precision[]) as b (org_id, name, left_over)
where q.org_id = b.org_id and q.name = b.name;

-- Plain work of limited lanes: as many per lane as the limits left room for.
-- name: claim_limited
with picked as materialized (
    select c.place
    from unnest(
        %(lanes)s::text[], %(orgs)s::uuid[], %(takes)s::integer[],
        %(mark_urgency)s::smallint[], %(mark_run_at)s::timestamptz[], %(mark_id)s::uuid[]
    ) as l (lane, org_id, take, urgency, run_at, id)
    cross join lateral (
        select t.ctid as place
        from weft.tasks as t
        where t.state = 'ready'
            and t.plain
            and t.lane = l.lane
            and t.org_id = l.org_id
            and (t.urgency, t.run_at, t.id) > (l.urgency, l.run_at, l.id)
            and t.kind = any(%(kinds)s)
        order by t.urgency, t.run_at, t.id
        limit l.take
        for update skip locked
    ) as c
),
-- use: taken

-- What is ready in one lane of one org, from a mark on.
-- piece: of_one_lane
select t.ctid as place
from weft.tasks as t
where t.state = 'ready'
    and t.plain
    and t.lane = %(lane)s::text
    and t.org_id = %(org)s::uuid
    and (t.urgency, t.run_at, t.id) > (%(mark_urgency)s::smallint, %(mark_run_at)s::timestamptz, %(mark_id)s::uuid)
    and t.kind = any(%(kinds)s::text[])

-- The same of one lane whose limits are counts, in one round trip with the locks: it sees itself whether they were got, and
-- counts, being a statement of its own. One that got a rate meanwhile has no room: a bucket is spent elsewhere.
-- name: lock_limits_first
select set_config('weft.limits_locked', bool_and(l.got)::text, true), bool_and(l.got)
from (
    select pg_try_advisory_xact_lock(hashtextextended('weft.limit ' || n.name, 0)) as got
    from unnest(%(names)s::text[]) as n (name)
) as l;

-- name: claim_counted
with room as (
    select least(
        %(take)s::integer,
        (
            select
                case
                    when o.suspended_at is not null then 0
                    else o.max_concurrent - (
                        select count(*)
                        from weft.tasks as t
                        where t.org_id = o.id and t.state = 'running' and t.limited)
                end
            from weft.orgs as o
            where o.id = %(org)s::uuid and (o.max_concurrent is not null or o.suspended_at is not null)
        ),
        (
            select
                min(case
                    when q.paused or q.rate_limit is not null then 0
                    when q.max_running is not null then q.max_running - (
                        select count(*)
                        from weft.tasks as t
                        where t.state = 'running' and t.limited and t.queue = q.name
                            and (t.org_id = q.org_id or q.org_id = '00000000-0000-0000-0000-000000000000'))
                end)
            from weft.queues as q
            where q.name = split_part(%(lane)s::text, '+', 1)
                and q.org_id in (%(org)s::uuid, '00000000-0000-0000-0000-000000000000')
        )
    ) as places
    where current_setting('weft.limits_locked', true) = 'true'
),
picked as materialized (
    -- use: of_one_lane
    order by t.urgency, t.run_at, t.id
    limit greatest((select r.places from room as r), 0)
    for update skip locked
),
-- use: taken

-- The chosen special tasks, by id. Those somebody took meanwhile are left out.
-- name: claim_chosen
with picked as materialized (
    select t.ctid as place
    from weft.tasks as t
    where t.id = any(%(ids)s::uuid[]) and t.state = 'ready'
    for update skip locked
),
-- use: taken

-- Ready work whose key turned out full waits outside the claim index.
-- name: block
with changed as (
    update weft.tasks as t
    set state = 'blocked'
    where t.id = any(%(ids)s::uuid[]) and t.state = 'ready'
    returning t.id
)
insert into weft.change_inbox (table_name, op, ids)
select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(c.id) end
from changed as c
having count(*) > 0;
