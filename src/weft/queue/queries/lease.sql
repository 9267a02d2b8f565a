-- While an attempt runs: progress, logs, cancellation, and what its worker lost.

-- name: cancelled_on
select t.id::text, t.cancel_requested_at + %(grace)s <= weft.now()
from weft.tasks as t
where t.node_id = %(node_id)s and t.cancel_requested_at is not null and t.state = 'running';

-- How far attempts are, as they would be with what was said of them; `news` if that is not what the row has.
-- piece: progressing
progressing as materialized (
    select s.id, s.progress, s.message, s.started_at, (s.progress, s.message, s.started_at) is distinct from s.known as news
    from (
        select
            t.id,
            coalesce(v.progress, t.progress) as progress,
            coalesce(v.message, t.progress_message) as message,
            coalesce(t.started_at, t.claimed_at + v.started * interval '1 second') as started_at,
            (t.progress, t.progress_message, t.started_at) as known
        from unnest(
            %(ids)s::uuid[], %(tokens)s::uuid[], %(progress)s::smallint[], %(messages)s::text[],
            %(started)s::double precision[]
        ) as v (id, token, progress, message, started)
        join weft.tasks as t
            on t.id = any(array[v.id]) and t.lease_token = v.token
        for update of t
    ) as s
)

-- Writes and tells only what is new: a worker says the same again and again. Answers whose lease holds.
-- name: report_progress
with
-- use: progressing
,
written as (
    update weft.tasks as t
    set progress = p.progress, progress_message = p.message, started_at = p.started_at
    from progressing as p
    where t.id = any(array[p.id]) and p.news
    returning t.id
),
feed as (
    insert into weft.change_inbox (table_name, op, ids)
    select 'tasks', 'UPDATE', case when count(*) <= 100 then array_agg(w.id) end
    from written as w
    having count(*) > 0
)
select p.id::text
from progressing as p;

-- Which of these a worker still holds. It asks after it was taken for dead.
-- name: still_held
select t.id::text
from unnest(%(ids)s::uuid[], %(tokens)s::uuid[]) as v (id, token)
join weft.tasks as t
    on t.id = any(array[v.id]) and t.lease_token = v.token;

-- Log lines are kept only while the lease holds. The row is share-locked: a mere look at the token let a stale
-- line through while rescue committed.
-- name: write_logs
with held as (
    select t.id, t.org_id, t.attempt, t.lease_token
    from weft.tasks as t
    where t.id = any(%(ids)s::uuid[]) and t.lease_token is not null
    order by t.id
    for share
)
insert into weft.task_logs (task_id, org_id, attempt, at, level, message, fields)
select h.id, h.org_id, h.attempt, v.at, v.level, v.message, v.fields::jsonb
from unnest(
    %(ids)s::uuid[], %(tokens)s::uuid[], %(at)s::timestamptz[], %(levels)s::text[], %(messages)s::text[], %(fields)s::text[]
) with ordinality as v (id, token, at, level, message, fields, line)
join held as h
    on h.id = v.id and h.lease_token = v.token
order by v.line;
