-- journal: what happened (append only) and the change feed.
-- A task's own history row is its journal entry; this table holds what people and upkeep did.

create table weft.journal (
    id uuid primary key default weft.uuid7(),
    org_id uuid not null,
    at timestamptz not null default weft.now(),
    actor text not null,
    action text not null,
    object_type text not null,
    object_id text not null,
    before jsonb,
    after jsonb
);

create index journal_by_org on weft.journal (org_id, id);

alter table weft.journal enable row level security;
alter table weft.journal force row level security;
create policy owner on weft.journal to current_user using (true) with check (true);
create policy engine on weft.journal to weft_engine using (true) with check (true);
create policy tenant on weft.journal for select to weft_tenant using (org_id = weft.current_org());
create policy tenant_writes on weft.journal for insert to weft_tenant with check (org_id = weft.current_org());
grant select, insert on weft.journal to weft_engine, weft_tenant;

-- The change feed in two tables. Writers append to the inbox inside their own transaction, one row per
-- statement, not per changed row. After commit one sequencer moves rows on and gives them positions: a plain serial
-- would let a reader pass a row that commits late. A statement that changed more than 100 rows gives no ids (null):
-- whoever watches something then looks at it again, which is cheaper than writing every id three times.
create table weft.change_inbox (
    id bigint generated always as identity primary key,
    table_name text not null,
    op text not null check (op in ('INSERT', 'UPDATE', 'DELETE')),
    ids uuid[]
);

create table weft.changes (
    position bigint generated always as identity primary key,
    at timestamptz not null default weft.now(),
    table_name text not null,
    op text not null check (op in ('INSERT', 'UPDATE', 'DELETE')),
    ids uuid[]
);

-- ids of every org share a row, so tenants may append (through our statements) but never read
alter table weft.change_inbox enable row level security;
alter table weft.change_inbox force row level security;
create policy owner on weft.change_inbox to current_user using (true) with check (true);
create policy engine on weft.change_inbox to weft_engine using (true) with check (true);
create policy tenant on weft.change_inbox for insert to weft_tenant with check (true);
grant select, insert, delete on weft.change_inbox to weft_engine;
grant insert on weft.change_inbox to weft_tenant;

alter table weft.changes enable row level security;
alter table weft.changes force row level security;
create policy owner on weft.changes to current_user using (true) with check (true);
create policy engine on weft.changes to weft_engine using (true) with check (true);
grant select, insert, delete on weft.changes to weft_engine;
