-- access: private hosts that an org's tasks may call in spite of the SSRF guard. The operator's to say, never the org's.

create table weft.allowed_hosts (
    org_id uuid not null references weft.orgs (id),
    entry text not null check (length(entry) between 1 and 255),
    created_by text not null,
    created_at timestamptz not null default weft.now(),
    primary key (org_id, entry)
);

alter table weft.allowed_hosts enable row level security;
alter table weft.allowed_hosts force row level security;
create policy owner on weft.allowed_hosts to current_user using (true) with check (true);
-- confined to its transaction's org, if that has one
create policy engine on weft.allowed_hosts to weft_engine
    using (weft.current_org() is null or org_id = weft.current_org());
create policy tenant on weft.allowed_hosts for select to weft_tenant using (org_id = weft.current_org());
grant select, insert, delete on weft.allowed_hosts to weft_engine;
grant select on weft.allowed_hosts to weft_tenant;
