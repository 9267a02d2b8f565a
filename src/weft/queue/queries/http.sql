-- Workers over HTTP: every task they hold has a lease of its own, which only their heartbeats extend.

-- What one org has ready: one probe per lane of anybody, one more to see whether it is theirs.
-- name: lanes_of
with recursive plain as (
    (
        select t.lane
        from weft.tasks as t
        where t.state = 'ready' and t.plain
        order by t.lane
        limit 1
    )
    union all
    select n.lane
    from plain as p
    cross join lateral (
        select t.lane
        from weft.tasks as t
        where t.state = 'ready' and t.plain and t.lane > p.lane
        order by t.lane
        limit 1
    ) as n
),
special as (
    (
        select t.lane
        from weft.tasks as t
        where t.state = 'ready' and not t.plain
        order by t.lane
        limit 1
    )
    union all
    select n.lane
    from special as p
    cross join lateral (
        select t.lane
        from weft.tasks as t
        where t.state = 'ready' and not t.plain and t.lane > p.lane
        order by t.lane
        limit 1
    ) as n
),
found as (
    select p.lane, true as plain
    from plain as p
    where exists (
        select
        from weft.tasks as t
        where t.state = 'ready' and t.plain and t.lane = p.lane and t.org_id = %(org)s::uuid
    )
    union all
    select s.lane, false
    from special as s
    where exists (
        select
        from weft.tasks as t
        where t.state = 'ready' and not t.plain and t.lane = s.lane and t.org_id = %(org)s::uuid
    )
)
select
    f.lane,
    %(org)s::uuid::text,
    f.plain,
    1,
    coalesce(bool_or(o.max_concurrent is not null), false)
        or coalesce(bool_or(q.max_running is not null or q.rate_limit is not null), false),
    coalesce(bool_or(q.paused), false)
from found as f
left join weft.orgs as o
    on o.id = %(org)s::uuid
left join weft.queues as q
    on q.name = split_part(f.lane, '+', 1)
    and q.org_id in (%(org)s::uuid, '00000000-0000-0000-0000-000000000000')
group by f.lane, f.plain;

-- A heartbeat: the lease begins anew by the database's clock. A row without a lease of its own keeps none.
-- Only how far an attempt is, if that is new, is told to the feed.
-- name: extend_leases
with
-- use: progressing
,
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(p.id) end
    from progressing as p
    where p.news
    having count(*) > 0
)
update weft.tasks as t
set lease_until = case when t.lease_until is not null then weft.now() + coalesce(t.heartbeat_timeout, %(lease)s) end,
    progress = p.progress,
    progress_message = p.message,
    started_at = p.started_at
from progressing as p
where t.id = any(array[p.id])
returning
    t.id::text, t.org_id::text, t.attempt, t.node_id::text, t.cancel_requested_at is not null,
    coalesce(t.claimed_at + t.timeout < weft.now(), false),
    extract(epoch from t.timeout)::double precision,
    extract(epoch from coalesce(t.heartbeat_timeout, %(lease)s))::double precision;

-- What a worker may ask again of the task it holds.
-- name: fetch_held
select
    t.id::text, t.org_id::text, t.kind, t.queue, t.payload::text, t.attempt, t.lease_token::text, t.run_at,
    extract(epoch from t.timeout)::double precision, extract(epoch from t.heartbeat_timeout)::double precision,
    t.losses, t.correlation_id, t.trace_parent, t.tags, t.cancel_requested_at is not null,
    t.concurrency_key, t.run_id::text
from weft.tasks as t
where t.id = any(array[%(id)s::uuid]) and t.lease_token = %(token)s::uuid;

-- What a worker's claims took whose answer never reached it. A claim's tokens begin alike, with what the worker named it.
-- name: tasks_of_claim_names
select t.id::text
from weft.tasks as t
join unnest(%(first)s::uuid[], %(last)s::uuid[]) as c (first, last)
    on t.lease_token between c.first and c.last
where t.state = 'running' and t.node_id = %(node_id)s::uuid and t.lease_until is not null
order by t.claimed_at
limit %(take)s
for update of t;

-- Keys that sign task tokens: the newest signs, all of them verify.
-- name: signing_keys
select k.id::text, k.secret, weft.now(), k.retired_at is null
from weft.signing_keys as k
where k.retired_at is null or k.retired_at > weft.now()
order by k.retired_at is not null, k.created_at desc;

-- name: first_signing_key
insert into weft.signing_keys (id, secret, signs)
values (%(id)s::uuid, %(secret)s, true)
on conflict (signs) do nothing;

-- name: retire_signing_keys
update weft.signing_keys
set retired_at = weft.now() + %(still)s, signs = null
where retired_at is null;

-- name: forget_signing_keys
delete from weft.signing_keys
where retired_at < weft.now();
