-- queue: what signs task tokens. Only the engine may read it, and no view shows it.

create table weft.signing_keys (
    id uuid primary key,
    secret bytea not null check (octet_length(secret) >= 32),
    -- true for the one that signs: two servers that start at once agree on one
    signs boolean unique check (signs),
    created_at timestamptz not null default weft.now(),
    -- null: signs. Set: verifies until then.
    retired_at timestamptz
);

alter table weft.signing_keys enable row level security;
alter table weft.signing_keys force row level security;
create policy owner on weft.signing_keys to current_user using (true) with check (true);
create policy engine on weft.signing_keys to weft_engine using (true) with check (true);
grant select, insert, update, delete on weft.signing_keys to weft_engine;
