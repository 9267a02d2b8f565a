-- Durable workflows: which code there is, what runs are sent, and what any language calls: weft.start_workflow, weft.signal.
-- The task of a workflow's run has the run's own id: one wake-up at a time, by the primary key.

-- Workflows that workers have declared. Code belongs to no org.
create table weft.workflows (
    name text not null check (length(name) between 1 and 255),
    version text not null,
    queue text not null default 'default',
    -- null: any
    signals text[],
    -- by an app that said so last: the newest of a name is the one with the latest
    declared_at timestamptz not null default weft.now(),
    -- what it takes, as JSON schema, in the order in which it is declared (so not jsonb); null: nobody knows
    arguments json,
    priority integer not null default 50 check (priority between 0 and 100),
    primary key (name, version)
);

-- What a run was sent and has not taken yet: signals, the ends of its children, what operators ask for.
create table weft.messages (
    id bigint generated always as identity primary key,
    run_id uuid not null,
    org_id uuid not null,
    kind text not null check (kind in ('signal', 'child', 'cancel', 'pause')),
    -- of the end of a child: the child's id
    name text not null,
    value jsonb,
    error jsonb,
    -- whether the run's task was woken for it
    heard boolean not null default false,
    at timestamptz not null default weft.now()
)
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);

create index messages_of_run on weft.messages (run_id, id);
create index messages_unheard on weft.messages (id) where not heard;

-- What runs answered to whom they were asked by: whoever sent the message waits for it here.
create table weft.answers (
    message_id bigint primary key,
    run_id uuid not null,
    org_id uuid not null,
    value jsonb,
    -- why not
    refused text,
    at timestamptz not null default weft.now()
);

create index answers_by_time on weft.answers (at);

call weft.wall('workflows');
create policy everybodys on weft.workflows for select to weft_tenant using (true);
grant select, insert, update, delete on weft.workflows to weft_engine;
grant select on weft.workflows to weft_tenant;

call weft.org_wall('messages');
grant select, insert, update, delete on weft.messages to weft_engine, weft_tenant;

call weft.org_wall('answers');
grant select, insert, update, delete on weft.answers to weft_engine;
grant select on weft.answers to weft_tenant;

-- Starts a workflow inside your own transaction; answers the run's id. With a key that a run of it has, that run's.
create function weft.start_workflow(
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

-- Sends a signal to a run inside your own transaction; it is kept until the run takes it.
create function weft.signal(run uuid, name text, value jsonb default null, org uuid default null) returns bigint
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    found_run weft.runs;
    known text[];
begin
    if signal.name is null or signal.name = '' or length(signal.name) > 255 then
        raise exception 'a signal needs a name of 1 to 255 characters' using errcode = 'invalid_parameter_value';
    end if;
    if octet_length(signal.value::text) > 262144 then
        raise exception 'the signal is % bytes of JSON, the limit is 262144', octet_length(signal.value::text)
            using errcode = 'invalid_parameter_value';
    end if;
    perform weft.check_json('the signal', signal.value);
    select r.* into found_run
    from weft.runs as r
    where r.id = signal.run and r.org_id = the_org and r.kind = 'workflow';
    if not found then
        raise exception 'there is no workflow run %', signal.run using errcode = 'no_data_found';
    end if;
    select w.signals into known
    from weft.workflows as w
    where w.name = found_run.name and w.version = found_run.version;
    if not signal.name = any(known) then
        raise exception 'workflow % takes no signal %; it takes: %', quote_literal(found_run.name),
            quote_literal(left(signal.name, 80)), array_to_string(known, ', ')
            using errcode = 'invalid_parameter_value';
    end if;
    return weft.send(signal.run, the_org, 'signal', signal.name, signal.value, null);
end;
$$;

-- Puts a message into a run's inbox and wakes its task. The task's row is locked first: who parks it sees `told`. A run that
-- nobody has in his hands needs no mark, for it reads its inbox when it goes on; only a first wake-up would not, so this is
-- made the second.
create function weft.send(run uuid, org uuid, kind text, name text, value jsonb, error jsonb) returns bigint
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

revoke all on function weft.start_workflow from public;
revoke all on function weft.signal from public;
revoke all on function weft.send from public;
grant execute on function weft.start_workflow to weft_engine, weft_tenant;
grant execute on function weft.signal to weft_engine, weft_tenant;
grant execute on function weft.send to weft_engine, weft_tenant;
