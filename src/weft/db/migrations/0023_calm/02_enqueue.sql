-- What is due before a leader that rests looks again is told to it.
create or replace function weft.try_enqueue(
    kind text,
    payload jsonb default '{}',
    queue text default 'default',
    priority integer default 50,
    run_at timestamptz default null,
    delay interval default null,
    max_attempts integer default null,
    retry jsonb default null,
    timeout interval default null,
    heartbeat_timeout interval default null,
    capabilities text[] default null,
    dedupe_key text default null,
    dedupe text default 'unfinished',
    concurrency_key text default null,
    concurrency integer default 1,
    tags text[] default null,
    org uuid default null,
    correlation_id text default null,
    trace_parent text default null,
    parent_id uuid default null,
    job_id uuid default null,
    run_id uuid default null,
    step_id uuid default null,
    scheduled_for timestamptz default null,
    out id uuid,
    out created boolean
)
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    due constant timestamptz := coalesce(try_enqueue.run_at, weft.now() + coalesce(delay, interval '0'));
    -- a function in SQL is planned anew in every statement: not for those that need none
    the_lane constant text := case
        when capabilities is null then try_enqueue.queue
        else weft.lane(try_enqueue.queue, capabilities)
    end;
    first_state text := 'ready';
    scope constant text := coalesce(dedupe, 'unfinished');
    until timestamptz;
begin
    perform weft.check_task(try_enqueue.kind, try_enqueue.payload, try_enqueue.queue, priority, capabilities,
        try_enqueue.max_attempts, try_enqueue.concurrency);
    if try_enqueue.dedupe_key is not null then
        perform weft.check_key('dedupe_key', try_enqueue.dedupe_key);
    end if;
    if try_enqueue.concurrency_key is not null then
        perform weft.check_key('concurrency_key', try_enqueue.concurrency_key);
    end if;
    id := weft.uuid7();
    created := true;
    if due > weft.now() then
        first_state := 'scheduled';
    elsif try_enqueue.concurrency_key is not null and (
        select count(*)
        from (
            select
            from weft.tasks as t
            where t.org_id = the_org
                and t.concurrency_key = try_enqueue.concurrency_key
                -- what waits for its time is in the way only where the order is strict
                and (t.state in ('blocked', 'ready', 'running') or coalesce(try_enqueue.concurrency, 1) = 0)
            limit greatest(try_enqueue.concurrency, 1)
        ) as before_us
    ) >= greatest(try_enqueue.concurrency, 1) then
        -- the key is full: stay out of the claim index until settle or the sweep lets us in
        first_state := 'blocked';
    end if;
    if try_enqueue.dedupe_key is not null and scope <> 'unfinished' then
        until := case scope when 'forever' then null else weft.now() + scope::interval end;
        if until <= weft.now() then
            raise exception 'dedupe % is not valid: use unfinished, forever, or a positive interval such as 1 hour',
                quote_nullable(left(scope, 80)) using errcode = 'invalid_parameter_value';
        end if;
        -- the key that is in the way is locked from here on, so it is there when it is read
        insert into weft.dedupe_keys as d (org_id, kind, dedupe_key, task_id, expires_at)
        values (the_org, try_enqueue.kind, try_enqueue.dedupe_key, id, until)
        on conflict (org_id, kind, dedupe_key) do update
        set task_id = excluded.task_id, expires_at = excluded.expires_at
        where d.expires_at <= weft.now();
        if not found then
            select d.task_id into id
            from weft.dedupe_keys as d
            where d.org_id = the_org and d.kind = try_enqueue.kind and d.dedupe_key = try_enqueue.dedupe_key;
            created := false;
            return;
        end if;
    end if;
    loop
        insert into weft.tasks (
            id, org_id, kind, queue, lane, payload, state, plain, urgency, max_attempts, run_at, concurrency,
            concurrency_key, dedupe_key, tags, retry, timeout, heartbeat_timeout, job_id, run_id, step_id, parent_id,
            scheduled_for, correlation_id, trace_parent)
        values (
            id, the_org, try_enqueue.kind, try_enqueue.queue, the_lane,
            try_enqueue.payload, first_state, try_enqueue.concurrency_key is null, 100 - priority,
            try_enqueue.max_attempts, due,
            case when try_enqueue.concurrency_key is not null then coalesce(try_enqueue.concurrency, 1) end,
            try_enqueue.concurrency_key,
            case when scope = 'unfinished' then try_enqueue.dedupe_key end,
            try_enqueue.tags, try_enqueue.retry, try_enqueue.timeout, try_enqueue.heartbeat_timeout,
            try_enqueue.job_id, try_enqueue.run_id, try_enqueue.step_id, try_enqueue.parent_id,
            try_enqueue.scheduled_for, try_enqueue.correlation_id, try_enqueue.trace_parent)
        on conflict (org_id, kind, dedupe_key) where dedupe_key is not null do nothing;
        exit when found;
        select t.id into id
        from weft.tasks as t
        where t.org_id = the_org and t.kind = try_enqueue.kind and t.dedupe_key = try_enqueue.dedupe_key;
        if found then
            created := false;
            return;
        end if;
        -- the one in the way finished between the two statements: try again
        id := weft.uuid7();
    end loop;
    insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'INSERT', array[id]);
    if first_state = 'ready' then
        perform weft.wake(the_org, the_lane);
    elsif first_state = 'scheduled' and due < weft.now() + interval '2 seconds' then
        -- whoever leads may look no sooner
        perform pg_notify('weft_jobs', '');
    end if;
end;
$$;

create or replace function weft.enqueue_many(
    kind text,
    payloads jsonb,
    queue text default 'default',
    priority integer default 50,
    run_at timestamptz default null,
    delay interval default null,
    max_attempts integer default null,
    retry jsonb default null,
    timeout interval default null,
    capabilities text[] default null,
    dedupe_keys text[] default null,
    tags text[] default null,
    org uuid default null,
    correlation_id text default null,
    trace_parent text default null,
    parent_id uuid default null
) returns setof uuid
language plpgsql volatile security definer set search_path = pg_catalog
as $$
#variable_conflict use_column
declare
    the_org constant uuid := weft.acting_org(org);
    due constant timestamptz := coalesce(enqueue_many.run_at, weft.now() + coalesce(delay, interval '0'));
    the_lane constant text := weft.lane(enqueue_many.queue, capabilities);
    made uuid[];
    largest jsonb;
begin
    if jsonb_typeof(payloads) is distinct from 'array' then
        raise exception 'payloads must be a JSON array of objects' using errcode = 'invalid_parameter_value';
    end if;
    if dedupe_keys is not null and cardinality(dedupe_keys) <> jsonb_array_length(payloads) then
        raise exception 'there must be one dedupe key per payload' using errcode = 'invalid_parameter_value';
    end if;
    perform weft.check_task(enqueue_many.kind, '{}', enqueue_many.queue, priority, capabilities,
        enqueue_many.max_attempts, null);
    -- one cheap look at the whole; item by item only if the whole is large enough to hide a bad one
    if octet_length(payloads::text) > 262144 or regexp_count(payloads::text, '[\[{]') > 64 + jsonb_array_length(payloads) then
        perform weft.check_task(enqueue_many.kind, p.value, enqueue_many.queue, priority, capabilities, null, null)
        from jsonb_array_elements(payloads) as p
        where octet_length(p.value::text) > 262144 or regexp_count(p.value::text, '[\[{]') > 64;
    end if;
    perform weft.check_json('a payload', payloads);
    if exists (select from jsonb_array_elements(payloads) as p where jsonb_typeof(p.value) <> 'object') then
        raise exception 'every payload must be a JSON object' using errcode = 'invalid_parameter_value';
    end if;
    if dedupe_keys is not null then
        return query
        select t.id
        from (
            -- in the order of the keys: two that enqueue the same keys must not wait for each other
            select p.value, p.ordinality
            from jsonb_array_elements(payloads) with ordinality as p
            order by dedupe_keys[p.ordinality]
        ) as p
        cross join lateral weft.try_enqueue(
            enqueue_many.kind, p.value, enqueue_many.queue, priority, due, null, enqueue_many.max_attempts,
            enqueue_many.retry, enqueue_many.timeout, null, capabilities, dedupe_keys[p.ordinality],
            'unfinished', null, 1, enqueue_many.tags, the_org, enqueue_many.correlation_id,
            enqueue_many.trace_parent, enqueue_many.parent_id) as t
        order by p.ordinality;
        return;
    end if;
    with inserted as (
        insert into weft.tasks (
            id, org_id, kind, queue, lane, payload, state, urgency, max_attempts, run_at, tags, retry, timeout, parent_id,
            correlation_id, trace_parent)
        select
            (run.prefix || lpad(to_hex(run.low + p.n), 12, '0'))::uuid, the_org, enqueue_many.kind, enqueue_many.queue, the_lane, p.value,
            case when due > weft.now() then 'scheduled' else 'ready' end, 100 - priority, enqueue_many.max_attempts,
            due, enqueue_many.tags, enqueue_many.retry, enqueue_many.timeout, enqueue_many.parent_id,
            enqueue_many.correlation_id, enqueue_many.trace_parent
        from weft.uuid7_run() as run
        cross join jsonb_array_elements(payloads) with ordinality as p (value, n)
        returning id
    )
    select array_agg(i.id) into made from inserted as i;
    if made is not null then
        insert into weft.change_inbox (table_name, op, ids) values ('tasks', 'INSERT', case when cardinality(made) <= 100 then made end);
        if due <= weft.now() then
            perform weft.wake(the_org, the_lane);
        elsif due < weft.now() + interval '2 seconds' then
            perform pg_notify('weft_jobs', '');
        end if;
    end if;
    return query select unnest(made);
end;
$$;
