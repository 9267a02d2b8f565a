-- Seed 003 (FORGE): runs of durable workflows and their steps, columns in its order.

-- Everything that a run has written down: steps and transactions, sleeps, signals, children, compensations. A name that comes
-- again is `name#2`, for the seed has a step's name once in a run.
create view forge.forge_workflow_steps with (security_invoker = true) as
select
    s.id,
    s.run_id as workflow_run_id,
    (case when s.nth = 1 then s.name else s.name || '#' || s.nth end)::varchar(255) as step_name,
    s.state::varchar(32) as status,
    -- of those that can be undone: the others' arguments are in the code
    s.params -> 'arguments' as input,
    -- a signal is kept in a list: a time that ran out leaves nothing at all
    case when s.operation = 'signal' then s.output -> 0 else s.output end as result,
    s.started_at,
    s.finished_at as completed_at,
    s.error ->> 'message' as error
from (
    select
        o.id, o.run_id, o.operation, o.state, o.params, o.output, o.error, o.started_at, o.finished_at,
        regexp_replace(o.node, '#[^#]*$', '') as name,
        -- one that waits for its next attempt has no number yet
        row_number() over (
            partition by o.run_id, regexp_replace(o.node, '#[^#]*$', '')
            order by o.state = 'pending', o.number, o.id
        ) as nth
    from weft.steps as o
    where o.operation <> 'start'
) as s;

create view forge.forge_workflow_runs with (security_invoker = true) as
select
    r.id,
    r.name::varchar(255) as workflow_name,
    r.version::varchar(64) as version,
    r.params as input,
    r.output,
    (case
        when r.state = 'running' and r.started_at is null and t.state <> 'running' then 'created'
        when r.state in ('paused', 'blocked') then 'waiting'
        when r.state = 'cancelled' then 'failed'
        else r.state
    end)::varchar(32) as status,
    -- what has been running for a while, else what waits for its next attempt, else what was written down last
    coalesce(
        regexp_replace(split_part(t.progress_message, ', ', 1), '#[^#]*$', ''),
        (
            select w.step_name
            from forge.forge_workflow_steps as w
            where w.workflow_run_id = r.id
            order by w.completed_at desc nulls first
            limit 1
        ))::varchar(255) as current_step,
    coalesce((
        select jsonb_object_agg(w.step_name, w.result)
        from forge.forge_workflow_steps as w
        where w.workflow_run_id = r.id and w.status in ('completed', 'compensated', 'skipped')
    ), '{}') as step_results,
    coalesce(r.started_at, r.created_at) as started_at,
    r.finished_at as completed_at,
    r.error ->> 'message' as error,
    -- a run that nobody traced is a trace of its own
    coalesce(nullif(split_part(r.trace_parent, '-', 2), ''), replace(r.id::text, '-', ''))::varchar(64) as trace_id
from weft.runs as r
left join weft.tasks as t
    on t.id = r.id
where r.kind = 'workflow';

grant select on forge.forge_workflow_runs, forge.forge_workflow_steps to weft_engine, weft_tenant;
