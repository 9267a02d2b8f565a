-- What `weft doctor` asks (and one for `weft demo`). The first two need nothing of ours, so that they work before a migration.

-- name: server
select
    current_setting('server_version_num')::integer,
    current_setting('fsync')::boolean,
    current_setting('full_page_writes')::boolean,
    current_setting('synchronous_commit') <> 'off',
    current_setting('autovacuum')::boolean,
    pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean,
    current_setting('max_connections')::integer
        - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true), '0')::integer,
    (select count(*) from pg_stat_activity as a where a.backend_type = 'client backend'),
    (select age(d.datfrozenxid) from pg_database as d where d.datname = current_database()),
    extract(epoch from clock_timestamp())::double precision;

-- Whoever keeps dead rows from being removed, in this database: sessions, prepared transactions, replication slots.
-- name: holders
select
    case when a.state like 'idle in transaction%%' then 'idle' else 'transaction' end,
    a.pid::text,
    coalesce(nullif(a.application_name, ''), a.usename, a.backend_type),
    extract(epoch from clock_timestamp() - case when a.state = 'active' then a.xact_start else a.state_change end)
        ::double precision
from pg_stat_activity as a
where (a.datname = current_database() or a.backend_type = 'walsender')
    and a.pid <> pg_backend_pid()
    and a.xact_start is not null
    and a.backend_type in ('client backend', 'walsender')
union all
select 'prepared', p.gid, p.owner, extract(epoch from clock_timestamp() - p.prepared)::double precision
from pg_prepared_xacts as p
where p.database = current_database()
union all
select
    'slot',
    s.slot_name,
    coalesce(s.plugin, 'physical'),
    -- transactions, not seconds, where it holds rows; 0 where it only holds WAL
    coalesce(age(s.xmin), 0)::double precision
from pg_replication_slots as s
where (s.database is null or s.database = current_database()) and (not s.active or s.xmin is not null);

-- name: installation
select
    array(select r.name from unnest(array['weft_engine', 'weft_tenant']) as r (name) where to_regrole(r.name) is null),
    coalesce(pg_has_role(current_user, to_regrole('weft_engine'), 'member'), false),
    exists (select from pg_roles as r where r.rolname = 'weft_tenant' and (r.rolsuper or r.rolbypassrls)),
    array(
        select c.relname::text
        from pg_class as c
        join pg_attribute as a
            on a.attrelid = c.oid and a.attname = 'org_id' and not a.attisdropped
        where c.relnamespace = 'weft'::regnamespace
            and c.relkind in ('r', 'p')
            and not c.relispartition
            and not (
                c.relrowsecurity
                and c.relforcerowsecurity
                and exists (select from pg_policy as p where p.polrelid = c.oid)
            )
        order by c.relname
    ),
    array(
        select parent || to_char(month at time zone 'UTC', '"_"YYYY"_"MM')
        from unnest(array['task_history', 'task_logs']) as parent
        cross join generate_series(
            date_trunc('month', weft.now(), 'UTC'),
            date_trunc('month', weft.now(), 'UTC') + interval '1 month',
            interval '1 month') as month
        where to_regclass('weft.' || parent || to_char(month at time zone 'UTC', '"_"YYYY"_"MM')) is null
        order by 1
    ),
    (select count(*) from (select from weft.task_history_default limit 1000) as h)
        + (select count(*) from (select from weft.task_logs_default limit 1000) as l),
    array(
        select c.relname::text
        from pg_class as c
        cross join unnest(c.reloptions) as o (said)
        where c.relnamespace = 'weft'::regnamespace and o.said in ('autovacuum_enabled=false', 'autovacuum_enabled=off')
        order by c.relname
    );

-- Which of these there are not, or only as a building of them left them that failed; and whether something is in the way.
-- name: missing_indexes
select n.name, i.indexrelid is not null
from unnest(%(names)s::text[]) as n (name)
left join pg_index as i
    on i.indexrelid = to_regclass('weft.' || quote_ident(n.name))
where i.indisvalid is not true
order by n.name;

-- Who leads, and how many could.
-- name: leadership
select
    coalesce(max(extract(epoch from weft.now() - l.lease_until)), 1e9)::double precision,
    (
        select count(*)
        from weft.nodes as n
        where n.status <> 'dead' and 'scheduler' = any(n.roles) and n.beat_at + n.lease > weft.now()
    )
from weft.leaders as l
where l.role = 'scheduler' and l.term > 0;

-- What waits, by what a worker must have to take it, and who is there to do so.
-- name: waiting
select
    w.queue,
    w.kind,
    array_to_string((string_to_array(w.lane, '+'))[2:], ', '),
    w.tasks,
    w.oldest,
    exists (
        select
        from weft.queues as q
        where q.name = w.queue and q.org_id in (w.org_id, '00000000-0000-0000-0000-000000000000') and q.paused
    ),
    (
        select count(*)
        from weft.nodes as n
        where n.status = 'active'
            and 'worker' = any(n.roles)
            and (n.org_id is null or n.org_id = w.org_id)
            and (n.queues = '{}' or w.queue = any(n.queues))
    ),
    (
        select count(*)
        from weft.nodes as n
        where n.status = 'active'
            and (n.org_id is null or n.org_id = w.org_id)
            and (n.queues = '{}' or w.queue = any(n.queues))
            and w.kind = any(n.handlers)
    ),
    (
        select count(*)
        from weft.nodes as n
        where n.status = 'active'
            and (n.org_id is null or n.org_id = w.org_id)
            and (n.queues = '{}' or w.queue = any(n.queues))
            and w.kind = any(n.handlers)
            and (string_to_array(w.lane, '+'))[2:] <@ n.capabilities
    )
from (
    select
        t.org_id, t.queue, t.kind, t.lane, count(*) as tasks,
        coalesce(extract(epoch from weft.now() - min(t.run_at) filter (where t.state = 'ready')), 0)
            ::double precision as oldest
    from weft.tasks as t
    where t.state <> 'running'
    group by t.org_id, t.queue, t.kind, t.lane
) as w
order by w.oldest desc, w.tasks desc
limit 1000;

-- Tasks that somebody should have moved on by now: how many, for how long, and one of them.
-- name: stuck
select s.what, count(*), max(s.seconds)::double precision, min(s.id::text)
from (
    select
        t.id,
        case
            when t.state = 'scheduled' then 'promotion'
            when t.cancel_requested_at < weft.now() - interval '1 minute' then 'cancellation'
            when t.lease_until is not null then 'lease'
            when n.id is null or n.status = 'dead' or n.beat_at + n.lease < weft.now() then 'node'
            else 'timeout'
        end as what,
        extract(epoch from weft.now() - case t.state when 'scheduled' then t.run_at else t.claimed_at end) as seconds
    from weft.tasks as t
    left join weft.nodes as n
        on n.id = t.node_id
    where (t.state = 'scheduled' and t.run_at < weft.now() - interval '30 seconds')
        or (
            t.state = 'running'
            and t.claimed_at < weft.now() - interval '30 seconds'
            and (
                t.cancel_requested_at < weft.now() - interval '1 minute'
                or t.lease_until < weft.now() - interval '30 seconds'
                or (t.lease_until is null and (n.id is null or n.status = 'dead' or n.beat_at + n.lease < weft.now()))
                or t.claimed_at + t.timeout < weft.now() - interval '1 minute'
            )
        )
) as s
group by s.what
order by s.what;

-- name: stalled
select count(*), extract(epoch from weft.now() - min(r.stalled_at))::double precision, min(r.id::text)
from weft.runs as r
where r.state in ('running', 'waiting', 'compensating') and r.stalled_at is not null
having count(*) > 0;

-- name: crew
select
    n.id::text, n.hostname, n.pid, n.status, n.version, 'worker' = any(n.roles),
    extract(epoch from weft.now() - n.beat_at)::double precision, extract(epoch from n.lease)::double precision
from weft.nodes as n
order by n.started_at, n.id;

-- Seconds since PostgreSQL started. For `weft demo`: just after that, a missing liveness lock means nothing.
-- name: server_age
select extract(epoch from clock_timestamp() - pg_postmaster_start_time())::double precision;

-- For `weft bench`. Our own session's counts go in at once, those of others within a second or so.
-- name: transactions
select s.xact_commit + s.xact_rollback
from (select pg_stat_force_next_flush()) as flushed
cross join pg_stat_database as s
where s.datname = current_database();
