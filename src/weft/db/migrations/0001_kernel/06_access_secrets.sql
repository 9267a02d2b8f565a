-- access: secrets. What is sealed here opens only with a key that the database never sees.

create table weft.secrets (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null references weft.orgs (id),
    name text not null check (name ~ '^[A-Za-z_][A-Za-z0-9_.-]{0,127}$'),
    version integer not null default 1,
    -- which key seals it; rotation finds by it what is left to do
    key_id text not null,
    nonce bytea not null check (octet_length(nonce) = 12),
    -- AES-GCM, bound to org and name: a box moved to another row does not open
    sealed bytea not null,
    -- whether workers over HTTP may be given it
    remote boolean not null default false,
    created_at timestamptz not null default weft.now(),
    updated_at timestamptz not null default weft.now(),
    updated_by text not null,
    unique (org_id, name)
);

create index secrets_by_key on weft.secrets (key_id, id);

alter table weft.secrets enable row level security;
alter table weft.secrets force row level security;
create policy owner on weft.secrets to current_user using (true) with check (true);
-- confined to its transaction's org, if that has one
create policy engine on weft.secrets to weft_engine
    using (weft.current_org() is null or org_id = weft.current_org());
create policy tenant on weft.secrets for select to weft_tenant using (org_id = weft.current_org());
grant select, insert, update, delete on weft.secrets to weft_engine;
-- names and dates; whoever may be any SQL user neither sees a box nor writes one
grant select (id, org_id, name, version, remote, created_at, updated_at, updated_by) on weft.secrets to weft_tenant;
