-- access: token buckets of rate limits. Servers lease tokens from them, a few at a time.

-- unlogged: after a crash of the database every bucket is full again, and no request waits for the disk
create unlogged table weft.buckets (
    -- of an org, or of whoever acts in one
    id uuid primary key,
    tokens double precision not null,
    filled_at timestamptz not null
);

create index buckets_by_age on weft.buckets (filled_at);

alter table weft.buckets enable row level security;
alter table weft.buckets force row level security;
create policy owner on weft.buckets to current_user using (true) with check (true);
create policy engine on weft.buckets to weft_engine using (true) with check (true);
grant select, insert, update, delete on weft.buckets to weft_engine;
