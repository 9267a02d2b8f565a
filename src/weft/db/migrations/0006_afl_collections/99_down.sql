-- @down
drop view afl.logs, afl.events, afl.steps, afl.runners, afl.workflows, afl.flows;
drop view afl.tasks;
create view afl.tasks with (security_invoker = true) as
select
    t.id::text as uuid,
    t.kind as name,
    coalesce(t.run_id::text, '') as runner_id,
    -- the workflow and the flow are found through the run
    '' as workflow_id,
    '' as flow_id,
    coalesce(t.step_id::text, '') as step_id,
    case t.state when 'running' then 'running' else 'pending' end as state,
    afl.milliseconds(t.created_at) as created,
    afl.milliseconds(
        greatest(t.created_at, t.claimed_at, t.started_at, (t.attempts -> -1 ->> 'ended_at')::timestamptz)
    ) as updated,
    t.error,
    t.queue as task_list_name,
    '' as data_type,
    t.payload as data
from weft.tasks as t
union all
select
    h.id::text,
    h.kind,
    coalesce(h.run_id::text, ''),
    '',
    '',
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
    '',
    h.payload
from weft.task_history as h;

grant select on afl.tasks to weft_engine, weft_tenant;

create or replace view afl.servers with (security_invoker = true) as
select
    n.id::text as uuid,
    -- vestigial: one database is one group, and every server is the one service
    '' as server_group,
    '' as service_name,
    n.hostname as server_name,
    array[n.ip_address] as server_ips,
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
    '' as manager,
    n.error
from weft.nodes as n;

drop function
    afl.data_type(text[]), afl.parameters(jsonb), afl.statement_id(uuid, text, text), afl.object_type(text, text, boolean, boolean),
    afl.place_id(uuid, text);
drop table weft.flow_statements, weft.run_logs;
alter table weft.nodes drop column server;
alter table weft.plans drop column kinds;
