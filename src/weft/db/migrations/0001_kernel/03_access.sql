-- access: who may do what. The kernel needs orgs; users, roles and keys come with their issue.

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
