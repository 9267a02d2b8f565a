-- Finding runs: along an index in the order of ids, from `before` down to `after`, at most `walk` runs of it and no further
-- than `take` that match. A walk that ends before the page is full leaves a stop: the list goes on from there.
-- Rows are compared whole where equal values would do, so that one index is left to go along, as in the queue's search.

-- name: go_along_indexes
select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true);

-- piece: narrowed_run
(%(kind)s::text is null or r.kind = %(kind)s)
and (%(states)s::text[] is null or r.state = any(%(states)s::text[]))
and (%(tag)s::text is null or %(tag)s = any(r.tags))
and (%(prefix)s::text is null or starts_with(r.name, %(prefix)s))

-- name: find_runs
select w.id, w.matched, w.n = %(walk)s
from (
    select
        r.id,
        row_number() over (order by r.id desc) as n,
        (
            -- use: narrowed_run
        ) as matched
    from weft.runs as r
    where r.org_id = %(org_id)s and r.id < %(before)s::uuid and r.id >= %(after)s::uuid
    order by r.id desc
    limit %(walk)s
) as w
where w.matched or w.n = %(walk)s
order by w.id desc
limit %(take)s;

-- name: find_runs_named
select w.id, w.matched, w.n = %(walk)s
from (
    select
        r.name,
        r.id,
        row_number() over (order by r.name desc, r.id desc) as n,
        (
            -- use: narrowed_run
        ) as matched
    from weft.runs as r
    where r.org_id = %(org_id)s
        and (r.name, r.id) < (%(name)s::text, %(before)s::uuid)
        and (r.name, r.id) >= (%(name)s::text, %(after)s::uuid)
    order by r.name desc, r.id desc
    limit %(walk)s
) as w
where w.matched or w.n = %(walk)s
order by w.name desc, w.id desc
limit %(take)s;

-- name: find_runs_in_states
select w.id, w.matched, w.stop
from unnest(%(states)s::text[]) as s (state)
cross join lateral (
    select w.id, w.matched, w.n = %(walk)s as stop
    from (
        select
            r.state,
            r.id,
            row_number() over (order by r.state desc, r.id desc) as n,
            (
                -- use: narrowed_run
            ) as matched
        from weft.runs as r
        where r.org_id = %(org_id)s
            and (r.state, r.id) < (s.state, %(before)s::uuid)
            and (r.state, r.id) >= (s.state, %(after)s::uuid)
        order by r.state desc, r.id desc
        limit %(walk)s
    ) as w
    where w.matched or w.n = %(walk)s
    order by w.state desc, w.id desc
    limit %(take)s
) as w;

-- Runs whose id lies in a range.
-- name: search_runs
select r.id, r.name, r.state
from weft.runs as r
where r.org_id = %(org_id)s and r.id between %(low)s::uuid and %(high)s::uuid
limit %(take)s;

-- DAGs, workflows and flows whose name holds a text, or whose id lies in a range.
-- name: search_definitions
select d.id, d.kind, d.name, d.status
from weft.definitions as d
where d.org_id = %(org_id)s
    and d.status <> 'deleted'
    and (strpos(lower(d.name), lower(%(text)s)) > 0 or d.id between %(low)s::uuid and %(high)s::uuid)
order by lower(d.name) <> lower(%(text)s), strpos(lower(d.name), lower(%(text)s)) <> 1, d.name
limit %(take)s;
