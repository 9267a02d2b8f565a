-- Sessions and their subscriptions. A server writes those of all its sockets together, now and then.

-- For users' own queries: nothing is changed, and nothing takes long.
-- name: read_only
select
    set_config('transaction_read_only', 'on', true),
    set_config('statement_timeout', %(patience)s, true);

-- name: resumable
select s.id
from weft.live_sessions as s
where s.id = %(id)s and s.org_id = %(org_id)s and s.actor = %(actor)s;

-- One that comes back takes its row over, although the server that it left may not have noticed yet; another's row is left alone.
-- name: open_sessions
insert into weft.live_sessions as s (id, org_id, node_id, actor)
select n.id, n.org_id, %(node_id)s, n.actor
from unnest(%(ids)s::uuid[], %(orgs)s::uuid[], %(actors)s::text[]) as n (id, org_id, actor)
on conflict (id) do update
set node_id = excluded.node_id, status = 'connected', connected_at = weft.now(), last_activity = weft.now(),
    seen_at = weft.now()
where s.org_id = excluded.org_id and s.actor = excluded.actor;

-- name: end_sessions
update weft.live_sessions as s
set status = e.status, seen_at = weft.now()
from unnest(%(ids)s::uuid[], %(statuses)s::text[]) as e (id, status)
where s.id = e.id and s.node_id = %(node_id)s;

-- Says that a server still has its sockets, and when they last spoke.
-- name: see_sessions
update weft.live_sessions as s
set seen_at = weft.now(), last_activity = greatest(s.last_activity, weft.now() - n.silent)
from unnest(%(ids)s::uuid[], %(silent)s::interval[]) as n (id, silent)
where s.id = n.id and s.node_id = %(node_id)s;

-- name: insert_subscriptions
insert into weft.live_subscriptions (id, org_id, session_id, query_name, query_hash, args)
select n.id, s.org_id, s.id, n.name, n.hash, n.args::jsonb
from unnest(%(ids)s::uuid[], %(sessions)s::uuid[], %(names)s::text[], %(hashes)s::text[], %(args)s::text[])
    as n (id, session_id, name, hash, args)
join weft.live_sessions as s
    on s.id = n.session_id
on conflict (id) do nothing;

-- name: delete_subscriptions
delete from weft.live_subscriptions as s
where s.id = any(%(ids)s::uuid[]);

-- name: clear_subscriptions
delete from weft.live_subscriptions as s
where s.session_id = any(%(sessions)s::uuid[]);

-- Whoever's server died may come back to another one; nobody waits for them for ever.
-- name: orphan_sessions
update weft.live_sessions as s
set status = 'reconnecting', seen_at = weft.now()
where s.id = any(array(
    select o.id
    from weft.live_sessions as o
    where o.status in ('connecting', 'connected') and o.seen_at < weft.now() - %(unseen)s::interval
    limit %(take)s
    for update skip locked));

-- name: give_up_sessions
with given_up as (
    update weft.live_sessions as s
    set status = 'disconnected', seen_at = weft.now()
    where s.id = any(array(
        select o.id
        from weft.live_sessions as o
        where o.status = 'reconnecting' and o.seen_at < weft.now() - %(patience)s::interval
        limit %(take)s
        for update skip locked))
    returning s.id
),
cleared as (
    delete from weft.live_subscriptions as s
    using given_up as g
    where s.session_id = g.id
)
select count(*)
from given_up;

-- name: forget_sessions
delete from weft.live_sessions as s
where s.id = any(array(
    select o.id
    from weft.live_sessions as o
    where o.status = 'disconnected' and o.seen_at < weft.now() - %(kept)s::interval
    limit %(take)s
    for update skip locked));

-- What upkeep's one look asks of the sessions (`upkeep/sight.py`).
-- name: stirs
select 'session sweeper', 0::double precision
where exists (
    select
    from weft.live_sessions as s
    where (s.status in ('connecting', 'connected') and s.seen_at < weft.now() - %(unseen)s::interval)
        or (s.status = 'reconnecting' and s.seen_at < weft.now() - %(patience)s::interval)
        or (s.status = 'disconnected' and s.seen_at < weft.now() - %(kept)s::interval)
);

-- Which of these tables nobody is told about: there is no trigger on them that calls notify_change, ours or the seed's name.
-- name: unreactive
select t.name
from unnest(%(tables)s::text[]) as t (name)
where not exists (
    select
    from pg_class as c
    join pg_namespace as n
        on n.oid = c.relnamespace
    join pg_trigger as g
        on g.tgrelid = c.oid
    join pg_proc as p
        on p.oid = g.tgfoid
    where n.nspname || '.' || c.relname = t.name and p.proname in ('notify_change', 'forge_notify_change'));
