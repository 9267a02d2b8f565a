-- Finding tasks: one list, newest first, over what waits, what runs and what has ended.

-- For the transaction: lists and counts go along an index and stop. Where the planner expects many rows it would rather
-- collect all of them and sort, a million to show fifty.
-- name: go_along_indexes
select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true);

-- What a filter says of a row, wherever it lies.
-- piece: narrowed
(%(queue)s::text is null or t.queue = %(queue)s)
and (%(kind)s::text is null or t.kind = %(kind)s)
and (%(tag)s::text is null or %(tag)s = any(t.tags))
and (%(run_id)s::uuid is null or t.run_id = %(run_id)s)
and (%(job_id)s::uuid is null or t.job_id = %(job_id)s)
and (%(parent_id)s::uuid is null or t.parent_id = %(parent_id)s)

-- Which tasks a page shows. Every source is walked along an index in the order of ids, from `before` downwards: at most
-- `walk` rows of it, and no further than `take` that match, which fill the page. A source that was walked as far as
-- allowed leaves a stop, and the page ends at the highest stop: below it not everything was seen. One statement, so one
-- moment: a task that is being finished is in one place or the other.
-- Rows are compared whole, (queue, state, id), where equal queue and state and a range of ids would say the same: then the
-- planner may walk all tasks in the order of ids for the few of one state, and does, if its statistics knew no other.
-- name: find
with recursive place as (
    -- a loose index scan: one probe per (queue, state) in which tasks wait, however many
    (
        select t.queue, t.state
        from weft.tasks as t
        where t.org_id = %(org_id)s and t.state <> 'running' and %(by_place)s and %(queue)s::text is null
        order by t.queue, t.state
        limit 1
    )
    union all
    select n.queue, n.state
    from place as p
    cross join lateral (
        select t.queue, t.state
        from weft.tasks as t
        where t.org_id = %(org_id)s and t.state <> 'running' and (t.queue, t.state) > (p.queue, p.state)
        order by t.queue, t.state
        limit 1
    ) as n
),
known as materialized (
    select p.queue, p.state
    from (
        select p.queue, p.state
        from place as p
        limit %(places)s
    ) as p
    where p.state = any(%(waiting)s::text[])
    union all
    select %(queue)s::text, s.state
    from unnest(%(waiting)s::text[]) as s (state)
    where %(by_place)s and %(queue)s::text is not null
),
-- If every row matches, only the places with the newest tasks can have some on this page. Otherwise they share the walk
-- by how densely their tasks lie, so that it gets about as far back in each.
chosen as materialized (
    select
        c.queue,
        c.state,
        case
            when %(every)s then %(walk)s::bigint
            else greatest(%(walk)s::bigint * c.density / sum(c.density) over (), least(100, %(walk)s::bigint))::bigint
        end as walk
    from (
        select
            k.queue,
            k.state,
            newest.id,
            1 / greatest(extract(epoch from
                max(weft.uuid7_time(newest.id)) over () - weft.uuid7_time(coalesce(hundredth.id, %(after)s))), 0.001) as density
        from known as k
        cross join lateral (
            select t.id
            from weft.tasks as t
            where t.org_id = %(org_id)s
                and (t.queue, t.state, t.id) < (k.queue, k.state, %(before)s)
                and (t.queue, t.state, t.id) >= (k.queue, k.state, %(after)s)
                and t.state <> 'running'
            order by t.queue desc, t.state desc, t.id desc
            limit 1
        ) as newest
        left join lateral (
            select t.id
            from weft.tasks as t
            where t.org_id = %(org_id)s
                and (t.queue, t.state, t.id) < (k.queue, k.state, newest.id)
                and (t.queue, t.state, t.id) >= (k.queue, k.state, %(after)s)
                and t.state <> 'running'
                and not %(every)s
            order by t.queue desc, t.state desc, t.id desc
            offset 99
            limit 1
        ) as hundredth
            on true
    ) as c
    order by c.id desc
    limit case when %(every)s then %(take)s::bigint end
),
-- What runs is few. Read whole, whatever the range of ids: the planner would rather walk that range of all tasks.
running as materialized (
    select t.id
    from weft.tasks as t
    where t.state = 'running'
        and %(running)s
        and t.org_id = %(org_id)s
        and (
            -- use: narrowed
        )
        and (%(correlation_id)s::text is null or t.correlation_id = %(correlation_id)s)
),
walked as (
    select s.id, s.matched, s.stop
    from chosen as c
    cross join lateral (
        select w.id, w.matched, w.n = c.walk as stop
        from (
            select
                t.queue,
                t.state,
                t.id,
                row_number() over (order by t.queue desc, t.state desc, t.id desc) as n,
                (
                    -- use: narrowed
                ) as matched
            from weft.tasks as t
            where t.org_id = %(org_id)s
                and (t.queue, t.state, t.id) < (c.queue, c.state, %(before)s)
                and (t.queue, t.state, t.id) >= (c.queue, c.state, %(after)s)
                and t.state <> 'running'
            order by t.queue desc, t.state desc, t.id desc
            limit c.walk
        ) as w
        where w.matched or w.n = c.walk
        order by w.queue desc, w.state desc, w.id desc
        limit %(take)s
    ) as s
    union all
    (
        select w.id, w.matched, w.n = %(walk)s
        from (
            select
                t.correlation_id,
                t.id,
                row_number() over (order by t.correlation_id desc, t.id desc) as n,
                t.state = any(%(waiting)s::text[])
                and (
                    -- use: narrowed
                ) as matched
            from weft.tasks as t
            where t.org_id = %(org_id)s
                and t.correlation_id is not null
                and (t.correlation_id, t.id) < (%(correlation_id)s, %(before)s)
                and (t.correlation_id, t.id) >= (%(correlation_id)s, %(after)s)
                and t.state <> 'running'
            order by t.correlation_id desc, t.id desc
            limit %(walk)s
        ) as w
        where w.matched or w.n = %(walk)s
        order by w.correlation_id desc, w.id desc
        limit %(take)s
    )
    union all
    select r.id, true, false
    from running as r
    where r.id < %(before)s and r.id >= %(after)s
    union all
    (
        select w.id, w.matched, w.n = %(walk)s
        from (
            select
                t.id,
                row_number() over (order by t.id desc) as n,
                t.state = any(%(ended)s::text[])
                and (
                    -- use: narrowed
                ) as matched
            from weft.task_history as t
            where t.org_id = %(org_id)s and %(by_id)s and t.id < %(before)s and t.id >= %(after)s
            order by t.id desc
            limit %(walk)s
        ) as w
        where w.matched or w.n = %(walk)s
        order by w.id desc
        limit %(take)s
    )
    union all
    (
        select w.id, w.matched, w.n = %(walk)s
        from (
            select
                t.correlation_id,
                t.id,
                row_number() over (order by t.correlation_id desc, t.id desc) as n,
                t.state = any(%(ended)s::text[])
                and (
                    -- use: narrowed
                ) as matched
            from weft.task_history as t
            where t.org_id = %(org_id)s
                and t.correlation_id is not null
                and (t.correlation_id, t.id) < (%(correlation_id)s, %(before)s)
                and (t.correlation_id, t.id) >= (%(correlation_id)s, %(after)s)
                and t.id < %(before)s
                and t.id >= %(after)s
            order by t.correlation_id desc, t.id desc
            limit %(walk)s
        ) as w
        where w.matched or w.n = %(walk)s
        order by w.correlation_id desc, w.id desc
        limit %(take)s
    )
    union all
    select s.id, s.matched, s.stop
    from unnest(%(unsuccessful)s::text[]) as u (state)
    cross join lateral (
        select w.id, w.matched, w.n = %(walk)s as stop
        from (
            select
                t.state,
                t.id,
                row_number() over (order by t.state desc, t.id desc) as n,
                (
                    -- use: narrowed
                ) as matched
            from weft.task_history as t
            where t.org_id = %(org_id)s
                and (t.state, t.id) < (u.state, %(before)s)
                and (t.state, t.id) >= (u.state, %(after)s)
                and t.state <> 'completed'
                and t.id < %(before)s
                and t.id >= %(after)s
            order by t.state desc, t.id desc
            limit %(walk)s
        ) as w
        where w.matched or w.n = %(walk)s
        order by w.state desc, w.id desc
        limit %(take)s
    ) as s
),
edge as materialized (
    select w.id
    from walked as w
    where w.stop
    order by w.id desc
    limit 1
)
select
    (select e.id from edge as e),
    array(
        select w.id
        from walked as w
        where w.matched and w.id >= coalesce((select e.id from edge as e), '00000000-0000-0000-0000-000000000000')
        order by w.id desc
        limit %(take)s
    ),
    (select count(*) from place) > %(places)s;

-- The same for the dead letter list, which has an index of its own.
-- name: find_dead
with walked as materialized (
    select w.id, w.matched, w.n = %(walk)s as stop
    from (
        select
            t.id,
            row_number() over (order by t.id desc) as n,
            (
                -- use: narrowed
            )
            and (%(error_type)s::text is null or t.error ->> 'type' = %(error_type)s)
            and (%(correlation_id)s::text is null or t.correlation_id = %(correlation_id)s) as matched
        from weft.task_history as t
        where t.org_id = %(org_id)s and t.reason in ('dead', 'lost') and t.id < %(before)s and t.id >= %(after)s
        order by t.id desc
        limit %(walk)s
    ) as w
    where w.matched or w.n = %(walk)s
    order by w.id desc
    limit %(take)s
)
select
    (select w.id from walked as w where w.stop),
    array(select w.id from walked as w where w.matched order by w.id desc);

-- What a list shows of these tasks, wherever they are by now. Without what may be large: payload, result, traceback.
-- name: summaries
select
    t.id, t.kind, t.queue, t.state, null::text as reason, 100 - t.urgency, t.attempt, t.max_attempts, t.losses,
    t.created_at, t.run_at, t.claimed_at, t.started_at, null::timestamptz as finished_at, t.node_id, t.tags,
    t.concurrency_key, t.dedupe_key, t.correlation_id, t.parent_id, t.run_id, t.job_id, t.progress, t.progress_message,
    t.cancel_requested_at is not null, t.error ->> 'type', left(t.error ->> 'message', 300)
from weft.tasks as t
where t.id = any(%(ids)s::uuid[]) and t.org_id = %(org_id)s
union all
select
    h.id, h.kind, h.queue, h.state, h.reason, 100 - h.urgency, h.attempt, h.max_attempts, h.losses,
    h.created_at, h.run_at, h.claimed_at, h.started_at, h.finished_at, h.node_id, h.tags,
    h.concurrency_key, h.dedupe_key, h.correlation_id, h.parent_id, h.run_id, h.job_id, h.progress, h.progress_message,
    false, h.error ->> 'type', left(h.error ->> 'message', 300)
from weft.task_history as h
where h.id = any(%(ids)s::uuid[]) and h.org_id = %(org_id)s;

-- Tasks whose id lies in a range, unfinished ones first.
-- name: search_tasks
(
    select t.id, t.kind, t.state
    from weft.tasks as t
    where t.id between %(low)s::uuid and %(high)s::uuid and t.org_id = %(org_id)s
    limit %(take)s
)
union all
(
    select h.id, h.kind, h.state
    from weft.task_history as h
    where h.org_id = %(org_id)s and h.id between %(low)s::uuid and %(high)s::uuid
    limit %(take)s
)
limit %(take)s;
