-- What webhooks are signed with.

-- name: webhook_key
select k.secret, k.key_id, k.nonce
from weft.webhook_keys as k
where k.org_id = %(org_id)s;

-- name: first_webhook_key
insert into weft.webhook_keys (org_id, secret, key_id, nonce)
values (%(org_id)s, %(secret)s, %(key_id)s::text, %(nonce)s::bytea)
on conflict (org_id) do nothing;

-- name: forget_webhook_key
delete from weft.webhook_keys as k
where k.org_id = %(org_id)s;

-- Not under the current key, or under none.
-- name: webhook_keys_to_rotate
select k.org_id, k.secret, k.key_id, k.nonce
from weft.webhook_keys as k
where k.key_id is null or (k.key_id = any(%(known)s::text[]) and k.key_id <> %(current)s)
order by k.org_id
limit %(take)s
for update skip locked;

-- name: reseal_webhook_key
update weft.webhook_keys as k
set secret = %(secret)s, key_id = %(key_id)s, nonce = %(nonce)s
where k.org_id = %(org_id)s;
