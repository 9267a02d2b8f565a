-- access: who may do what. Orgs and keys here; users and their roles in people.sql.

create table weft.orgs (
    id uuid primary key default weft.uuid7(),
    name text not null,
    slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    tier text not null default 'standard' check (tier in ('free', 'standard', 'enterprise')),
    settings jsonb not null default '{}' check (jsonb_typeof(settings) = 'object'),
    max_jobs integer check (max_jobs >= 0),
    -- null: no limit, and then its work is claimed on the fast path
    max_concurrent integer check (max_concurrent >= 0),
    -- requests a second over HTTP, on average and at once; null: the server's own
    request_rate integer check (request_rate > 0),
    request_burst integer check (request_burst > 0),
    -- share of claims when orgs compete
    weight smallint not null default 1 check (weight between 1 and 100),
    -- null: kept for ever
    retention interval,
    created_at timestamptz not null default weft.now(),
    -- set: nobody comes in with a credential of this org
    suspended_at timestamptz
);

-- The org of everything that names none, with a fixed id so that code can say it without asking.
insert into weft.orgs (id, name, slug)
values ('00000000-0000-7000-8000-000000000001', 'Default', 'default');

alter table weft.orgs enable row level security;
alter table weft.orgs force row level security;
create policy owner on weft.orgs to current_user using (true) with check (true);
create policy engine on weft.orgs for select to weft_engine using (true);
create policy engine_adds on weft.orgs for insert to weft_engine with check (weft.current_org() is null);
-- in a transaction that says its org the engine changes no other
create policy engine_changes on weft.orgs for update to weft_engine
    using (weft.current_org() is null or id = weft.current_org());
create policy tenant on weft.orgs for select to weft_tenant using (id = weft.current_org());
grant select, insert, update on weft.orgs to weft_engine;
grant select on weft.orgs to weft_tenant;

-- What opens the API. The text of a key is shown once; its hash finds it again.
create table weft.keys (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null references weft.orgs (id),
    name text not null,
    role text not null check (role in ('reader', 'writer', 'admin', 'operator', 'worker')),
    -- actions it is held to, of those its role allows; none: all of them
    scopes text[] not null default '{}',
    request_rate integer check (request_rate > 0),
    request_burst integer check (request_burst > 0),
    -- its first characters, so that people can tell their keys apart
    prefix text not null,
    hash bytea not null unique check (octet_length(hash) = 32),
    created_by text not null,
    created_at timestamptz not null default weft.now(),
    -- null: never
    expires_at timestamptz,
    revoked_at timestamptz,
    -- written at most once a minute
    last_used_at timestamptz
);

create index keys_by_org on weft.keys (org_id, id);

-- The first answer to a request that came with an Idempotency-Key, stored with its effect.
create table weft.idempotency_keys (
    org_id uuid not null,
    key text not null,
    -- SHA-256 of the request: the same key with another request is a mistake
    request bytea not null,
    -- null only inside the transaction that makes it
    status smallint,
    answer text,
    created_at timestamptz not null default weft.now(),
    primary key (org_id, key)
);

create index idempotency_keys_by_age on weft.idempotency_keys (created_at);

alter table weft.keys enable row level security;
alter table weft.keys force row level security;
create policy owner on weft.keys to current_user using (true) with check (true);
-- confined to its transaction's org, if that has one
create policy engine on weft.keys to weft_engine
    using (weft.current_org() is null or org_id = weft.current_org());
create policy tenant on weft.keys for select to weft_tenant using (org_id = weft.current_org());
grant select, insert, update, delete on weft.keys to weft_engine;
-- Nobody reads a hash on behalf of a user. Nor makes a key: users' own roles may be tenants, and none of them an admin.
grant select (
    id, org_id, name, role, scopes, request_rate, request_burst, prefix, created_by, created_at, expires_at, revoked_at,
    last_used_at
) on weft.keys to weft_tenant;

call weft.org_wall('idempotency_keys');
grant select, insert, update, delete on weft.idempotency_keys to weft_engine;
grant select, insert, update on weft.idempotency_keys to weft_tenant;
