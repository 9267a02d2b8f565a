-- Why is it not running? One row with every fact the answer needs.

-- name: explain
select
    t.state, t.kind, t.queue, t.lane, t.attempt, t.losses, t.run_at, t.run_at <= weft.now() as due, t.concurrency_key,
    t.concurrency, t.node_id::text, t.cancel_requested_at is not null as cancelling,
    exists (
        select
        from weft.queues as q
        where q.name = t.queue and q.org_id in (t.org_id, '00000000-0000-0000-0000-000000000000') and q.paused
    ) as paused,
    o.suspended_at is not null as suspended,
    (
        select count(*)
        from weft.nodes as n
        where n.status = 'active' and (n.org_id is null or n.org_id = t.org_id) and 'worker' = any(n.roles)
            and (n.queues = '{}' or t.queue = any(n.queues))
    ) as workers_of_queue,
    (
        select count(*)
        from weft.nodes as n
        where n.status = 'active' and (n.org_id is null or n.org_id = t.org_id)
            and (n.queues = '{}' or t.queue = any(n.queues)) and t.kind = any(n.handlers)
    ) as workers_of_kind,
    (
        select count(*)
        from weft.nodes as n
        where n.status = 'active'
            and (n.org_id is null or n.org_id = t.org_id)
            and (n.queues = '{}' or t.queue = any(n.queues))
            and t.kind = any(n.handlers)
            and (string_to_array(t.lane, '+'))[2:] <@ n.capabilities
    ) as workers_able,
    o.max_concurrent,
    (
        select count(*)
        from weft.tasks as r
        where r.org_id = t.org_id and r.state = 'running' and r.limited
    ) as org_running,
    fullest.max_running as queue_max,
    coalesce(fullest.running, 0) as queue_running,
    (
        select min(coalesce(q.tokens, q.rate_burst) + extract(epoch from weft.now() - coalesce(q.refilled_at, weft.now()))
            / extract(epoch from q.rate_period) * q.rate_limit)::double precision
        from weft.queues as q
        where q.name = t.queue
            and q.org_id in (t.org_id, '00000000-0000-0000-0000-000000000000')
            and q.rate_limit is not null
    ) as queue_tokens,
    (
        select count(*)
        from weft.tasks as k
        where k.org_id = t.org_id and k.concurrency_key = t.concurrency_key and k.state = 'running'
    ) as key_running,
    (
        select f.id::text
        from (values ('scheduled'), ('blocked'), ('ready'), ('running')) as s (state)
        cross join lateral (
            -- see count_keys
            select k.id, k.state
            from weft.tasks as k
            where k.org_id = t.org_id and k.concurrency_key = t.concurrency_key and k.state >= s.state
            order by k.state, k.id
            limit 1
        ) as f
        where f.state = s.state
        order by f.id
        limit 1
    ) as key_first,
    (
        -- counted no further than it is worth reading
        select count(*)
        from (
            select
            from weft.tasks as a
            where a.state = 'ready'
                and a.plain
                and a.lane = t.lane
                and a.org_id = t.org_id
                and (a.urgency, a.run_at, a.id) < (t.urgency, t.run_at, t.id)
            limit 10000
        ) as before
    ) as ahead
from weft.tasks as t
left join weft.orgs as o
    on o.id = t.org_id
left join lateral (
    -- of the limits of its queue, its org's own and everybody's, the one with the least room
    select q.max_running, r.running
    from weft.queues as q
    cross join lateral (
        select count(*) as running
        from weft.tasks as r
        where r.queue = q.name
            and r.state = 'running'
            and r.limited
            and (r.org_id = q.org_id or q.org_id = '00000000-0000-0000-0000-000000000000')
    ) as r
    where q.name = t.queue
        and q.org_id in (t.org_id, '00000000-0000-0000-0000-000000000000')
        and q.max_running is not null
    order by q.max_running - r.running
    limit 1
) as fullest
    on true
where t.id = %(id)s and t.org_id = %(org_id)s;
