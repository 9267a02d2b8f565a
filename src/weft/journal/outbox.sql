-- journal: the outbox, what must be sent. A row is written in the transaction that makes it true, and sent after it.

create table weft.outbox (
    -- said with every try, so that whoever gets it twice can tell
    id uuid primary key default weft.uuid7(),
    org_id uuid not null,
    topic text not null,
    -- what it is about, such as a task
    subject uuid not null,
    url text not null,
    body text not null,
    created_at timestamptz not null default weft.now(),
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead')),
    -- grows with every try, and fences what is said of it
    attempts smallint not null default 0,
    -- when it is tried next; while it is being sent: when that is given up
    next_at timestamptz not null default weft.now(),
    -- of the last try: the status of the answer, or what went wrong
    status smallint,
    problem text,
    delivered_at timestamptz
);

create index outbox_due on weft.outbox (next_at, id) where state = 'waiting';
create index outbox_about on weft.outbox (org_id, subject);
create index outbox_delivered on weft.outbox (delivered_at) where state = 'delivered';

call weft.wall('outbox');
create policy tenant on weft.outbox for select to weft_tenant using (org_id = weft.current_org());
create policy tenant_writes on weft.outbox for insert to weft_tenant with check (org_id = weft.current_org());
grant select, insert, update, delete on weft.outbox to weft_engine;
grant select, insert on weft.outbox to weft_tenant;
