-- The step that runs just now is the current one.
create or replace view forge.forge_workflow_runs with (security_invoker = true) as
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
