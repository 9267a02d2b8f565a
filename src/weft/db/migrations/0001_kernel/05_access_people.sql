-- access: people. Users as the issuer of their tokens knows them, and the roles that an org makes up itself.

create table weft.users (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null references weft.orgs (id),
    -- the token's subject. Unique in an org only: nobody may take a subject away from another org by being first
    external_id text not null check (external_id <> ''),
    email text,
    role text not null check (role in ('reader', 'writer', 'admin')),
    created_at timestamptz not null default weft.now(),
    unique (org_id, external_id),
    -- so that a membership can name its org, and both its ends must be of it
    unique (org_id, id)
);

create index users_by_subject on weft.users (external_id);
create index users_by_email on weft.users (org_id, email);

-- `role:finance`: what an org calls a group of its users, to say who may see what.
create table weft.org_roles (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null references weft.orgs (id),
    slug text not null check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
    name text not null,
    created_at timestamptz not null default weft.now(),
    unique (org_id, slug),
    unique (org_id, id)
);

create table weft.org_role_memberships (
    org_id uuid not null,
    role_id uuid not null,
    user_id uuid not null,
    created_at timestamptz not null default weft.now(),
    primary key (role_id, user_id),
    foreign key (org_id, role_id) references weft.org_roles (org_id, id) on delete cascade,
    foreign key (org_id, user_id) references weft.users (org_id, id) on delete cascade
);

create index org_role_memberships_by_user on weft.org_role_memberships (user_id);

-- Read by tenants, written by the engine only, which is confined to its transaction's org if that has one.
do $$
declare
    owned text;
begin
    foreach owned in array array['users', 'org_roles', 'org_role_memberships'] loop
        execute format('alter table weft.%I enable row level security', owned);
        execute format('alter table weft.%I force row level security', owned);
        execute format('create policy owner on weft.%I to current_user using (true) with check (true)', owned);
        execute format(
            'create policy engine on weft.%I to weft_engine '
            'using (weft.current_org() is null or org_id = weft.current_org())', owned);
        execute format('create policy tenant on weft.%I for select to weft_tenant using (org_id = weft.current_org())', owned);
        execute format('grant select, insert, update, delete on weft.%I to weft_engine', owned);
        execute format('grant select on weft.%I to weft_tenant', owned);
    end loop;
end;
$$;
