-- cluster: the processes that are ours (nodes), who leads (leaders), named locks.

-- Only the beat writes to a row often, and no index covers what it writes: updates stay in the page.
create table weft.nodes (
    id uuid primary key,
    -- null: serves every org. Set: an HTTP worker of that org, which others must not see.
    org_id uuid,
    hostname text not null,
    ip_address text not null,
    http_port integer not null default 0,
    pid integer not null,
    roles text[] not null default '{}',
    queues text[] not null default '{}',
    handlers text[] not null default '{}',
    capabilities text[] not null default '{}',
    concurrency integer not null default 0,
    version text not null,
    status text not null default 'starting' check (status in ('starting', 'active', 'draining', 'dead')),
    started_at timestamptz not null default weft.now(),
    beat_at timestamptz not null default weft.now(),
    -- how long after its last beat the node, and every lease that hangs on it, is given up
    lease interval not null,
    -- key of the session advisory lock it holds while alive; null: it has no direct connection
    liveness integer,
    -- true: nothing to do, so whoever enqueues for its queues should notify
    asleep boolean not null default false,
    -- handler -> [handled, not handled]
    handled jsonb not null default '{}',
    error jsonb,
    -- what a server said of itself through seed 000's DAO: {server_group, service_name, manager, server_ips}
    server jsonb,
    -- true: it held tasks when it last beat, so whoever leads looks often whether it lives
    busy boolean not null default false
)
with (fillfactor = 50);

create table weft.leaders (
    role text primary key,
    node_id uuid not null,
    -- grows with every change of leader; fences what a leader writes
    term bigint not null,
    acquired_at timestamptz not null default weft.now(),
    lease_until timestamptz not null
);

create table weft.locks (
    org_id uuid not null,
    name text not null,
    owner text not null,
    token uuid not null,
    acquired_at timestamptz not null default weft.now(),
    expires_at timestamptz not null,
    metadata jsonb not null default '{}',
    primary key (org_id, name)
);

call weft.wall('nodes');
create policy tenant on weft.nodes for select to weft_tenant using (org_id is null or org_id = weft.current_org());
grant select, insert, update, delete on weft.nodes to weft_engine;
grant select on weft.nodes to weft_tenant;

call weft.wall('leaders');
grant select, insert, update on weft.leaders to weft_engine;

call weft.org_wall('locks');
grant select, insert, update, delete on weft.locks to weft_engine, weft_tenant;
