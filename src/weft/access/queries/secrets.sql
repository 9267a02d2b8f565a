-- Secrets: sealed, listed without what they hold, opened for one org, sealed anew under another key.

-- A secret as `Secret` has it, without its value.
-- piece: secret
s.name, s.version, s.remote, s.created_at, s.updated_at, s.updated_by

-- name: put_secret
insert into weft.secrets as s (org_id, name, key_id, nonce, sealed, remote, updated_by)
values (%(org_id)s, %(name)s, %(key_id)s, %(nonce)s, %(sealed)s, coalesce(%(remote)s::boolean, false), %(actor)s)
on conflict (org_id, name) do update
set version = s.version + 1,
    key_id = excluded.key_id,
    nonce = excluded.nonce,
    sealed = excluded.sealed,
    -- not said: as it was
    remote = coalesce(%(remote)s::boolean, s.remote),
    updated_at = weft.now(),
    updated_by = excluded.updated_by
returning
    -- use: secret
;

-- name: list_secrets
select
    -- use: secret
from weft.secrets as s
where s.org_id = %(org_id)s and s.name > %(after)s
order by s.name
limit %(take)s;

-- name: delete_secret
delete from weft.secrets as s
where s.org_id = %(org_id)s and s.name = %(name)s
returning
    -- use: secret
;

-- name: sealed_secrets
select s.name, s.key_id, s.nonce, s.sealed, s.remote
from weft.secrets as s
where s.org_id = %(org_id)s and s.name = any(%(names)s::text[]);

-- What others are just writing needs no second hand: it gets the key that is current there.
-- name: secrets_to_rotate
select s.id, s.org_id, s.name, s.key_id, s.nonce, s.sealed
from weft.secrets as s
where s.key_id = any(%(known)s::text[]) and s.key_id <> %(current)s
order by s.id
limit %(take)s
for update skip locked;

-- name: reseal_secrets
update weft.secrets as s
set key_id = %(current)s, nonce = n.nonce, sealed = n.sealed
from unnest(%(ids)s::uuid[], %(nonces)s::bytea[], %(boxes)s::bytea[]) as n (id, nonce, sealed)
where s.id = n.id;

-- Webhooks' keys are sealed with them too.
-- name: secrets_by_key
select s.key_id, count(*)
from (
    select k.key_id
    from weft.secrets as k
    union all
    select k.key_id
    from weft.webhook_keys as k
    where k.key_id is not null
) as s
group by s.key_id
order by s.key_id;
