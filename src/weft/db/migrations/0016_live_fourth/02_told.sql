-- The feed hears of the tasks of workflows too: when one is made, and when something that is sent wakes it.
create or replace function weft.start_workflow(
    name text,
    arguments jsonb default '{}',
    version text default null,
    key text default null,
    org uuid default null,
    queue text default null,
    priority integer default null,
    parent uuid default null,
    place text default null,
    correlation_id text default null,
    trace_parent text default null,
    out id uuid,
    out created boolean
)
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    code weft.workflows;
    the_priority integer;
begin
    if jsonb_typeof(start_workflow.arguments) is distinct from 'object' then
        raise exception 'arguments must be a JSON object' using errcode = 'invalid_parameter_value';
    end if;
    if start_workflow.key is not null then
        perform weft.check_key('key', start_workflow.key);
    end if;
    select w.* into code
    from weft.workflows as w
    where w.name = start_workflow.name and (start_workflow.version is null or w.version = start_workflow.version)
    order by w.declared_at desc
    limit 1;
    if not found then
        raise exception 'there is no workflow named %; start a worker that declares it',
            quote_nullable(left(start_workflow.name, 80) || coalesce(' version ' || left(start_workflow.version, 40), ''))
            using errcode = 'no_data_found';
    end if;
    the_priority := coalesce(start_workflow.priority, code.priority);
    perform weft.check_task(
        'workflow:' || code.name || ':' || code.version, start_workflow.arguments,
        coalesce(start_workflow.queue, code.queue), the_priority, null, null, null);
    insert into weft.runs as r (
        org_id, kind, name, version, state, params, config, idempotency_key, trigger, parent_run_id, correlation_id,
        trace_parent)
    values (
        the_org, 'workflow', code.name, code.version, 'running', start_workflow.arguments,
        case when start_workflow.place is null then '{}' else jsonb_build_object('place', start_workflow.place) end,
        start_workflow.key, case when start_workflow.parent is null then 'manual' else 'run' end, start_workflow.parent,
        start_workflow.correlation_id, start_workflow.trace_parent)
    on conflict (org_id, kind, name, idempotency_key) where idempotency_key is not null do nothing
    returning r.id into start_workflow.id;
    start_workflow.created := start_workflow.id is not null;
    if not start_workflow.created then
        select r.id into start_workflow.id
        from weft.runs as r
        where r.org_id = the_org and r.kind = 'workflow' and r.name = code.name and r.idempotency_key = start_workflow.key;
        return;
    end if;
    insert into weft.tasks (id, org_id, kind, queue, lane, payload, urgency, correlation_id, trace_parent)
    values (
        start_workflow.id, the_org, 'workflow:' || code.name || ':' || code.version,
        coalesce(start_workflow.queue, code.queue), coalesce(start_workflow.queue, code.queue), start_workflow.arguments,
        100 - the_priority, start_workflow.correlation_id, start_workflow.trace_parent);
    insert into weft.change_inbox (table_name, op, ids)
    values ('runs', 'INSERT', array[start_workflow.id]), ('tasks', 'INSERT', array[start_workflow.id]);
    perform weft.wake(the_org, coalesce(start_workflow.queue, code.queue));
end;
$$;

create or replace function weft.send(run uuid, org uuid, kind text, name text, value jsonb, error jsonb) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    lane text;
    was text;
    made bigint;
begin
    select t.lane, t.state into lane, was
    from weft.tasks as t
    where t.id = send.run and t.org_id = the_org
    for update;
    if not found then
        raise exception 'run % has ended; nothing can be sent to it any more', send.run
            using errcode = 'object_not_in_prerequisite_state';
    end if;
    update weft.tasks as t
    set told = t.told or t.state = 'running',
        state = case when t.state = 'scheduled' then 'ready' else t.state end,
        run_at = case when t.state = 'scheduled' then weft.now() else t.run_at end,
        attempt = greatest(t.attempt, 1),
        uncounted = t.uncounted + (t.attempt = 0)::integer
    where t.id = send.run;
    insert into weft.messages (run_id, org_id, kind, name, value, error, heard)
    values (send.run, the_org, send.kind, send.name, send.value, send.error, true)
    returning id into made;
    if was = 'scheduled' then
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', array[send.run]);
        perform weft.wake(the_org, lane);
    end if;
    return made;
end;
$$;

create or replace function weft.tell_awaiting() returns trigger
language plpgsql volatile security definer set search_path = pg_catalog
as $$
declare
    waiting record;
begin
    select t.id, t.org_id, t.lane, t.state, t.concurrency_key into waiting
    from weft.tasks as t
    where t.id = (new.config ->> 'awaited_by')::uuid and t.org_id = new.org_id
    for update skip locked;
    if waiting.state = 'running' then
        update weft.tasks as t
        set told = true
        where t.id = waiting.id;
    elsif waiting.state = 'scheduled' then
        update weft.tasks as t
        -- what shares a key with others is let in by the promoter
        set state = case when waiting.concurrency_key is null then 'ready' else 'scheduled' end,
            run_at = weft.now()
        where t.id = waiting.id;
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'UPDATE', array[waiting.id]);
        perform weft.wake(waiting.org_id, waiting.lane);
    end if;
    return null;
end;
$$;
