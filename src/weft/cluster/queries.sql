-- Nodes: who is there.

-- Coming back keeps the status, so that the beat that follows can tell whether the node had been given up.
-- name: register
insert into weft.nodes as n (
    id, org_id, hostname, ip_address, http_port, pid, roles, queues, handlers, capabilities, concurrency, version, lease,
    liveness)
values (
    %(id)s::uuid, %(org)s::uuid, %(hostname)s, %(ip_address)s, %(http_port)s, %(pid)s, %(roles)s::text[], %(queues)s::text[],
    %(handlers)s::text[], %(capabilities)s::text[], %(concurrency)s, %(version)s, %(lease)s, %(liveness)s)
on conflict (id) do update
set hostname = excluded.hostname,
    ip_address = excluded.ip_address,
    http_port = excluded.http_port,
    pid = excluded.pid,
    roles = excluded.roles,
    queues = excluded.queues,
    handlers = excluded.handlers,
    capabilities = excluded.capabilities,
    concurrency = excluded.concurrency,
    version = excluded.version,
    lease = excluded.lease,
    liveness = excluded.liveness
returning n.status;

-- Everything a node needs with every beat, in one statement. The row is locked before it is read: whoever gives
-- the node up at this moment is waited for, and seen. Leadership: one who leads renews, one who would tries the lock, or
-- to be the first in line, which it is no more when it leads.
-- Who was told to drain stays so, however often it says that it is active: its answer tells it.
-- name: beat
with before as materialized (
    select n.id, n.status
    from weft.nodes as n
    where n.id = %(node_id)s::uuid
    for no key update
),
beaten as (
    update weft.nodes as n
    set beat_at = weft.now(),
        status = case when b.status = 'draining' then b.status else %(status)s end,
        asleep = coalesce(%(asleep)s::boolean, n.asleep),
        busy = %(busy)s,
        handled = coalesce(%(handled)s::jsonb, n.handled)
    from before as b
    where n.id = b.id
),
renewed as (
    update weft.leaders as l
    set lease_until = weft.now() + %(leader_lease)s
    where l.role = %(role)s and l.term = %(term)s::bigint and l.node_id = %(node_id)s::uuid
    returning l.term
),
tried as materialized (
    select
        b.status,
        case when %(attempt)s then pg_try_advisory_lock(%(leader_class)s, %(leader_key)s) else false end as elected
    from before as b
)
select
    t.status,
    t.elected,
    exists (select from renewed),
    case
        when t.elected and %(heir)s then pg_advisory_unlock(%(leader_class)s, %(heir_key)s) is null
        when not t.elected and %(attempt)s and not %(heir)s then pg_try_advisory_lock(%(leader_class)s, %(heir_key)s)
        else %(heir)s
    end,
    not exists (
        select
        from weft.nodes as o
        where o.id <> %(node_id)s::uuid and o.status = 'active' and 'worker' = any(o.roles)
    )
from tried as t;

-- name: serve
update weft.nodes
set handlers = %(handlers)s::text[]
where id = %(node_id)s::uuid;

-- name: drain_node
update weft.nodes as n
set status = 'draining'
where n.id = %(node_id)s and n.status in ('starting', 'active')
    and (n.org_id = %(org_id)s or (n.org_id is null and %(shared)s));

-- name: sleep
update weft.nodes
set asleep = %(asleep)s
where id = %(node_id)s::uuid;

-- name: retire
delete from weft.nodes
where id = %(node_id)s::uuid;

-- name: sweep_nodes
delete from weft.nodes
where status = 'dead' and beat_at < weft.now() - %(older)s;

-- A session that says nothing for a lease is ended by the server: a stopped process must not lead for ever.
-- name: open_session
select
    set_config('idle_session_timeout', %(idle)s, false),
    pg_try_advisory_lock(%(liveness_class)s, %(liveness)s);

-- The liveness locks that are held.
-- piece: held
select l.objid::bigint as objid
from pg_locks as l
where l.locktype = 'advisory'
    and l.database = (select d.oid from pg_database as d where d.datname = current_database())
    and l.classid = %(liveness_class)s::oid
    and l.objsubid = 2
    and l.granted;

-- Every node that is not given up. A server that just started has dropped everybody's locks: absence means nothing
-- then. Both times are the server's real clock, whatever weft.now() says.
-- name: look
select
    n.id::text,
    n.beat_at + n.lease < weft.now() as overdue,
    case
        when held.objid is null and pg_postmaster_start_time() < statement_timestamp() - %(quiet)s then n.liveness
    end as absent,
    n.liveness is not null as watched
from weft.nodes as n
left join (
    -- use: held
) as held
    on held.objid = n.liveness
where n.status <> 'dead';

-- What upkeep's one look asks of the nodes (`upkeep/sight.py`): somebody may be gone, or holds tasks and may go at any moment.
-- name: stirs
select 'liveness', 0::double precision
where exists (
    select
    from weft.nodes as n
    left join (
        -- use: held
    ) as held
        on held.objid = n.liveness
    where n.status <> 'dead'
        and (
            n.beat_at + n.lease < weft.now()
            or (n.busy and n.id <> %(node_id)s::uuid)
            or (n.liveness is not null and held.objid is null)
        )
);

-- Gives nodes up, those that are so already included: the caller rescues in batches and must hold each row, so that
-- a node which beats meanwhile learns of it after the rescue. One that came back has another key or a fresh beat.
-- A row that somebody holds is left to the next look: whoever holds it may have stopped, and the others must not wait.
-- name: mark_dead
with free as materialized (
    select n.id
    from weft.nodes as n
    where n.id = any(%(ids)s::uuid[])
    for no key update skip locked
)
update weft.nodes as n
set status = 'dead'
from free as f, unnest(%(ids)s::uuid[], %(absent)s::integer[]) as v (id, absent)
where n.id = f.id and n.id = v.id and (n.status = 'dead' or n.beat_at + n.lease < weft.now() or n.liveness = v.absent)
returning n.id::text;

-- name: known_nodes
select
    n.id::text, n.hostname, n.ip_address, n.pid, n.version, n.http_port, n.roles, n.queues, n.handlers, n.capabilities,
    n.concurrency, n.lease, n.status, n.started_at, n.beat_at, n.asleep, n.handled
from weft.nodes as n
where %(org_id)s::uuid is null or n.org_id is null or n.org_id = %(org_id)s
order by n.started_at, n.id;

-- For people of an org: what serves every org, and its own HTTP workers; the youngest first. The age of a beat is by the database's clock.
-- name: seen_nodes
select
    n.id, n.hostname, n.ip_address, n.http_port, n.pid, n.version, n.status, n.roles, n.queues, n.handlers,
    n.capabilities, n.concurrency, n.asleep, n.started_at, n.beat_at,
    extract(epoch from weft.now() - n.beat_at)::double precision, n.lease, n.org_id is null
from weft.nodes as n
where n.status = any(%(statuses)s::text[])
    and (n.org_id is null or n.org_id = %(org_id)s)
    and (%(id)s::uuid is null or n.id = %(id)s)
    and (%(before_at)s::timestamptz is null or (n.started_at, n.id) < (%(before_at)s, %(before_id)s::uuid))
order by n.started_at desc, n.id desc
limit %(take)s;

-- Leaders.

-- name: found_role
insert into weft.leaders (role, node_id, term, lease_until)
values (%(role)s, %(node_id)s::uuid, 0, weft.now())
on conflict (role) do nothing;

-- Only after the advisory lock. `for update` stands against the fences of the old term: while one of its
-- transactions is open there is no new term. Skipped rather than waited for; the next try is soon.
-- name: take_term
with free as materialized (
    select l.role
    from weft.leaders as l
    where l.role = %(role)s
    for update skip locked
)
update weft.leaders as l
set node_id = %(node_id)s::uuid,
    term = l.term + 1,
    acquired_at = weft.now(),
    lease_until = weft.now() + %(leader_lease)s
from free as f
where l.role = f.role
returning l.term;

-- The heir leaves the line when the leader's place was free: somebody else may then be next.
-- name: inherit
select
    case
        when pg_try_advisory_lock(%(leader_class)s, %(leader_key)s)
        then pg_advisory_unlock(%(leader_class)s, %(heir_key)s) is not null
        else false
    end;

-- `for key share` lets the leader renew meanwhile (no key changes) and stands against take_term's `for update`.
-- A leader that stops between two statements of such a transaction must not keep the next one from its term for long.
-- name: fence
select l.term, set_config('idle_in_transaction_session_timeout', %(idle)s::text, true)
from weft.leaders as l
where l.role = %(role)s::text and l.term = %(term)s::bigint
for key share;

-- name: resign
with ended as (
    update weft.leaders as l
    set lease_until = weft.now()
    where l.role = %(role)s and l.term = %(term)s::bigint and l.node_id = %(node_id)s::uuid
)
select
    pg_advisory_unlock(%(leader_class)s, %(leader_key)s),
    pg_notify('weft_leader', %(role)s);

-- name: current_leader
select l.role, l.node_id::text, l.term, l.acquired_at, l.lease_until
from weft.leaders as l
where l.role = %(role)s and l.term > 0;

-- Named locks.

-- name: acquire
insert into weft.locks as l (org_id, name, owner, token, expires_at, metadata)
values (%(org_id)s, %(name)s, %(owner)s, %(token)s, weft.now() + %(duration)s, %(metadata)s::jsonb)
on conflict (org_id, name) do update
set owner = excluded.owner,
    token = excluded.token,
    acquired_at = excluded.acquired_at,
    expires_at = excluded.expires_at,
    metadata = excluded.metadata
where l.expires_at <= weft.now()
returning l.org_id, l.name, l.owner, l.token, l.acquired_at, l.expires_at, l.metadata;

-- name: extend
update weft.locks as l
set expires_at = weft.now() + %(duration)s
where l.org_id = %(org_id)s and l.name = %(name)s and l.token = %(token)s and l.expires_at > weft.now()
returning l.org_id, l.name, l.owner, l.token, l.acquired_at, l.expires_at, l.metadata;

-- name: release
delete from weft.locks as l
where l.org_id = %(org_id)s and l.name = %(name)s and l.token = %(token)s and l.expires_at > weft.now();

-- name: force_release
delete from weft.locks as l
where l.org_id = %(org_id)s and l.name = %(name)s and l.expires_at > weft.now()
returning l.owner;

-- name: check_lock
select l.org_id, l.name, l.owner, l.token, l.acquired_at, l.expires_at, l.metadata
from weft.locks as l
where l.org_id = %(org_id)s and l.name = %(name)s and l.expires_at > weft.now();

-- name: held_locks
select l.org_id, l.name, l.owner, l.token, l.acquired_at, l.expires_at, l.metadata
from weft.locks as l
where l.org_id = %(org_id)s and l.name > %(after)s and l.expires_at > weft.now()
order by l.name
limit %(take)s;

-- name: sweep_locks
delete from weft.locks as l
where (l.org_id, l.name) in (
    select e.org_id, e.name
    from weft.locks as e
    where e.expires_at < weft.now() - %(older)s
    limit %(take)s
    for update skip locked
);

-- name: leader_silence
select weft.now() - l.lease_until
from weft.leaders as l
where l.role = %(role)s and l.term > 0;

-- Processes that work for an org, counted; a server runs no tasks and is none.
-- name: count_workers
select
    count(*) filter (where n.status = 'active'),
    count(*) filter (where n.status = 'draining'),
    count(*) filter (where n.status = 'dead'),
    coalesce(sum(n.concurrency) filter (where n.status = 'active'), 0)
from weft.nodes as n
where n.concurrency > 0 and (n.org_id is null or n.org_id = %(org_id)s);

-- What nodes that live can do, by name.
-- name: search_kinds
select distinct h.kind
from weft.nodes as n
cross join lateral unnest(n.handlers) as h (kind)
where n.status <> 'dead'
    and (n.org_id is null or n.org_id = %(org_id)s)
    and strpos(lower(h.kind), lower(%(text)s)) > 0
order by h.kind
limit %(take)s;
