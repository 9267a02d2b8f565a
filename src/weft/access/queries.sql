-- Keys: made, looked at, looked up, revoked. And what requests with an Idempotency-Key were answered.

-- A key as `Key` has it, without its hash.
-- piece: key
k.id, k.org_id, k.name, k.role, k.scopes, k.request_rate, k.request_burst, k.prefix, k.created_by, k.created_at,
k.expires_at, k.revoked_at, k.last_used_at

-- name: insert_key
insert into weft.keys as k (org_id, name, role, scopes, request_rate, request_burst, prefix, hash, created_by, expires_at)
values (
    %(org_id)s, %(name)s, %(role)s, %(scopes)s::text[], %(request_rate)s, %(request_burst)s, %(prefix)s, %(hash)s,
    %(created_by)s, weft.now() + %(lasts)s::interval)
returning
    -- use: key
;

-- name: list_keys
select
    -- use: key
from weft.keys as k
where k.org_id = %(org_id)s and k.id < %(before)s
order by k.id desc
limit %(take)s;

-- name: revoke_key
update weft.keys as k
set revoked_at = coalesce(k.revoked_at, weft.now())
where k.id = %(id)s and k.org_id = %(org_id)s
returning
    -- use: key
;

-- Who a credential is: one look-up in the unique index of hashes.
-- name: find_key
select
    k.id, k.org_id, k.name, k.role,
    k.revoked_at is not null,
    coalesce(k.expires_at <= weft.now(), false),
    coalesce(k.last_used_at < weft.now() - interval '1 minute', true),
    o.suspended_at is not null,
    k.scopes, k.request_rate, k.request_burst, o.request_rate, o.request_burst
from weft.keys as k
join weft.orgs as o
    on o.id = k.org_id
where k.hash = %(hash)s;

-- Whether what was claimed with a key may still be spoken for.
-- name: key_stands
select exists (
    select
    from weft.keys as k
    join weft.orgs as o
        on o.id = k.org_id
    where k.id = %(id)s and k.revoked_at is null and o.suspended_at is null
        and (k.expires_at is null or k.expires_at > weft.now())
);

-- How long a key is good for; null: for ever.
-- name: key_lasts
select k.expires_at - weft.now()
from weft.keys as k
where k.id = %(id)s;

-- name: touch_key
update weft.keys as k
set last_used_at = weft.now()
where k.id = %(id)s and (k.last_used_at is null or k.last_used_at < weft.now() - interval '1 minute');

-- name: any_key
select exists (
    select
    from weft.keys as k
    where k.revoked_at is null and (k.expires_at is null or k.expires_at > weft.now())
);

-- Whoever comes second with the same key waits here until the first has committed or gone.
-- name: begin_idempotent
insert into weft.idempotency_keys (org_id, key, request)
values (%(org_id)s, %(key)s, %(request)s)
on conflict (org_id, key) do nothing
returning true;

-- name: idempotent_answer
select i.request, i.status, i.answer
from weft.idempotency_keys as i
where i.org_id = %(org_id)s and i.key = %(key)s;

-- name: end_idempotent
update weft.idempotency_keys as i
set status = %(status)s, answer = %(answer)s
where i.org_id = %(org_id)s and i.key = %(key)s;

-- name: prune_idempotency_keys
delete from weft.idempotency_keys as i
where i.ctid = any(array(
    select o.ctid
    from weft.idempotency_keys as o
    where o.created_at < weft.now() - %(older)s
    order by o.created_at
    limit %(take)s
    for update skip locked));
