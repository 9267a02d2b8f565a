-- What a step is, by the names that compiled programs have: `andThen#1`, `andMatch#2 case 1`, `step andThen#1`, `catch if 2`
-- are bodies and their cases; a call that stands in a block of its own name is the facet of a step with a body.
create or replace function afl.object_type(container text, node text, foreach boolean, catching boolean) returns text
language sql immutable parallel safe
return case
    when catching then 'Catch'
    when node ~ '^([A-Za-z_]\w* )?(andThen|andMap|andMatch)#\d+$'
        then case when foreach or node like '%andMap#%' then 'AndMap' else 'AndThen' end
    when node ~ '^(([A-Za-z_]\w* )?(andThen|andMatch)#\d+|catch) (case|if|any) \d+$' then 'AndMatch'
    when node in ('(work)', '(script)', '(try)') or right(container, length(node) + 1) = '/' || node then 'Facet'
    else 'VariableAssignment'
end;

-- The statement that a step is of: the call itself of one that has a body stands in a block named after it.
create or replace function afl.statement_id(flow uuid, container text, node text) returns text
language sql immutable parallel safe
return afl.place_id(
    flow,
    'statement ' || case when right(container, length(node) + 1) = '/' || node then container else container || '/' || node end);

-- An event is what a step asks to be done; its processing is the task of the same id.
create or replace view afl.events with (security_invoker = true) as
select
    s.task_id::text as uuid,
    s.run_id::text as partition_key,
    coalesce(t.correlation_id, i.correlation_id, s.run_id::text) as correlation_id,
    -- what the engine does itself: scripts, and what has a name of ours
    case
        when coalesce(t.kind, i.kind) like 'weft.%' or coalesce(t.kind, i.kind) = 'afl.script' then 'workflow' else 'command'
    end as purpose,
    s.run_id::text as runner_id,
    coalesce(t.queue, i.queue) as topic,
    coalesce(t.kind, i.kind) as handler,
    case
        when t.state = 'running' then 'running'
        when t.id is not null then 'pending'
        when i.reason in ('discarded', 'skipped') then 'ignored'
        when i.state = 'completed' then 'completed'
        else 'error'
    end as state,
    s.id::text as step_id,
    afl.milliseconds(coalesce(t.created_at, i.created_at)) as created,
    afl.milliseconds(
        coalesce(i.finished_at, greatest(t.created_at, t.claimed_at, t.started_at, (t.attempts -> -1 ->> 'ended_at')::timestamptz))
    ) as updated,
    jsonb_build_object(
        'payload', coalesce(t.payload, i.payload), 'result', i.result,
        'attempt', coalesce(t.attempt - t.uncounted, i.attempt - i.uncounted)) as event_data,
    coalesce(t.error, i.error) as error,
    jsonb_build_object(
        'statement_id', afl.statement_id(r.definition_id, coalesce(h.block, r.name), s.node),
        'block', coalesce(h.block, r.name), 'node', s.node, 'element', s.element) as cursor,
    s.run_id,
    s.task_id as id
from weft.steps as s
join weft.runs as r
    on r.id = s.run_id and r.kind = 'flow'
left join weft.steps as h
    on h.id = s.frame_id
left join weft.tasks as t
    on t.id = s.task_id
left join weft.task_history as i
    on i.id = s.task_id and i.org_id = s.org_id
where s.task_id is not null and (t.id is not null or i.id is not null);
