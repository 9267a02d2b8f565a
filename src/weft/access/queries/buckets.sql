-- Token buckets of rate limits. What a bucket gives is decided as in `bucket.take`.

-- A bucket nobody has asked yet is full.
-- name: make_buckets
insert into weft.buckets (id, tokens, filled_at)
select w.id, w.burst, weft.now()
from unnest(%(ids)s::uuid[], %(bursts)s::float8[]) as w (id, burst)
-- in one order, so that no two servers wait for each other
order by w.id
on conflict (id) do nothing;

-- The clock is that of the statement's beginning: whoever waited for the row is credited a little less, never more.
-- name: take_tokens
with wanted as (
    select w.id, w.rate, w.burst, w.want
    from unnest(%(ids)s::uuid[], %(rates)s::float8[], %(bursts)s::float8[], %(wants)s::float8[])
        as w (id, rate, burst, want)
),
held as (
    select b.id, w.want, b.filled_at,
        least(w.burst, b.tokens + w.rate * greatest(0, extract(epoch from weft.now() - b.filled_at)::float8)) as available
    from weft.buckets as b
    join wanted as w on w.id = b.id
    order by b.id
    for update of b
),
decided as (
    select h.id, h.available, h.filled_at, least(h.want, floor(h.available)) as given
    from held as h
)
update weft.buckets as b
set tokens = d.available - d.given, filled_at = greatest(d.filled_at, weft.now())
from decided as d
where b.id = d.id
returning b.id, d.given, b.tokens;

-- What was last asked so long ago is full, as a missing bucket is.
-- name: forget_buckets
delete from weft.buckets as b
where b.id = any(array(
    select o.id
    from weft.buckets as o
    where o.filled_at < weft.now() - %(older)s
    limit %(take)s
    for update skip locked));
