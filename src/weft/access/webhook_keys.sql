-- access: what an org's webhooks are signed with. The receiver must know it too, so it is no hash.

create table weft.webhook_keys (
    org_id uuid primary key,
    secret bytea not null check (octet_length(secret) >= 32),
    created_at timestamptz not null default weft.now(),
    -- which key seals it, as with secrets. Null: it is not sealed, because there was no key to seal it with
    key_id text,
    nonce bytea,
    check ((key_id is null) = (nonce is null))
);

call weft.wall('webhook_keys');
create policy tenant on weft.webhook_keys for select to weft_tenant using (org_id = weft.current_org());
grant select, insert, update, delete on weft.webhook_keys to weft_engine;
-- that there is one, but not what it is
grant select (org_id, created_at) on weft.webhook_keys to weft_tenant;
