-- Small values that are different when a list may look different.

-- name: sign_of_steps
select
    s.state, count(*), max(s.created_at), max(s.started_at), max(s.finished_at), sum(s.reruns), sum(s.parts_ended),
    sum(s.attempt), count(*) filter (where t.state = 'running'),
    (array_agg(s.task_id) filter (where t.id is not null))[:%(tasks)s::integer]
from (
    select
        s.state, s.created_at, s.started_at, s.finished_at, s.reruns, s.parts_ended, s.attempt,
        case when s.state = 'running' then s.task_id end as task_id
    from weft.steps as s
    where s.run_id = %(run_id)s and s.org_id = %(org_id)s
    limit %(most)s
) as s
left join weft.tasks as t
    on t.id = s.task_id
group by s.state
order by s.state;

-- name: sign_of_runs
select
    (
        select md5(string_agg(concat_ws(' ', r.id, r.state, r.nodes_ended, r.nodes_failed, r.nodes), ',' order by r.id))
        from (
            select r.id, r.state, r.nodes, r.nodes_ended, r.nodes_failed
            from weft.runs as r
            where r.org_id = %(org_id)s
            order by r.id desc
            limit %(newest)s
        ) as r
    ),
    (
        select string_agg(concat_ws(' ', s.state, c.runs, c.ended), ',' order by s.state)
        from unnest(array['created', 'running', 'waiting', 'paused', 'compensating', 'blocked']) as s (state)
        cross join lateral (
            select count(*) as runs, sum(r.nodes_ended) as ended
            from (
                select r.nodes_ended
                from weft.runs as r
                where r.org_id = %(org_id)s and r.state = s.state
                order by r.id desc
                limit %(active)s
            ) as r
        ) as c
    );

-- Workflows are code: they belong to no org, and there are few.
-- name: sign_of_definitions
select
    count(*), max(d.updated_at), count(*) filter (where d.status = 'deleted'),
    (select md5(string_agg(concat(w.name, w.version, w.queue, w.signals, w.arguments), ',' order by w.name, w.version)) from weft.workflows as w)
from weft.definitions as d
where d.org_id = %(org_id)s;
