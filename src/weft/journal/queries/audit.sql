-- The journal as an audit trail: read by pages, sealed into a chain per org, and checked.

-- name: list_entries
select j.id, j.at, j.actor, j.action, j.object_type, j.object_id, j.before, j.after, j.request_id, j.number
from weft.journal as j
where j.org_id = %(org_id)s
    and j.id < %(before)s
    and (%(actor)s::text is null or j.actor = %(actor)s)
    and (%(action)s::text is null or j.action = %(action)s)
    and (%(object_type)s::text is null or j.object_type = %(object_type)s)
    and (%(object_id)s::text is null or j.object_id = %(object_id)s)
    and (%(since)s::timestamptz is null or j.id >= weft.uuid7_floor(%(since)s::timestamptz))
order by j.id desc
limit %(take)s;

-- What is hashed, each as text that says the same on every server.
-- piece: hashed
j.id::text, j.org_id::text, to_char(j.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), j.actor, j.action,
j.object_type, j.object_id, j.before::text, j.after::text, j.request_id

-- Not all of them: somebody who looks wants to know whether the sealer is behind.
-- name: count_unsealed
select count(*)
from (
    select
    from weft.journal as j
    where j.number is null and j.org_id = %(org_id)s
    limit 1000
) as u;

-- Tried, not waited for: whoever holds it does the same work.
-- name: lock_sealer
select pg_try_advisory_xact_lock(hashtextextended('weft.journal', 0));

-- A statement of its own, after the lock: it must see what the last sealer did.
-- name: entries_to_seal
select
    -- use: hashed
from weft.journal as j
where j.number is null
order by j.id
limit %(take)s;

-- name: heads
select h.org_id::text, h.number, h.hash
from weft.journal_heads as h
where h.org_id = any(%(orgs)s::uuid[]);

-- name: seal_entries
update weft.journal as j
set number = s.number, hash = s.hash
from unnest(%(ids)s::uuid[], %(numbers)s::bigint[], %(hashes)s::bytea[]) as s (id, number, hash)
where j.id = s.id and j.number is null;

-- name: move_heads
insert into weft.journal_heads as h (org_id, number, hash)
select m.org_id, m.number, m.hash
from unnest(%(orgs)s::uuid[], %(numbers)s::bigint[], %(hashes)s::bytea[]) as m (org_id, number, hash)
on conflict (org_id) do update
set number = excluded.number, hash = excluded.hash;

-- name: sealed_entries
select
    j.number, j.hash,
    -- use: hashed
from weft.journal as j
where j.org_id = %(org_id)s and j.number > %(after)s
order by j.number
limit %(take)s;

-- name: sealed_hash
select j.hash
from weft.journal as j
where j.org_id = %(org_id)s and j.number = %(number)s;
