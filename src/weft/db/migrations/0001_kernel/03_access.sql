-- access: who may do what. Orgs and keys; users and roles of their own come with their issue.

create table weft.orgs (
    id uuid primary key default weft.uuid7(),
    name text not null,
    slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    tier text not null default 'standard',
    settings jsonb not null default '{}',
    max_jobs integer check (max_jobs >= 0),
    -- null: no limit, and then its work is claimed on the fast path
    max_concurrent integer check (max_concurrent >= 0),
    -- share of claims when orgs compete
    weight smallint not null default 1 check (weight between 1 and 100),
    -- null: kept for ever
    retention interval,
    created_at timestamptz not null default weft.now()
);

-- The org of everything that names none, with a fixed id so that code can say it without asking.
insert into weft.orgs (id, name, slug)
values ('00000000-0000-7000-8000-000000000001', 'Default', 'default');

alter table weft.orgs enable row level security;
alter table weft.orgs force row level security;
create policy owner on weft.orgs to current_user using (true) with check (true);
create policy engine on weft.orgs to weft_engine using (true) with check (true);
create policy tenant on weft.orgs for select to weft_tenant using (id = weft.current_org());
grant select, insert, update on weft.orgs to weft_engine;
grant select on weft.orgs to weft_tenant;

-- What opens the API. The text of a key is shown once; its hash finds it again.
create table weft.keys (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null references weft.orgs (id),
    name text not null,
    role text not null check (role in ('reader', 'writer', 'admin', 'worker')),
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

do $$
declare
    owned text;
begin
    foreach owned in array array['keys', 'idempotency_keys'] loop
        execute format('alter table weft.%I enable row level security', owned);
        execute format('alter table weft.%I force row level security', owned);
        execute format('create policy owner on weft.%I to current_user using (true) with check (true)', owned);
        execute format('create policy engine on weft.%I to weft_engine using (true) with check (true)', owned);
        execute format(
            'create policy tenant on weft.%I to weft_tenant '
            'using (org_id = weft.current_org()) with check (org_id = weft.current_org())', owned);
        execute format('grant select, insert, update, delete on weft.%I to weft_engine', owned);
    end loop;
end;
$$;

-- Nobody reads a hash on behalf of a user. Nor makes a key: users' own roles may be tenants, and none of them an admin.
grant select (id, org_id, name, role, prefix, created_by, created_at, expires_at, revoked_at, last_used_at)
    on weft.keys to weft_tenant;
grant select, insert, update on weft.idempotency_keys to weft_tenant;
