-- @down
alter index weft.tasks_pkey reset (fillfactor);
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
    kept weft.dedupe_keys;
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
    if try_enqueue.dedupe_key is not null and dedupe <> 'unfinished' then
        insert into weft.dedupe_keys as d (org_id, kind, dedupe_key, task_id, expires_at)
        values (the_org, try_enqueue.kind, try_enqueue.dedupe_key, id,
            case dedupe when 'forever' then null else weft.now() + dedupe::interval end)
        on conflict (org_id, kind, dedupe_key) do update
        set task_id = excluded.task_id, expires_at = excluded.expires_at
        where d.expires_at <= weft.now()
        returning d.* into kept;
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
            case when dedupe = 'unfinished' then try_enqueue.dedupe_key end,
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
    end if;
end;
$$;
