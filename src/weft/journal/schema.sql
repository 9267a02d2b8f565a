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
    after jsonb,
    -- the request that did it, as the API set it for its transaction
    request_id text default nullif(current_setting('weft.request_id', true), ''),
    -- its place in the chain of its org, and the hash of all up to here; given by the sealer, after the commit
    number bigint,
    hash bytea check (octet_length(hash) = 32),
    check ((number is null) = (hash is null))
);

create index journal_by_org on weft.journal (org_id, id);
create unique index journal_chain on weft.journal (org_id, number);
-- what the sealer has not been to; empty most of the time
create index journal_unsealed on weft.journal (id) where number is null;

-- The end of each org's chain: without it, cutting off the newest entries would leave no trace.
create table weft.journal_heads (
    org_id uuid primary key,
    number bigint not null,
    hash bytea not null check (octet_length(hash) = 32)
);

call weft.wall('journal_heads');
create policy tenant on weft.journal_heads for select to weft_tenant using (org_id = weft.current_org());
grant select, insert, update on weft.journal_heads to weft_engine;
grant select on weft.journal_heads to weft_tenant;

call weft.wall('journal');
create policy tenant on weft.journal for select to weft_tenant using (org_id = weft.current_org());
create policy tenant_writes on weft.journal for insert to weft_tenant with check (org_id = weft.current_org());
-- what was written stays: only the sealer's two columns are ever changed
grant select on weft.journal to weft_engine, weft_tenant;
grant insert (id, org_id, at, actor, action, object_type, object_id, before, after, request_id)
    on weft.journal to weft_engine, weft_tenant;
grant update (number, hash) on weft.journal to weft_engine;

-- The change feed in two tables. Writers append to the inbox inside their own transaction, one row per
-- statement, not per changed row. After commit one sequencer moves rows on and gives them positions: a plain serial
-- would let a reader pass a row that commits late. A statement that changed more than 100 rows gives no ids (null):
-- whoever watches something then looks at it again, which is cheaper than writing every id three times.
-- A domain's check is read once per session, a table's by every statement (see weft.refuse), and each of ours tells the feed.
create domain weft.change_op as text check (value in ('INSERT', 'UPDATE', 'DELETE'));

create table weft.change_inbox (
    id bigint generated always as identity primary key,
    table_name text not null,
    op weft.change_op not null,
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
call weft.wall('change_inbox');
create policy tenant on weft.change_inbox for insert to weft_tenant with check (true);
grant select, insert, delete on weft.change_inbox to weft_engine;
grant insert on weft.change_inbox to weft_tenant;

call weft.wall('changes');
grant select, insert, delete on weft.changes to weft_engine;
