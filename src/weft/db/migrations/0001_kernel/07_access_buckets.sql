-- access: token buckets of rate limits. Servers lease tokens from them, a few at a time.

-- unlogged: after a crash of the database every bucket is full again, and no request waits for the disk
create unlogged table weft.buckets (
    -- of an org, or of whoever acts in one
    id uuid primary key,
    tokens double precision not null,
    filled_at timestamptz not null
);

create index buckets_by_age on weft.buckets (filled_at);

call weft.wall('buckets');
grant select, insert, update, delete on weft.buckets to weft_engine;
