-- access: browsers that logged in. The text of a session's cookie is never stored, only its hash.

create table weft.logins (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null references weft.orgs (id),
    hash bytea not null unique check (octet_length(hash) = 32),
    -- what it was opened with, and stands and falls with: a key or a user
    key_id uuid references weft.keys (id) on delete cascade,
    user_id uuid,
    actor text not null,
    -- what the browser called itself, so that people can tell their sessions apart
    agent text not null default '',
    created_at timestamptz not null default weft.now(),
    expires_at timestamptz not null,
    revoked_at timestamptz,
    check ((key_id is null) <> (user_id is null)),
    foreign key (org_id, user_id) references weft.users (org_id, id) on delete cascade
);

create index logins_by_actor on weft.logins (org_id, actor, id);
create index logins_by_key on weft.logins (key_id) where key_id is not null;
create index logins_by_user on weft.logins (user_id) where user_id is not null;
create index logins_by_age on weft.logins (expires_at);

alter table weft.logins enable row level security;
alter table weft.logins force row level security;
create policy owner on weft.logins to current_user using (true) with check (true);
-- confined to its transaction's org, if that has one
create policy engine on weft.logins to weft_engine
    using (weft.current_org() is null or org_id = weft.current_org());
create policy tenant on weft.logins for select to weft_tenant using (org_id = weft.current_org());
grant select, insert, update, delete on weft.logins to weft_engine;
grant select (id, org_id, key_id, user_id, actor, agent, created_at, expires_at, revoked_at) on weft.logins to weft_tenant;
