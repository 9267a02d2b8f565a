-- live: who is connected and watches what; and the triggers that make users' own tables reactive.

create table weft.live_sessions (
    id uuid primary key,
    org_id uuid not null,
    -- the server that holds the socket
    node_id uuid not null,
    actor text not null,
    status text not null default 'connected'
        check (status in ('connecting', 'connected', 'reconnecting', 'disconnected')),
    connected_at timestamptz not null default weft.now(),
    -- the last message of the client
    last_activity timestamptz not null default weft.now(),
    -- the last time that its server said so; what is not seen for a while is an orphan
    seen_at timestamptz not null default weft.now()
);

create index live_sessions_by_node on weft.live_sessions (node_id);
create index live_sessions_by_age on weft.live_sessions (status, seen_at);

create table weft.live_subscriptions (
    id uuid primary key,
    org_id uuid not null,
    session_id uuid not null references weft.live_sessions (id) on delete cascade,
    -- a subject, or query:NAME
    query_name text not null,
    -- of name, arguments and rights: those with the same hash are served by one look
    query_hash text not null,
    args jsonb not null default '{}',
    created_at timestamptz not null default weft.now()
);

create index live_subscriptions_by_session on weft.live_subscriptions (session_id);
create index live_subscriptions_by_hash on weft.live_subscriptions (query_hash);

call weft.wall('live_sessions', 'live_subscriptions');
create policy tenant on weft.live_sessions for select to weft_tenant using (org_id = weft.current_org());
create policy tenant on weft.live_subscriptions for select to weft_tenant using (org_id = weft.current_org());
grant select, insert, update, delete on weft.live_sessions, weft.live_subscriptions to weft_engine;
grant select on weft.live_sessions, weft.live_subscriptions to weft_tenant;
