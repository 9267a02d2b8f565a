-- What a task's data is, which the DAO keeps as a tag.
create function afl.data_type(tags text[]) returns text
language sql immutable parallel safe
return coalesce((select substr(t.tag, 11) from unnest(tags) as t (tag) where t.tag like 'data_type:%' limit 1), '');

create or replace view afl.tasks with (security_invoker = true) as
select
    t.id::text as uuid,
    t.kind as name,
    coalesce(t.run_id::text, '') as runner_id,
    coalesce(w.id::text, '') as workflow_id,
    coalesce(r.definition_id::text, '') as flow_id,
    -- a task that its step has given up is of no step any more: one task of a step runs at a time
    case when s.id is null or s.task_id = t.id then coalesce(t.step_id::text, '') else '' end as step_id,
    case t.state when 'running' then 'running' else 'pending' end as state,
    afl.milliseconds(t.created_at) as created,
    afl.milliseconds(
        greatest(t.created_at, t.claimed_at, t.started_at, (t.attempts -> -1 ->> 'ended_at')::timestamptz)
    ) as updated,
    t.error,
    t.queue as task_list_name,
    afl.data_type(t.tags) as data_type,
    t.payload as data,
    t.id
from weft.tasks as t
left join weft.steps as s
    on s.id = t.step_id
left join weft.runs as r
    on r.id = t.run_id and r.kind = 'flow'
left join weft.flow_workflows as w
    on w.definition_id = r.definition_id and w.version = r.version and w.name = r.name
union all
select
    h.id::text,
    h.kind,
    coalesce(h.run_id::text, ''),
    coalesce(w.id::text, ''),
    coalesce(r.definition_id::text, ''),
    coalesce(h.step_id::text, ''),
    case
        when h.reason in ('discarded', 'skipped') then 'ignored'
        when h.state = 'completed' then 'completed'
        when h.state = 'cancelled' then 'canceled'
        else 'failed'
    end,
    afl.milliseconds(h.created_at),
    afl.milliseconds(h.finished_at),
    h.error,
    h.queue,
    afl.data_type(h.tags),
    h.payload,
    h.id
from weft.task_history as h
left join weft.runs as r
    on r.id = h.run_id and r.kind = 'flow'
left join weft.flow_workflows as w
    on w.definition_id = r.definition_id and w.version = r.version and w.name = r.name;

create or replace view afl.servers with (security_invoker = true) as
select
    n.id::text as uuid,
    -- vestigial: one database is one group, and every server is the one service, unless one says otherwise
    coalesce(n.server ->> 'server_group', '') as server_group,
    coalesce(n.server ->> 'service_name', '') as service_name,
    n.hostname as server_name,
    coalesce(
        (select array_agg(i.value) from jsonb_array_elements_text(n.server -> 'server_ips') as i), array[n.ip_address]
    ) as server_ips,
    afl.milliseconds(n.started_at) as start_time,
    afl.milliseconds(n.beat_at) as ping_time,
    n.queues as topics,
    n.handlers,
    (
        select coalesce(
            jsonb_agg(
                jsonb_build_object('handler', c.key, 'handled', c.value -> 0, 'not_handled', c.value -> 1)
                order by c.key),
            '[]')
        from jsonb_each(n.handled) as c
    ) as handled,
    case n.status
        when 'starting' then 'startup'
        when 'active' then 'running'
        when 'draining' then 'shutdown'
        else 'error'
    end as state,
    coalesce(n.server ->> 'manager', '') as manager,
    n.error
from weft.nodes as n;

